"""How often the judge is wrong, and how often it is right, if it looks again and again: with normal noise, with heavy
tails, and with noise that lasts from one run to the next.  With --long there are 400 trials of each, else 20."""

import math

import numpy as np
import pytest
from synthetic import Rig

from lab import interval, judge

KINDS = ["normal", "heavy", "correlated"]
CASES = 3
GAIN, GUARD = [{"mean": 0.0}], [{"mean": -2.0}]


@pytest.fixture
def trials(request):
    return 400 if request.config.getoption("--long", default=False) else 20


def share(trials, *words, gates, gain, kind, noise=0.05, budget=2000, cases=CASES):
    found = []
    for seed in range(trials):
        rig = Rig(None, gates, [gain] * cases, [noise] * cases, seed=seed, kind=kind)
        rig.decide(budget)
        found += [verdict.word for verdict in judge.judge(rig.run)]
    return sum(word in words for word in found) / trials


def at_most(rate, trials):
    """The share that a rate exceeds in 1 of 40 such series of trials."""
    return rate + 2 * math.sqrt(rate * (1 - rate) / trials)


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_what_gains_nothing_is_called_go_in_at_most_one_case_of_twenty(trials, kind):
    assert share(trials, "GO", gates=GAIN, gain=0, kind=kind) <= 0.05


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_just_good_enough_is_called_no_go_in_at_most_one_case_of_twenty(trials, kind):
    assert share(trials, "NO-GO", gates=GUARD, gain=-2, kind=kind) <= 0.05


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_of_many_gates_none_accuses_what_is_just_good_enough(trials, kind):
    """Twelve comparisons, each with an error of one in 40, would accuse one in four."""
    gates = [{"at_least": -2.0, "figure": figure} for figure in ("ops_per_s", "a_ratio", "b_ratio")]
    assert share(trials, "NO-GO", gates=gates, gain=-2, kind=kind, cases=4, budget=1) <= 0.05


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_a_gain_of_5_per_cent_is_found_4_times_of_5(trials, kind):
    assert share(trials, "GO", gates=GAIN, gain=5, kind=kind) >= 0.8


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("kind", KINDS)
def test_a_gain_of_5_per_cent_is_hardly_ever_given_up(trials, kind):
    assert share(trials, "GO UNLIKELY", gates=GAIN, gain=5, kind=kind) <= 0.05


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("look", [1, 3, 6])
@pytest.mark.parametrize("count", [20, 24, 61])
def test_the_tails_of_later_looks_are_no_larger_than_they_may_be(trials, look, count):
    chance, tail = np.random.default_rng(count), 0.025 * interval.spent(look)
    series = 50 * trials
    missed = sum(interval.median_interval(chance.standard_t(2, count), look)[0] > 0 for _ in range(series))
    assert missed / series <= at_most(tail, series)
