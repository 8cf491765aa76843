"""The lab: measures variants of hz3, and hz3 against its peers, and judges what it measured.

    registry    the lanes and flags that the build knows
    experiment  what is asked: variants, cases, gates
    plan        what will be run: one arm for each library, one case for each command
    build       the libraries of the arms
    measure     one run of one arm, and the proof that the arm served it
    session     all runs, in randomised paired blocks; resumes
    samples     the file of raw samples
    machine     where it was measured
    judge       from samples to verdicts
    show, ledger, report    verdicts and figures for people
    cli         the verbs

All above `judge` use the standard library only, so that a packed lab runs where nothing can be installed.
"""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


class LabError(Exception):
    """What stops the lab: the message is for the user, and no verdict follows."""
