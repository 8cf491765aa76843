"""The judge on samples with a known effect: how often it is wrong, and when it gives no verdict."""

import math

import numpy as np
import pytest
from synthetic import experiment, samples

from lab import LabError, judge, ledger, show, summary
from lab.experiment import from_table
from lab.plan import BASELINE, COPY

TRIALS = 60
IMPROVES = [{"at_least": 0.0}]


def words(gates: list[dict], gain: list[float], trials: int = TRIALS, **more) -> list[str]:
    table = experiment(gates, cases=len(gain))
    return [judge.judge(samples(table, seed, gain, **more))[0].word for seed in range(trials)]


def share(word: str, *args, **more) -> float:
    found = words(*args, **more)
    return found.count(word) / len(found)


@pytest.mark.parametrize("gain", [0, -1, -5, -20])
@pytest.mark.parametrize("noise, heavy", [(0.02, False), (0.2, False), (0.05, True)])
def test_no_go_for_what_is_no_gain(gain, noise, heavy):
    assert share("GO", IMPROVES, [gain], noise=noise, heavy=heavy) <= 0.05


@pytest.mark.parametrize("gain", [0, 1, 5, 20])
@pytest.mark.parametrize("noise, heavy", [(0.02, False), (0.2, False), (0.05, True)])
def test_a_guard_accuses_nothing_innocent(gain, noise, heavy):
    assert share("NO-GO", [{"at_least": -1.0}], [gain], noise=noise, heavy=heavy) <= 0.05


@pytest.mark.parametrize("gain", [5, 20])
def test_gains_of_5_per_cent_are_not_missed(gain):
    assert share("GO", IMPROVES, [gain]) >= 0.8


@pytest.mark.parametrize("gain", [-5, -20])
def test_losses_of_5_per_cent_are_not_missed(gain):
    assert share("NO-GO", [{"at_least": -1.0}], [gain]) >= 0.8


def test_gains_of_20_per_cent_are_found_under_heavy_noise():
    assert share("GO", IMPROVES, [20], noise=0.05, heavy=True) >= 0.8


def test_a_gain_below_the_threshold_is_no_go():
    assert share("GO", [{"at_least": 10.0}], [9.0]) <= 0.05
    assert share("NO-GO", [{"at_least": 10.0}], [5.0]) >= 0.8


def test_the_same_is_found_the_same_and_nothing_else_is():
    table = experiment(IMPROVES)

    def said_same(gain):
        runs = (samples(table, seed, [gain], noise=0.01, blocks=40) for seed in range(TRIALS))
        return sum(judge.judge(run)[0].findings[0].verdict == "SAME" for run in runs) / TRIALS

    assert said_same(0) >= 0.8
    assert said_same(2) <= 0.05 and said_same(-2) <= 0.05  # exactly at the margin


@pytest.mark.parametrize(
    "gain, word",
    [
        ([8, 8, 8, 8, 8, 8], "GO"),
        ([8, 8, 8, 8, 8, -8], "GO"),
        ([8, 8, 8, 8, -8, -8], "NO-GO"),
        ([14.4, 10.1, 8.5, -10.4, -17.8, -7.0], "NO-GO"),
    ],
)
def test_wins_in_five_of_six_cases(gain, word):
    assert words([{"wins": 5}], gain, trials=1) == [word]


def test_wins_that_are_lost_in_noise_are_undecided():
    assert share("INCONCLUSIVE", [{"wins": 5}], [3] * 6, trials=10, noise=0.3) == 1


def test_one_failed_gate_is_no_go_and_one_open_gate_inconclusive():
    gates = [{"at_least": 0.0}, {"at_least": -10.0, "figure": "peak_kib"}]
    assert words(gates, [10], trials=1) == ["GO"]
    assert words(gates, [10], trials=1, memory=1.5) == ["NO-GO"]
    assert words(gates, [10], trials=1, blocks=5) == ["INCONCLUSIVE"]


def test_memory_is_judged_like_speed():
    finding = {f.figure: f for f in judge.judge(samples(experiment(IMPROVES), 1, [0], memory=0.5))[0].findings}
    assert finding["peak_kib"].verdict == "BETTER"
    assert judge.percent(finding["peak_kib"].effect.gain) == pytest.approx(100)
    assert finding["peak_kib"].medians == (5000, 2500)
    twice = judge.judge(samples(experiment(IMPROVES), 1, [-50], memory=2.0))[0].findings
    assert [ledger.cell(f).split(" [")[0] for f in twice[1:]] == ["WORSE -50.0 %"] * 2
    assert judge.percent(twice[0].effect.gain) == pytest.approx(-50, abs=1)
    assert "better by -50 % has half the speed, or takes twice the memory" in ledger.HEAD


