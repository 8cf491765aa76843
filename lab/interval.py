"""The interval of a median: from order statistics where there are few values, else from the bootstrap, exactly."""

import math
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import special  # and not scipy.stats, which takes a second to load

Numbers = np.ndarray[Any, np.dtype[np.float64]]
TAILS = 0.025, 0.05  # of the 95 % and the 90 % interval
BOOTSTRAPPED_FROM = 20  # values; with fewer the bootstrap's coverage is too low
CENTRAL = 7  # standard deviations of a median's rank; beyond them is nothing


def covers(count: int, look: int = 0) -> int:
    """The per cent that the wider interval of median_interval covers: the range of few values covers less than 95."""
    return int(100 * (1 - max(2 * TAILS[0] * spent(look), 0.5 ** (count - 1))))


def reaches(count: int, tail: float) -> bool:
    """Whether so many values can have an end beyond which the median lies no more often than in this tail."""
    return bool(0.5**count <= tail)


def spent(look: int) -> float:
    """The share of the error of a single look that the k-th look gets.  All looks together never have more than 1."""
    return 1 / (look * (look + 1)) if look else 1.0


def median_interval(values: Numbers, look: int = 0) -> Numbers:
    """The ends of the median's 95 % and 90 % intervals, from the lowest: 2.5, 5, 95 and 97.5 %.  If one looks
    repeatedly, and stops when the interval excludes the threshold, the error rate exceeds 1 in 20.  So the k-th look gets
    its share of the tails only."""
    return ends(values, np.array(TAILS) * spent(look))


def ends(values: Numbers, tails: Numbers) -> Numbers:
    """The lower ends for these tails, and the upper ends in reverse.

    With few values they are order statistics, as the number of values below the median is binomial.  They have at most
    these tails, if so few values can (reaches).  With more values they come from the bootstrap.
    """
    count = len(values)
    if count < BOOTSTRAPPED_FROM:
        ranks = np.maximum(np.searchsorted(special.bdtr(np.arange(count + 1), count, 0.5), tails), 1)
        found: Numbers = np.sort(values)[[*(ranks - 1), *(count - ranks[::-1])]]
        return found
    tails = special.ndtr(special.stdtrit(count - 1, tails))  # wider, as Student's t makes a mean's interval
    first, last, chance = _middles(count)
    ordered = np.sort(values)
    medians = (ordered[first] + ordered[last]) / 2
    order = np.argsort(medians)
    up_to, from_ = np.cumsum(chance[order]), np.cumsum(chance[order[::-1]])
    lower = medians[order[np.searchsorted(up_to, tails)]]
    upper = medians[order[::-1][np.searchsorted(from_, tails)]]
    return np.array([*lower, *upper[::-1]])


@lru_cache(maxsize=64)
def _middles(count: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], Numbers]:
    """The ranks that the two middle values of a resample have in the sample, and how probable each pair is.

    So all resamples are in it: the tails of a later look are too thin for any number that one could draw.  Resamples are
    slightly smaller than the sample, and even: the medians of odd ones are only values of the sample, too coarse for a
    tail of 2.5 %.
    """
    half = (count - 1) // 2
    aside = math.ceil(CENTRAL * math.sqrt(count) / 2) + 1
    least, most = max(0, count // 2 - aside), min(count, count // 2 + aside)  # ranks from least to most - 1
    share = np.arange(least, most + 1) / count
    # Half of a resample is up to the i-th value and has it, the other half is from the j-th on and has that.
    low, high = np.diff((2 * share) ** half), -np.diff((2 * (1 - share)) ** half)
    ways = math.exp(special.gammaln(2 * half + 1) - 2 * special.gammaln(half + 1) - 2 * half * math.log(2))
    chance = np.triu(ways * np.outer(low, high), 1)
    of_lower = np.diff(special.bdtrc(half - 1, 2 * half, share))
    chance += np.diag(np.maximum(of_lower - chance.sum(axis=1), 0))
    first, last = np.nonzero(chance)
    return first + least, last + least, chance[first, last]
