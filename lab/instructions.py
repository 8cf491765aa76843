"""How many instructions more or less a variant of an experiment takes for each operation.  Caches and waiting are not in
that, and noise is only where threads wait for each other.

valgrind counts each case at two lengths.  The difference is without the start.
"""

import shutil
import statistics
from collections.abc import Iterator
from dataclasses import replace

from rich.table import Table

from lab import LabError, measure
from lab.experiment import COUNTED, Case, Experiment
from lab.plan import BASELINE, COPY, Arm, Plan

RUNS = 3


def an_operation(name: str, arm: Arm, case: Case, programs: dict[str, str]) -> float:
    """Instructions of the program and of hz3 for each operation of the program."""
    figures = measure.Bench(programs)(name, arm, case.counted())
    return float(figures[COUNTED])


def check_valgrind() -> None:
    if not shutil.which("valgrind"):
        raise LabError("valgrind is missing, which counts: it is Debian's package of that name")


def countable(asked: Experiment, groups: tuple[str, ...] = ()) -> Experiment:
    """The experiment with those of its cases that have a number of iterations, and are in one of the groups if given."""
    check_valgrind()
    cases = [case for case in asked.cases if case.iters and "{iters}" in case.command]
    chosen = tuple(case for case in cases if not groups or case.group in groups)
    if not chosen or set(groups) - {case.group for case in chosen}:
        there = ", ".join(dict.fromkeys(case.group for case in cases))
        raise LabError(f"{asked.name} has iterations to count in these groups: {there or 'none'}")
    return replace(asked, cases=chosen)


def rows(asked: Experiment, plan: Plan) -> Iterator[list[str]]:
    """A row for each case: the median of some runs of the baseline, and how much more each variant takes, with the least
    and the most change between any two runs."""
    arms = {name: arm for name, arm in plan.arms.items() if name != COPY}
    for case in asked.cases:
        counts = {
            name: sorted(an_operation(name, arm, case, plan.programs) for _ in range(RUNS))
            for name, arm in arms.items()
        }
        base = counts.pop(BASELINE)
        changes = [
            f"{statistics.median(of) - statistics.median(base):+.2f} [{of[0] - base[-1]:+.2f}, {of[-1] - base[0]:+.2f}]"
            for of in counts.values()
        ]
        yield [case.name, f"{statistics.median(base):.1f}", *changes]


def table(asked: Experiment, plan: Plan) -> Table:
    made = Table(title=f"{asked.name}: instructions for each operation")
    for column in ("case", BASELINE, *(variant.name for variant in asked.variants)):
        made.add_column(column, justify="left" if column == "case" else "right")
    for row in rows(asked, plan):
        made.add_row(*row)
    return made