def test_no_effect_below_the_noise_floor():
    slightly_better = np.full(20, 0.01)
    for aa, word in ((np.full(20, 0.02), "INCONCLUSIVE"), (np.full(20, 0.005), "BETTER")):
        assert judge.word_for(judge.effect(slightly_better, judge.noise_floor(aa)), 0.01) == word


def test_a_loss_that_counts_is_beyond_the_floor_as_it_is_printed(capsys):
    run = samples(experiment(IMPROVES), 1, [-14.5], noise=0.0, mood=0.0)
    for block, attempts in enumerate(run.attempts.values()):
        attempts[0][COPY]["ops_per_s"] = attempts[0][BASELINE]["ops_per_s"] * (1.16, 1 / 1.16)[block % 2]
    asked = from_table(run.plan.experiment)
    (row,) = (line for line in ledger.result(summary.judged(run), asked) if "| case 0 |" in line)
    assert "| WORSE -14.5 % [-14.5 %, -14.5 %] | -13.8 % +16.0 % |" in row
    show.verdicts(run, judge.judge(run))
    assert "-13.8 % +16.0 %" in capsys.readouterr().out


def test_no_effect_whose_interval_reaches_the_other_side():
    torn = judge.effect(np.array([-0.2, 0.4] * 10 + [0.4]), 0.0)
    assert (
        torn.gain == 0.4 and not torn.above(0) and not judge.effect(-np.array([-0.2, 0.4] * 10 + [0.4]), 0.0).below(0)
    )
    assert judge.effect(np.full(20, 0.4), 0.0).above(0)


def test_the_same_needs_a_narrow_interval_and_a_low_floor():
    assert judge.effect(np.zeros(20), 0.01).same_within(0.02)
    assert not judge.effect(np.zeros(20), 0.03).same_within(0.02)
    assert not judge.effect(np.array([-0.2, 0.0, 0.2] * 7), 0.01).same_within(0.02)


def test_what_is_the_same_is_no_improvement_and_has_a_verdict_of_its_own():
    assert share("NO DIFFERENCE", IMPROVES, [0], trials=10, noise=0.005) == 1
    assert share("NO DIFFERENCE", [{"wins": 1}], [0], trials=10, noise=0.005) == 1
    assert share("NO-GO", [{"wins": 2}], [8, 0], trials=10, noise=0.005) == 1
    assert share("NO-GO", IMPROVES, [8, 0], trials=10, noise=0.005) == 1  # one case differs
    assert judge.word_of({judge.Holds.SAME, judge.Holds.YES}) == "NO DIFFERENCE"
    assert judge.word_of({judge.Holds.SAME, judge.Holds.UNDECIDED}) == "NO-GO"  # it cannot become GO
    assert share("GO", [{"at_least": -2.0}], [0], trials=10, noise=0.005) == 1


def test_what_is_nearer_to_nothing_than_to_the_gate_is_no_difference_but_a_gain_below_it_is_not():
    gate = [{"at_least": 5.0}]
    assert share("NO DIFFERENCE", gate, [0], trials=20, noise=0.02, blocks=40) >= 0.8  # within 5 %, but not within 2 %
    assert share("NO DIFFERENCE", gate, [3], trials=20, noise=0.01) <= 0.05
    assert share("NO-GO", gate, [-3], trials=20, noise=0.01) >= 0.8
    assert share("NO DIFFERENCE", [*gate, {"at_least": -10.0, "figure": "peak_kib"}], [0], trials=5, memory=1.5) == 0


@pytest.mark.parametrize("gain", [5, -5, 10])
@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_what_makes_a_difference_of_the_gates_size_is_hardly_ever_called_none(gain, noise):
    assert share("NO DIFFERENCE", [{"at_least": 5.0}], [gain], noise=noise) <= 0.05


def test_without_enough_aa_blocks_there_is_no_floor_to_stand_on():
    assert judge.noise_floor(np.zeros(5)) == math.inf


@pytest.mark.parametrize("blocks", [6, 7, 8, 9, 12, 19, 20, 21, 23, 40])
def test_the_intervals_cover_the_truth_as_often_as_they_say(blocks):
    trials, inside = 1000, np.zeros(2)
    chance = np.random.default_rng(blocks)
    for _ in range(trials):
        low, low90, high90, high = judge.median_interval(0.05 + 0.03 * chance.standard_t(2, blocks))
        inside += low <= 0.05 <= high, low90 <= 0.05 <= high90
    for share_, nominal in zip(inside / trials, (0.95, 0.9), strict=True):
        assert share_ >= nominal - 2 * math.sqrt(nominal * (1 - nominal) / trials)


