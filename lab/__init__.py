"""The lab: measures variants of hz3, and hz3 against its peers, and judges what it measured.

    registry    the lanes and flags that the build knows
    experiment  what is asked: variants, cases, gates
    plan        what will be run: one arm for each library, one case for each command
    build       the libraries of the arms
    peers       the other allocators
    planning    from what is asked to a plan
    measure     one run of one arm, and the proof that the arm served it
    programs    the same of real programs under loads of their own; stage is where they run
    replay      the same of a recorded program's calls, which trace/play.c makes
    session     all runs, in randomised paired blocks; resumes
    samples     the file of raw samples; archive compresses it
    results     what is kept of runs: results/
    summary     of these: what the documentation is made from
    machine     where it was measured
    judge       from samples to verdicts
    until       what a verdict still needs, and goes on until it has it
    versus      from samples to ratios
    show        progress and verdicts in a terminal
    ledger      verdicts as a page of the documentation
    comparison  the tables made of a run of `hz3 peers`
    ahead       of these: where a peer is ahead, and why
    goals       of these: how far each lane is from what was set
    report      everything as one HTML file; its pictures are made in plots
    page        the same tables as a page of the documentation
    headline    of real programs: what the README leads with
    readme      the figures of the README
    conform     the tests of tests/ on any allocator
    pack        a folder to measure with elsewhere; packed is the program in it
    cli         the verbs

What a run needs (see pack) uses the standard library only, so that it runs where nothing can be installed.
"""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

Json = dict[str, Any]  # as files have it: what is read from one is checked where it is used


class LabError(Exception):
    """What stops the lab: the message is for the user, and no verdict follows."""


class Unfit(LabError):
    """What is measured with is no longer what the plan says: ends even a run that goes on without a peer that fails."""


def text_of(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LabError(f"{file} is no text: {error}") from None
