"""hz3's goals (experiments/goals/*.toml), and how far each lane is from them in runs of `hz3 peers`."""

import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import geometric_mean

import numpy as np

from lab import LabError, text_of
from lab.comparison import Comparison
from lab.experiment import HIGHER_IS_BETTER, LOWER_IS_BETTER, made_of
from lab.page import markdown
from lab.peers import LIMIT
from lab.samples import Samples
from lab.session import remaining
from lab.versus import SPEED, paired


@dataclass(frozen=True)
class Goal:
    """In each of the cells the lane's figure, divided by that of the best peer, has to be `ratio` or better."""

    what: str
    cells: str  # a pattern for the cell's command
    ratio: float
    figure: str = SPEED
    within: float = 0.0  # only peers count that are at most so many times slower than the lane; 0: all count
    limit: bool = False  # the figure is divided by the limit's instead

    @property
    def more_is_better(self) -> bool:
        return self.figure.endswith(HIGHER_IS_BETTER)

    def holds(self, ratio: float) -> bool:
        return ratio >= self.ratio if self.more_is_better else ratio <= self.ratio

    def reference(self, comparison: Comparison, cell: str, lane: str) -> str | None:
        """The arm by whose figure the lane's is divided, or None."""
        speed, figure = comparison.figures(cell, SPEED), comparison.figures(cell, self.figure)
        if self.limit:
            return LIMIT if LIMIT in figure else None
        like = [p for p in comparison.peers if p in figure and lane in figure]
        if self.within:
            like = [p for p in like if speed[p].median * self.within >= speed[lane].median]
        best = max if self.more_is_better else min
        return best(like, key=lambda peer: figure[peer].median, default=None)

    def ratios(self, comparison: Comparison, lane: str) -> Iterator[float]:
        for cell in comparison.cells:
            if not re.search(self.cells, shlex.join(comparison.run.plan.cells[cell].argv)):
                continue
            other = self.reference(comparison, cell, lane)
            ratios = paired(comparison.run, cell, self.figure, lane, other) if other else None
            if ratios is not None:
                yield float(np.median(ratios))


def read(file: Path) -> list[Goal]:
    text = text_of(file)
    try:
        goals = [made_of(Goal, "goal", table) for table in tomllib.loads(text)["goals"]]
        for goal in goals:
            re.compile(goal.cells)
    except LabError as error:
        raise LabError(f"{file}: {error}") from None
    except (ValueError, LookupError, TypeError, re.error) as error:
        raise LabError(f"{file} is not a list of goals: {error!r}") from None
    if strange := [goal for goal in goals if not goal.figure.endswith(HIGHER_IS_BETTER + LOWER_IS_BETTER)]:
        raise LabError(f"{file}: nobody knows whether more {strange[0].figure} is better")
    return goals


def reached(goal: Goal, ratios: list[float]) -> str:
    if not ratios:
        return "-"
    held = sum(map(goal.holds, ratios))
    return f"{geometric_mean(ratios):.2f}x [{min(ratios):.2f} {max(ratios):.2f}], {held} of {len(ratios)}"


def compared(run: Samples) -> Comparison:
    if run.plan.kind != "peers":
        raise LabError(f"{run.path} is no run of hz3 peers, but of hz3 {run.plan.kind}")
    if left := len(remaining(run)):
        raise LabError(f"{run.path}: {left} rounds are missing")
    return Comparison(run)


def absent(runs: list[Samples]) -> str:
    """A table of the arms without results, or nothing if there are none."""
    rows = [(name, "every", reason) for run in runs for name, reason in run.plan.missing.items()]
    rows += [(arm, cell, reason) for run in runs for (cell, arm), reason in run.unable.items()]
    return (
        "\n" + markdown(["no result of", "in cell", "why"], [list(row) for row in dict.fromkeys(rows)]) if rows else ""
    )


def table(goals: list[Goal], runs: list[Samples]) -> str:
    """For each goal, and each lane that is in all runs: the geometric mean over the cells, the smallest and the largest
    ratio, and the number of cells in which the goal is reached."""
    comparisons = [compared(run) for run in runs]
    lanes = [lane for lane in comparisons[0].lanes if all(lane in c.lanes for c in comparisons)]
    rows = []
    for goal in goals:
        found = [[ratio for c in comparisons for ratio in goal.ratios(c, lane)] for lane in lanes]
        if not any(found):
            raise LabError(f"'{goal.cells}' is in no command that was measured")
        rows.append([goal.what, f"{goal.ratio:g}x", *(reached(goal, ratios) for ratios in found)])
    return markdown(["figure", "set", *lanes], rows)