def test_the_interval_of_six_blocks_is_their_range_and_of_more_is_narrower():
    assert list(judge.median_interval(np.arange(6.0))) == [0, 0, 5, 5]
    assert list(judge.median_interval(np.arange(9.0)[::-1])) == [1, 1, 7, 7]
    assert list(judge.median_interval(np.arange(12.0))) == [2, 2, 9, 9]
    low, low90, high90, high = judge.median_interval(np.arange(20.0))
    assert 4 < low < low90 < 9.5 < high90 < high < 15


def test_a_wide_spread_is_reported_with_runs_that_settle_it():
    noisy = judge.judge(samples(experiment(IMPROVES), 3, [5], noise=0.2, mood=0))[0].findings[0]
    assert noisy.range_ratio > 1.5 and noisy.verdict == "INCONCLUSIVE"
    assert noisy.runs_needed > 20
    quiet = judge.judge(samples(experiment(IMPROVES), 3, [5], noise=0.01, mood=0))[0].findings[0]
    assert quiet.range_ratio < 1.5 and quiet.runs_needed is None


def test_the_number_of_runs_settles_it_4_times_of_5_where_the_effect_is_what_it_seems():
    settled = []
    for seed in range(60):
        first = judge.judge(samples(experiment(IMPROVES), seed, [5], noise=0.1))[0].findings[0]
        if first.verdict == "INCONCLUSIVE" and first.effect.gain > 0.03:  # otherwise it needs too many
            gain, blocks = judge.percent(first.effect.gain), first.runs_needed
            again = judge.judge(samples(experiment(IMPROVES), 1000 + seed, [gain], noise=0.1, blocks=blocks))[0]
            settled.append(again.findings[0].verdict == "BETTER")
    assert len(settled) >= 20 and 0.7 <= sum(settled) / len(settled) <= 0.95


@pytest.mark.parametrize("waste, word", [(1.05, "GO"), (1.5, "NO-GO")])
def test_a_gate_may_compare_any_figure_of_its_group(waste, word):
    run = samples(experiment([{"figure": "waste_ratio", "at_least": -10.0}]), 1, [0])
    for attempts in run.attempts.values():
        for arm, figures in attempts[0].items():
            figures["waste_ratio"] = waste if arm == "variant" else 1.0
    assert judge.judge(run)[0].word == word


@pytest.mark.parametrize("kind, words", [("above", ("GO", "NO-GO")), ("below", ("NO-GO", "GO"))])
def test_a_level_is_judged_by_the_variants_own_figure(kind, words):
    table = experiment([{"figure": "box.retries", "per": "box.calls", kind: 0.1}])
    for rate, word in zip((0.2, 0.0), words, strict=True):
        run = samples(table, 1, [0])
        for attempts in run.attempts.values():
            for figures in attempts[0].values():
                figures |= {"box.retries": 1e6 * rate, "box.calls": 1e6}
        assert judge.judge(run)[0].word == word


def test_rings_that_overflowed_are_counted_in_both_arms():
    run = samples(experiment(IMPROVES), 1, [0])
    for arms, count in (((), 0), ((BASELINE,), 1), ((BASELINE, "variant"), 1)):
        for arm in arms:
            run.blocks("case 0", "ab")[0][arm]["overflow"] = "above_0.1%"
        found = summary.judged(run)
        table = "".join(ledger.result(found, from_table(run.plan.experiment)))
        assert found.verdicts[0].findings[0].overflowed == count and ("| case 0 † |" in table) == bool(count)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, 2.0**64, "12 MiB", None])
def test_a_figure_that_is_none_gives_no_verdict(value):
    run = samples(experiment(IMPROVES), 1, [0])
    next(reversed(run.attempts.values()))[0][BASELINE]["peak_kib"] = value
    with pytest.raises(LabError, match="no verdict"):
        judge.judge(run)


@pytest.mark.parametrize("value", [math.nan, math.inf, "much", None])
def test_a_level_that_is_none_gives_no_verdict(value):
    run = samples(experiment([{"figure": "box.retries", "below": 0.1}]), 1, [0])
    for attempts in run.attempts.values():
        for figures in attempts[0].values():
            figures["box.retries"] = value
    with pytest.raises(LabError, match="variant: box.retries is .*: no verdict"):
        judge.judge(run)


def test_missing_rounds_give_no_verdict():
    run = samples(experiment(IMPROVES), 1, [0])
    next(reversed(run.attempts.values()))[0].pop("variant")
    with pytest.raises(LabError, match="1 rounds are missing: no verdict"):
        judge.judge(run)
