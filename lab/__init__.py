"""The lab: measures variants of hz3, and hz3 against its peers, and judges what it measured.

    registry    the lanes and flags that the build knows
    experiment  an experiment: variants, cases, gates
    plan        the runs to make: an arm for each library, a cell for each command
    build       builds the libraries of the arms
    peers       the other allocators
    planning    from an experiment, or a list of cells, to a plan
    measure     one run of one arm, and the proof that the arm served it
    programs    the same for real programs under load; stage runs them
    replay      the same for the calls of a recorded program, which trace/play.c makes
    session     all runs, in randomised paired blocks; can be resumed
    samples     the file of raw samples; archive compresses it
    results     the runs that are kept, in results/
    summary     the part of them that the documentation is made from
    machine     the machine that measured
    interval    the interval of a median
    judge       from samples to verdicts
    precise     adds blocks to real programs until their intervals are narrow
    until       adds blocks until a verdict is decided
    versus      from samples to ratios
    show        progress and verdicts in a terminal
    ledger      verdicts as a page of the documentation
    comparison  the tables made from a run of `hz3 peers`
    ahead       where a peer is ahead in such a run, and why
    goals       how far each lane is from the goals in such runs
    report      everything as one HTML file; its pictures are made in plots
    page        the same tables as a page of the documentation
    quartile    ratios of programs' quartiles, with intervals
    headline    the figures of real programs, for the README and a page
    slowest     the slowest calls, for the README
    readme      the README's figures, and the pages made from comparisons
    conform     the tests of tests/ on any allocator
    bound       how large a figure may be that such a test says
    invisible   the page of these figures
    closing     how runners of rows end, and their status
    pack        makes a folder that measures elsewhere; packed is the program in it
    cli         the subcommands

The modules that a run needs (see pack) use the standard library only, so that they run where nothing can be installed.
"""

from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent

Json = dict[str, Any]  # read from files; fields are checked where they are used


class LabError(Exception):
    """An error that stops the lab without a verdict.  The message is for the user."""


class Unfit(LabError):
    """What no allocator is to blame for: a program that is no longer the one in the plan, say, or a full disk.  This ends
    any run, even one that goes on when a peer fails."""


class NotServed(LabError):
    """Another library than the one in the plan served a process, or a flag or an option did not take."""


def text_of(file: Path) -> str:
    try:
        return file.read_text()
    except OSError as error:
        raise LabError(f"{file}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise LabError(f"{file} is no text: {error}") from None
