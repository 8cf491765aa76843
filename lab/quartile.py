"""Programs on two allocators: ratios of quartiles over their runs, and what lies outside of their intervals."""

import math
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy import special

from lab.interval import TAILS
from lab.versus import Estimate

LOWER, MIDDLE = 0.25, 0.5  # of processor time the lower, as what disturbs a run only adds to it
RESAMPLES = 2000


class Ratio(NamedTuple):
    """The logarithm of a ratio, its standard error and the degrees of freedom that this has."""

    log: float
    error: float
    freedom: float

    def estimate(self) -> Estimate:
        half = special.stdtrit(self.freedom, 1 - TAILS[0]) * self.error if self.freedom >= 1 else math.inf
        low, high = self.log - half, self.log + half
        return math.exp(self.log), math.exp(low), math.exp(min(high, 700))

    def width(self) -> float:
        """Of the 95 % interval, as a share."""
        _, low, high = self.estimate()
        return high / low - 1 if low else math.inf


def ratio(mine: Sequence[float], others: Sequence[float], share: float) -> Ratio:
    """Of the quartiles of two arms, of which each run of one was paired with one of the other."""
    return _ratio(tuple(mine), tuple(others), share)


@cache
def _ratio(mine: tuple[float, ...], others: tuple[float, ...], share: float) -> Ratio:
    """Cached, since a page asks for the same ones repeatedly."""
    pairs, count = np.log([mine, others]), len(mine)
    log = np.subtract(*np.quantile(pairs, share, axis=1))
    drawn = np.random.default_rng(0).integers(count, size=(RESAMPLES, count))
    logs = np.subtract(*np.quantile(pairs[:, drawn], share, axis=2))
    error = float(np.std(logs)) * math.sqrt(count / (count - 1)) if count > 1 else math.inf
    return Ratio(float(log), error, count - 1)


def mean(ratios: Iterable[Ratio]) -> Ratio:
    """The geometric mean of the ratios of several programs.  Freedom by Welch and Satterthwaite."""
    every = list(ratios)
    of = [one.error / len(every) for one in every]
    error = math.hypot(*of)
    parts = sum(part**4 / one.freedom for part, one in zip(of, every, strict=True) if one.freedom >= 1)
    freedom = error**4 / parts if parts and math.isfinite(error) else max(one.freedom for one in every)
    return Ratio(sum(one.log for one in every) / len(every), error, freedom)


def shows(found: Estimate) -> bool:
    """Whether the interval leaves out that there is no difference."""
    _, low, high = found
    return not low <= 1 <= high
