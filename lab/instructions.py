"""How many instructions more or less a variant of an experiment takes for each operation.  They are counted, so there is
hardly any noise; but caches and waiting are not in it.

valgrind counts each case at two lengths.  The difference is without the start.
"""

import re
import shlex
import statistics
import tempfile
from collections.abc import Iterator
from dataclasses import replace

from rich.table import Table

from lab import ROOT, LabError, build, measure
from lab.experiment import Case, Experiment
from lab.plan import BASELINE, COPY, Arm

RUNS = 3
FEW = 5000  # iterations of each thread in the shorter run
OPERATIONS = 2e6  # of all threads in the longer one
COLLECTED = re.compile(r"Collected : (\d+)")


def collected(argv: list[str], arm: Arm) -> tuple[int, float]:
    """The instructions of one run, and its operations."""
    assert arm.file
    with tempfile.TemporaryDirectory() as folder:
        count = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={folder}/out"]
        more = {"LD_PRELOAD": str(ROOT / arm.file)}
        succeeded, said = build.outcome([*count, str(ROOT / "out" / argv[0]), *argv[1:]], shlex.join(argv), **more)
    found = COLLECTED.search(said)
    if not succeeded or not found:
        raise LabError(f"{shlex.join(argv)}: {said[-1000:]}")
    return int(found[1]), float(measure.words(re.findall(r"^bench=.*$", said, re.MULTILINE)[-1])["ops"])


def an_operation(case: Case, arm: Arm) -> float:
    """Instructions of the program and of hz3 for each operation of the program."""
    few, some = collected(case.argv(FEW / case.iters), arm)
    many, more = collected(case.argv(FEW / case.iters * OPERATIONS / some), arm)
    return (many - few) / (more - some)


def countable(asked: Experiment, groups: tuple[str, ...] = ()) -> Experiment:
    """The experiment with those of its cases that have a number of iterations, and are in one of the groups if given."""
    known = dict.fromkeys(case.group for case in asked.cases if case.iters)
    if unknown := [group for group in groups if group not in known]:
        raise LabError(f"{asked.name} has no iterations to count in group '{unknown[0]}' (groups: {', '.join(known)})")
    return replace(asked, cases=tuple(case for case in asked.cases if case.iters and case.group in (groups or known)))


def rows(asked: Experiment, arms: dict[str, Arm]) -> Iterator[list[str]]:
    """A row for each case: the median of some runs of the baseline, and how much more each variant takes, with the least
    and the most that it may be by the runs."""
    for case in asked.cases:
        counts = {
            name: sorted(an_operation(case, arm) for _ in range(RUNS)) for name, arm in arms.items() if name != COPY
        }
        base = counts.pop(BASELINE)
        changes = [
            f"{statistics.median(of) - statistics.median(base):+.2f} [{of[0] - base[-1]:+.2f}, {of[-1] - base[0]:+.2f}]"
            for of in counts.values()
        ]
        yield [case.name, f"{statistics.median(base):.1f}", *changes]


def table(asked: Experiment, arms: dict[str, Arm]) -> Table:
    made = Table(title=f"{asked.name}: instructions for each operation")
    for column in ("case", BASELINE, *(variant.name for variant in asked.variants)):
        made.add_column(column, justify="left" if column == "case" else "right")
    for row in rows(asked, arms):
        made.add_row(*row)
    return made
