"""Compares arms: medians, and paired ratios to one of them, each with the interval of judge.  There are no verdicts."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

import numpy as np

from lab import Json
from lab.interval import median_interval
from lab.samples import Samples

SPEED, MEMORY = "ops_per_s", "peak_kib"
OVERFLOWED = "†"  # marks the names of such cells
OVERFLOW_NOTE = (
    f"{OVERFLOWED}: in at least one of its runs more than 0.1 % of the sends found a full ring. The sender freed these "
    "objects, so fewer frees were remote than stated."
)
CALLS = "malloc", "free"
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}  # of calls that are no slower
LATENCIES = {call: {f"{call}_{name}_ns": f"{100 * of:g} %" for name, of in SHARES.items()} for call in CALLS}
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


def latencies_of(samples: Samples, cell: str) -> dict[str, dict[str, str]]:
    """The figures of the calls of malloc and of free, with the share of calls that each is about, where the cell's program
    times them."""
    found = next((figures for block in samples.blocks(cell, "ab") for figures in block.values()), {})
    return {call: figures for call, figures in LATENCIES.items() if figures.keys() <= found.keys()}


def marked(samples: Samples, cell: str) -> str:
    runs = (figures for block in samples.blocks(cell, "ab") for figures in block.values())
    return f"{cell} {OVERFLOWED}" if any(run.get("overflow", "ok") != "ok" for run in runs) else cell


def compare(samples: Samples, cell: str, figure: str, reference: str) -> dict[str, Figure]:
    """The figure of each arm that gave a result, in the plan's order."""
    blocks = samples.blocks(cell, "ab")
    arms = [arm for arm in samples.plan.arms if (cell, arm) not in samples.unable]
    ratios = {arm: paired(samples, cell, figure, arm, reference) for arm in arms}
    return {
        arm: Figure(*estimate([block[arm][figure] for block in blocks]), None if ratio is None else of_pairs(ratio))
        for arm, ratio in ratios.items()
    }


def pairs(samples: Samples, cell: str, figure: str, arm: str, reference: str) -> np.ndarray | None:
    """The figure of two arms, in each block.  None if one of them does not have it, or it is 0.  Where each arm ran
    beside the plan's reference it is relative to that one's."""
    blocks, beside = samples.blocks(cell, "ab"), f"beside_{figure}"
    if not samples.plan.beside or not all(beside in block.get(arm, {}) for block in blocks):
        both = [[block.get(name, {}).get(figure, 0.0) for name in (arm, reference)] for block in blocks]
    elif reference == samples.plan.beside:
        both = [[block[arm].get(name, 0.0) for name in (figure, beside)] for block in blocks]
    else:
        both = [[relative(block.get(name, {}), figure) for name in (arm, reference)] for block in blocks]
    found = np.array(both).T
    return found if found.min() > 0 else None


def relative(figures: Json, figure: str) -> float:
    return float(figures.get(figure, 0.0) / figures.get(f"beside_{figure}", 1.0))


def paired(samples: Samples, cell: str, figure: str, arm: str, reference: str) -> np.ndarray | None:
    """One arm's figure divided by another's, in each block."""
    both = pairs(samples, cell, figure, arm, reference)
    return None if both is None else both[0] / both[1]


def of_pairs(ratios: np.ndarray) -> Estimate:
    """A single one has no interval."""
    return estimate(ratios) if len(ratios) > 1 else (float(ratios[0]), -math.inf, math.inf)


def multiple(ratio: Estimate | None) -> str:
    if not ratio:
        return "-"
    return f"{ratio[0]:.2f}x" if math.isinf(ratio[2]) else "{:.2f}x [{:.2f} {:.2f}]".format(*ratio)


def estimate(values: Iterable[float]) -> Estimate:
    return _estimate(tuple(values))


@cache
def _estimate(values: tuple[float, ...]) -> Estimate:
    """Cached, since a report asks for the same ones repeatedly."""
    low, _, _, high = median_interval(np.array(values))
    return float(np.median(values)), low, high
