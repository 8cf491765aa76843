"""Arms side by side: medians, and paired ratios to one of them, each with its 95 % interval.  No verdicts."""

from dataclasses import dataclass

import numpy as np

from lab.judge import median_interval
from lab.samples import Samples

FIGURES = ("_per_s", "_kib", "_share", "_ratio", "wall_s", "cpu_s")


@dataclass(frozen=True)
class Figure:
    median: float
    low: float
    high: float
    ratio: tuple[float, float, float] | None  # median, low, high; None where there is none


def figures_of(samples: Samples, cell: str) -> list[str]:
    """What the cell's program measures, of its parameters and other words nothing."""
    first = next(iter(samples.blocks(cell, "ab")[0].values()))
    return [k for k, v in first.items() if k.endswith(FIGURES) and isinstance(v, float) and k != "own_kib"]


def compare(samples: Samples, cell: str, figure: str, reference: str) -> dict[str, Figure]:
    """Of each arm that gave a result, in the order of the plan."""
    blocks = samples.blocks(cell, "ab")
    arms = [arm for arm in samples.plan.arms if (cell, arm) not in samples.unable]
    values = {arm: np.array([block[arm][figure] for block in blocks]) for arm in arms}
    return {arm: _figure(mine, values.get(reference)) for arm, mine in values.items()}


def _figure(mine: np.ndarray, reference: np.ndarray | None) -> Figure:
    low, _, _, high = median_interval(mine)
    ratio = None
    if reference is not None and mine.min() > 0 and reference.min() > 0:
        ratios = mine / reference
        below, _, _, above = median_interval(ratios)
        ratio = (float(np.median(ratios)), below, above)
    return Figure(float(np.median(mine)), low, high, ratio)
