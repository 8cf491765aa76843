"""Ratios of programs' quartiles: their intervals cover what is true, and blocks are added until they are narrow."""

import math
from pathlib import Path

import numpy as np
import pytest
from synthetic import MACHINE

from lab import LabError, headline, planning, precise, programs, quartile, slowest, versus
from lab.comparison import Comparison
from lab.plan import Arm, Cell, Plan
from lab.samples import Round, Samples


def disturbed(chance, count, times=1.0):
    """Times of a program that others disturb now and then."""
    return times * (1 + 0.01 * np.abs(chance.standard_normal(count)) + 0.3 * (chance.random(count) < 0.1))


@pytest.mark.parametrize("count", [7, 12, 40])
def test_the_interval_of_a_ratio_of_quartiles_covers_the_true_one(count):
    chance, inside, trials = np.random.default_rng(count), 0, 400
    for _ in range(trials):
        _, low, high = quartile.ratio(disturbed(chance, count, 1.1), disturbed(chance, count), 0.25).estimate()
        inside += low <= 1.1 <= high
    assert inside / trials >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / trials)


def test_the_interval_of_the_mean_of_programs_is_narrower_than_theirs_and_covers_the_true_one():
    chance, inside, trials = np.random.default_rng(1), 0, 200
    for _ in range(trials):
        of = [quartile.ratio(disturbed(chance, 9, 1.1), disturbed(chance, 9), 0.25) for _ in range(16)]
        found = quartile.mean(of)
        _, low, high = found.estimate()
        inside += low <= 1.1 <= high
        assert found.width() < max(one.width() for one in of)
    assert inside / trials >= 0.95 - 2 * math.sqrt(0.95 * 0.05 / trials)
    one = quartile.Ratio(0.1, 0.04, 8)
    four = quartile.mean([one] * 4)  # a mean of four has half the error, and four times the freedom
    assert (four.log, four.error, four.freedom) == pytest.approx((0.1, 0.02, 32))


def test_the_lower_quartile_leaves_out_what_only_adds():
    quiet = np.full(12, 1.0)
    noisy = np.array([1.0] * 6 + [5.0] * 6)
    assert quartile.ratio(noisy, quiet, quartile.LOWER).estimate()[0] == 1.0
    assert quartile.ratio(noisy, quiet, quartile.MIDDLE).estimate()[0] > 1.5


def test_a_single_run_shows_nothing():
    one = quartile.ratio([2.0], [1.0], 0.25)
    assert one.width() == math.inf and not quartile.shows(one.estimate())
    assert quartile.shows((1.1, 1.01, 1.2)) and not quartile.shows((1.1, 0.99, 1.2))


class Programs:
    """Two programs on glibc and scale, which takes 0.9 times its time in one and as much in the other."""

    def __init__(self, noise, blocks=6, beside="glibc"):
        cells = {f"{name} 9": Cell([f"program_{name}", "9"], f"program_{name}") for name in ("redis", "perl")}
        arms = {"scale": Arm("x.so", config="version=1 lane=scale"), "glibc": Arm()}
        plan = Plan("peers", "peers-cells-programs", arms, cells, blocks, 0, until="precise", beside=beside)
        self.run, self.noise, self.chance = (
            Samples(Path("20260101T000000Z.jsonl"), plan, MACHINE),
            noise,
            np.random.default_rng(3),
        )
        self.run._append = lambda line: None
        self.now = 0.0
        self.measure()

    def take(self, arm, _, cell):
        self.now += 1
        mood = np.exp(0.2 * self.chance.standard_normal())  # of both in a pair
        true = 0.9 if arm == "scale" and "redis" in cell.argv[0] else 1.0
        mine, other = (float(t * mood * np.exp(self.noise * self.chance.standard_normal())) for t in (true, 1.0))
        return {"seconds": mine, "ops_per_s": 1 / mine, "cpu_s": mine, "peak_kib": 9.0, programs.BESIDE: other}

    def measure(self):
        planning.session.run(self.run, self.take)


def test_what_ran_side_by_side_is_compared_pair_by_pair():
    found = headline.estimates(Comparison(Programs(0.001).run), "cpu_s", "scale")
    assert found["redis"][0] == pytest.approx(0.9, rel=0.01) and found["redis"][2] < 0.92
    assert found["perl"][0] == pytest.approx(1.0, rel=0.01)
    apart = headline.estimates(Comparison(Programs(0.001, beside="").run), "cpu_s", "scale")
    assert apart["redis"][2] > 1  # the moods of the machine are not in both
    memory = versus.pairs(Programs(0.001).run, "redis 9", "peak_kib", "scale", "glibc")
    assert memory is not None and (memory == 9).all()


