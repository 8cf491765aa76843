"""Compares arms: medians, and paired ratios to one of them, each with the interval of judge.  There are no verdicts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from lab.interval import median_interval
from lab.samples import Samples

SPEED, MEMORY = "ops_per_s", "peak_kib"
OVERFLOWED = "†"  # marks the names of such cells
OVERFLOW_NOTE = (
    f"{OVERFLOWED}: in at least one of its runs more than 0.1 % of the sends found a full ring. The sender freed these "
    "objects, so fewer frees were remote than stated."
)
FIGURES = ("_per_s", "_kib", "_share", "_ratio", "wall_s", "cpu_s")


Estimate = tuple[float, float, float]  # median, and the interval's ends


@dataclass(frozen=True)
class Figure:
    median: float
    low: float
    high: float
    ratio: Estimate | None  # None if it cannot be computed


def figures_of(samples: Samples, cell: str) -> list[str]:
    """The names of the figures that the cell's program measures, without its parameters and other words."""
    first = next((figures for block in samples.blocks(cell, "ab") for figures in block.values()), {})
    return [k for k, v in first.items() if k.endswith(FIGURES) and isinstance(v, float) and k != "own_kib"]


def marked(samples: Samples, cell: str) -> str:
    runs = (figures for block in samples.blocks(cell, "ab") for figures in block.values())
    return f"{cell} {OVERFLOWED}" if any(run.get("overflow", "ok") != "ok" for run in runs) else cell


def compare(samples: Samples, cell: str, figure: str, reference: str) -> dict[str, Figure]:
    """The figure of each arm that gave a result, in the plan's order."""
    blocks = samples.blocks(cell, "ab")
    arms = [arm for arm in samples.plan.arms if (cell, arm) not in samples.unable]
    ratios = {arm: paired(samples, cell, figure, arm, reference) for arm in arms}
    return {
        arm: Figure(*estimate([block[arm][figure] for block in blocks]), None if ratio is None else estimate(ratio))
        for arm, ratio in ratios.items()
    }


def paired(samples: Samples, cell: str, figure: str, arm: str, reference: str) -> np.ndarray | None:
    """One arm's figure divided by another's, in each block.  None if one of them does not have it, or it is 0."""
    pairs = [
        [block.get(name, {}).get(figure, 0.0) for name in (arm, reference)] for block in samples.blocks(cell, "ab")
    ]
    mine, others = np.array(pairs).T
    return mine / others if mine.min() > 0 and others.min() > 0 else None


def multiple(ratio: Estimate | None) -> str:
    return "{:.2f}x [{:.2f} {:.2f}]".format(*ratio) if ratio else "-"


def estimate(values: Iterable[float]) -> Estimate:
    return _estimate(tuple(values))


@cache
def _estimate(values: tuple[float, ...]) -> Estimate:
    """Cached, since a report asks for the same ones repeatedly."""
    low, _, _, high = median_interval(np.array(values))
    return float(np.median(values)), low, high