def test_blocks_are_added_until_the_intervals_are_narrow_and_the_budget_is_kept():
    rig = Programs(0.03)
    of_cells, of_mean = precise.widths(rig.run)
    assert max(of_cells.values()) > precise.OF_PROGRAM and of_mean > precise.OF_MEAN
    rig.now = 0.0
    left = precise.narrow(rig.run, rig.measure, 20, lambda: rig.now)
    assert left and rig.now <= 24  # a block takes as long as the ones before, give or take
    assert precise.narrow(rig.run, rig.measure, 1e6, lambda: rig.now) == {}
    of_cells, of_mean = precise.widths(rig.run)
    assert max(of_cells.values()) <= precise.OF_PROGRAM and of_mean <= precise.OF_MEAN
    assert precise.lacking(10, 2.0) == 30 and precise.lacking(10, math.inf) == 10


@pytest.mark.parametrize("noise", [0.0, 0.001])
def test_a_cell_with_one_sound_block_gets_more_and_one_that_nobody_ends_gets_none(noise):
    rig = Programs(noise)
    for block in range(1, 6):
        rig.run.spoilt.add((Round("ab", block, "redis 9"), 0))
    assert precise.widths(rig.run)[1] == math.inf
    assert precise.needs(rig.run) == {"redis 9": 6}
    rig.run.unable["redis 9", "scale"] = "it broke"
    assert precise.needs(rig.run) == {}
    rig.run.unable["perl 9", "scale"] = "it broke"
    assert precise.widths(rig.run) == ({}, 0.0) and precise.needs(rig.run) == {}


def test_each_runs_beside_the_reference_on_both_halves_of_the_processors(monkeypatch):
    import os
    import threading

    seen, lock = [], threading.Lock()

    def taker(name, arm, cell):
        with lock:
            seen.append((name, frozenset(os.sched_getaffinity(0))))
        return {"cpu_s": 2.0 if name == "scale" else 4.0, "peak_kib": float(len(seen))}

    before = os.sched_getaffinity(0)
    if len(before) < 2:
        pytest.skip("one processor")
    both = programs.SideBySide((taker, taker), "glibc", Arm())
    found = both("scale", Arm("x.so"), Cell(["program_perl", "1"]))
    assert found["cpu_s"] == 2.0 and found[programs.BESIDE] == 4.0
    halves = {name: [half for who, half in seen if who == name] for name in ("scale", "glibc")}
    assert halves["scale"] == halves["glibc"][::-1] and halves["scale"][0].isdisjoint(halves["scale"][1])
    assert os.sched_getaffinity(0) == before
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {0})
    with pytest.raises(LabError, match="one processor only"):
        programs.SideBySide((taker, taker), "glibc", Arm())


def test_the_slowest_calls_are_told_beside_the_best_peer_and_glibc():
    cells = {f"{i}": Cell(["bench_mixed_st", str(i)], "bench_mixed_st") for i in (1, 2)}
    arms = {"scale": Arm("x.so", config="version=1 lane=scale"), "glibc": Arm(), "good": Arm("g.so")}
    run = Samples(Path("20260101T000000Z.jsonl"), Plan("peers", "peers-x", arms, cells, 5, 0), MACHINE)
    times = {("scale", "1"): 10.0, ("scale", "2"): 40.0, ("good", "1"): 40.0, ("good", "2"): 20.0}
    times |= {("glibc", "1"): 50.0, ("glibc", "2"): 200.0}
    for phase, block in (("warmup", 0), *(("ab", block) for block in range(5))):
        for cell in cells:
            for arm in arms:
                ns = times.get((arm, cell), 100.0)
                figures = {"bench": "b", "iters": float(cell), "ws": float(cell), "latency": 1.0, "seconds": 1.0}
                figures |= {f"{call}_p999_ns": ns for call in ("malloc", "free")}
                run._take({"phase": phase, "block": block, "cell": cell, "attempt": 0, "arm": arm, "figures": figures})
    said = slowest.said(Comparison(run))
    assert "In 2 of 2 small programs, the time that one call in 1,000 exceeds is 80 % less than glibc's" in said
    assert "as much as good's, the best of the others." in said  # a quarter of it in one test, twice in the other
    assert said.count("\n- 2.0 times as much time for ") == 2 and "malloc where one thread does everything" in said
    for block in range(1, 5):
        run.spoilt.add((Round("ab", block, "2"), 0))
    assert "In 1 of 2 small programs" in (said := slowest.said(Comparison(run)))
    assert "exceeds is as much as glibc's and as much as good's" in said  # one test tells nothing of others
    for block in range(1, 5):
        run.spoilt.add((Round("ab", block, "1"), 0))
    assert slowest.said(Comparison(run)) == ""
    assert slowest.said(Comparison(Programs(0.1).run)) == ""
