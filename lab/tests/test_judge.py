"""The judge on samples with a known effect: how often it is wrong, and when it gives no verdict."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from synthetic import experiment, samples

from lab import LabError, interval, judge, ledger, show, summary, until
from lab.experiment import from_table
from lab.plan import BASELINE, COPY, Cell

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
    for aa, word in ((np.full(20, 0.012), "INCONCLUSIVE"), (np.full(20, 0.011), "BETTER")):
        assert judge.word_for(judge.effect(slightly_better, judge.noise_floor("ops_per_s", aa)), 0.01) == word


def test_a_drift_within_each_block_is_no_effect():
    run = samples(experiment(IMPROVES), 1, [4], noise=0.0)
    for block in run.blocks("case 0", "aa", "ab"):
        speed = block[BASELINE]["ops_per_s"]
        block[BASELINE]["ops_per_s"], block[COPY]["ops_per_s"] = speed / 1.2, speed * 1.2
    for attempts in list(run.attempts.values())[::2]:  # every second block becomes faster, the others slower
        attempts[0][BASELINE], attempts[0][COPY] = attempts[0][COPY], attempts[0][BASELINE]
    (finding, *_) = judge.judge(run)[0].findings
    assert judge.percent(finding.effect.low) == pytest.approx(judge.percent(finding.effect.high)) == pytest.approx(4)


def test_a_loss_that_counts_is_beyond_the_floor_as_it_is_printed(capsys):
    run = samples(experiment(IMPROVES), 1, [-14.5], noise=0.0, mood=0.0)
    for block, attempts in enumerate(run.attempts.values()):
        off = 1.16 ** (1 / math.sqrt(3))
        attempts[0][(BASELINE, COPY)[block % 2]]["ops_per_s"] *= off
        attempts[0][(COPY, BASELINE)[block % 2]]["ops_per_s"] /= off
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
    assert judge.word_of({judge.Holds.SAME, judge.Holds.UNDECIDED}) == "INCONCLUSIVE"  # nothing has failed
    assert share("GO", [{"at_least": -2.0}], [0], trials=10, noise=0.005) == 1


@pytest.mark.parametrize("gate", [{"at_least": 0.0}, {"wins": 2}])
def test_in_one_gate_too_what_is_the_same_beside_what_is_open_is_open(gate):
    asked = from_table(experiment([gate], cases=2))
    effects = {"SAME": judge.effect(np.zeros(20), 0.01), "INCONCLUSIVE": judge.effect(np.array([-0.2, 0.2] * 6), 0.01)}
    found = [
        judge.Finding(f"case {number}", asked.gates[0].group, "variant", asked.figure, effect, word, (1, 1), 1, None)
        for number, (word, effect) in enumerate(effects.items())
    ]
    assert judge.judge_gate(asked.gates[0], found, asked).holds is judge.Holds.UNDECIDED
    assert judge.judge_gate(asked.gates[0], found[:1] * 2, asked).holds is judge.Holds.SAME


def test_an_open_mean_says_how_many_blocks_it_lacks_even_if_hardly_any_number_will_do():
    said = judge.judge(samples(experiment([{"mean": -1.0}]), 1, [-1.0], noise=0.2))[0].gates[0]
    assert said.holds is judge.Holds.UNDECIDED and re.search(
        r", (about|over) \d+ blocks more would settle it$", said.reason
    )
    nearer = judge.judge(samples(experiment([{"mean": -3.0}]), 1, [0], noise=0.02))[0].gates[0]
    assert nearer.holds is judge.Holds.YES and "blocks" not in nearer.reason


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
    assert judge.noise_floor("ops_per_s", np.zeros(5)) == math.inf


@pytest.mark.parametrize("blocks", [6, 7, 8, 9, 12, 19, 20, 21, 23, 40])
def test_the_intervals_cover_the_truth_as_often_as_they_say(blocks):
    trials, inside = 1000, np.zeros(2)
    chance = np.random.default_rng(blocks)
    for _ in range(trials):
        low, low90, high90, high = interval.median_interval(0.05 + 0.03 * chance.standard_t(2, blocks))
        inside += low <= 0.05 <= high, low90 <= 0.05 <= high90
    for share_, nominal in zip(inside / trials, (0.95, 0.9), strict=True):
        assert share_ >= nominal - 2 * math.sqrt(nominal * (1 - nominal) / trials)


def test_the_interval_of_six_blocks_is_their_range_and_of_more_is_narrower():
    assert list(interval.median_interval(np.arange(6.0))) == [0, 0, 5, 5]
    assert list(interval.median_interval(np.arange(9.0)[::-1])) == [1, 1, 7, 7]
    assert list(interval.median_interval(np.arange(12.0))) == [2, 2, 9, 9]
    low, low90, high90, high = interval.median_interval(np.arange(20.0))
    assert 4 < low < low90 < 9.5 < high90 < high < 15


def test_a_wide_spread_is_reported_with_runs_that_settle_it():
    noisy = judge.judge(samples(experiment(IMPROVES), 4, [5], noise=0.2, mood=0))[0].findings[0]
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


def test_a_level_that_fails_in_one_of_many_cases_fails_by_a_thinner_tail():
    """Of 20 blocks 16 are on the wrong side, which happens once in 170 by chance."""
    for cases, word in ((1, "NO-GO"), (20, "INCONCLUSIVE")):
        run = samples(experiment([{"figure": "box.retries", "below": 0.1}], cases), 1, [0] * cases)
        for round_, attempts in run.attempts.items():
            wrong = round_.cell == "case 0" and round_.block < 16
            for figures in attempts[0].values():
                figures["box.retries"] = 0.11 if wrong else 0.01
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


def test_a_group_is_judged_by_the_geometric_mean_of_its_cases():
    for gain, word in (([20, -5], "GO"), ([-20, 5], "NO-GO"), ([25, -20], "NO DIFFERENCE")):  # +6.8 %, -8.3 %, 0
        assert words([{"mean": 0.0}], gain, trials=1, noise=0.005) == [word]
    (verdict,) = judge.judge(samples(experiment([{"mean": 0.0}], cases=2), 1, [20, -5], noise=0.001))
    assert float(verdict.gates[0].reason.split(" %")[0]) == pytest.approx(100 * (math.sqrt(1.2 * 0.95) - 1), abs=0.1)


def test_the_mean_of_six_cases_finds_what_none_of_them_shows():
    gain = [4] * 6
    assert share("GO", [{"mean": 0.0}], gain, trials=20, noise=0.05) >= 0.8
    assert share("GO", [{"wins": 5}], gain, trials=20, noise=0.05) <= 0.2


def test_a_part_counts_for_its_share_of_the_time():
    (verdict,) = judge.judge(samples(experiment([{"mean": 0.0, "share": 0.37}]), 1, [10], noise=0.0001))
    whole = 1 / (1 - 0.37 + 0.37 / 1.1)  # Amdahl
    assert float(verdict.gates[0].reason.split(" %")[0]) == pytest.approx(100 * (whole - 1), abs=0.1)


def test_what_may_fail_in_many_comparisons_fails_by_a_thinner_tail():
    gains = np.random.default_rng(1).normal(-0.05, 0.1, 40)
    alone, one_of_many = judge.effect(gains, 0.0), judge.effect(gains, 0.0, comparisons=20)
    assert alone.worst == alone.high < one_of_many.worst and alone.low == one_of_many.low
    table = experiment([{"at_least": -1.0}, {"mean": -1.0}, {"figure": "peak_kib", "at_least": -10.0}], cases=4)
    assert judge.comparisons(from_table(table)) == 4 + 1 + 4
    assert judge.effect(np.full(7, -0.05), 0.0, comparisons=9).worst == math.inf  # 7 values have no such tail


def test_a_case_of_many_is_won_or_lost_by_a_thinner_tail():
    """Of 20 blocks 16 are on one side, which happens once in 170 by chance.  In the other cases there is no difference."""
    for cases, words_ in ((1, ("GO", "NO-GO")), (20, ("INCONCLUSIVE", "INCONCLUSIVE"))):
        for way, word in zip((0.05, -0.05), words_, strict=True):
            run = samples(experiment([{"wins": 1}], cases), 1, [0] * cases, noise=0.0, mood=0.0)
            for number, block in enumerate(run.blocks("case 0", "ab")):
                block["variant"]["ops_per_s"] *= 1 + way if number < 16 else 1 - way
            assert judge.judge(run)[0].word == word
            assert [need.cells for need in until.all_needs(run)] == [("case 0",)] * (word == "INCONCLUSIVE")
    asked = from_table(experiment([{"wins": 4}, {"figure": "peak_kib", "wins": 6}], cases=6))
    assert [judge.may_be_won(asked, "g", figure) for figure in ("ops_per_s", "peak_kib", "end_kib")] == [3, 1, 1]


def test_of_runs_that_are_too_short_no_time_decides_but_memory_does():
    gates = [{"mean": 0.0}, {"at_least": 0.0}, {"figure": "peak_kib", "mean": -10.0}]
    for seconds, answers in ((0.29, ["undecided", "undecided", "yes"]), (0.31, ["yes", "yes", "yes"])):
        run = samples(experiment(gates), 1, [20])
        for figures in (figures for block in run.blocks("case 0", "ab") for figures in block.values()):
            figures["seconds"] = seconds
        (verdict,) = judge.judge(run)
        assert [gate.holds.value for gate in verdict.gates] == answers
        assert ("case 0: a run took 0.29 s" in verdict.gates[0].reason) == (seconds < 0.3)


def test_a_case_whose_copies_differ_decides_nothing_and_says_so():
    run = samples(experiment([{"mean": 0.0}], cases=2), 1, [20, 20], noise=0.01)
    for block in run.blocks("case 1", "aa", "ab"):
        block[COPY]["ops_per_s"] *= 1.03
    (verdict,) = judge.judge(run)
    assert verdict.word == "INCONCLUSIVE"
    assert "which decides nothing: case 1: its two copies of the baseline differ by +" in verdict.gates[0].reason
    assert [f.verdict for f in verdict.findings if f.figure == "ops_per_s"] == ["BETTER", "INCONCLUSIVE"]


def test_copies_that_are_the_same_are_said_to_differ_in_one_run_of_a_hundred():
    chance = np.random.default_rng(5)
    said = [judge.copies_differ(chance.normal(0, 0.05, 30), 0.05) for _ in range(2000)]
    assert 0.02 <= np.mean(said) <= 0.06
    assert judge.COPIES_DIFFER == 0.01


def test_all_cases_and_figures_of_a_run_share_the_error_by_which_copies_are_said_to_differ(monkeypatch):
    errors = []
    monkeypatch.setattr(judge, "copies_differ", lambda copies, error: errors.append(error))
    judge.judge(samples(experiment([{"mean": 0.0}], cases=2), 1, [20, 20]))
    assert len(errors) == 2 * 3 and sum(errors) == pytest.approx(judge.COPIES_DIFFER * interval.spent(1))


@pytest.mark.parametrize(
    "more, last, holds",
    [
        (1.005, 1, "yes"),
        (1.02, 1, "no"),
        (1.01, 1, "undecided"),
        (1.005, 1.14, "yes"),
        (1.02, 1.14, "no"),
        (1.01, 1.14, "undecided"),  # one count in three has many more
    ],
)
def test_instructions_are_judged_by_the_two_least_counts_of_each(more, last, holds):
    run = samples(experiment([{"mean": 0.0}]), 1, [20])
    run.plan.cells["case 0, counted"] = Cell(["bench", "{iters}"], "g", counted=True)
    for block in range(3):
        for arm, count in ((BASELINE, 100.0 + block / 10), ("variant", 100.0 * more + block / 10)):
            at = {"phase": "ab", "block": block, "cell": "case 0, counted", "attempt": 0}
            run._take({**at, "arm": arm, "figures": {"instructions_per_op": count * (last if block == 2 else 1)}})
    gate, level = from_table(experiment([{"instructions": 1.0}, {"figure": "peak_kib", "above": 1.0}])).gates
    assert judge.judge_instructions(gate, run, "variant").holds.value == holds
    level_of = judge.judge_level(level, run, from_table(run.plan.experiment), "variant")
    assert level_of.holds.value == "yes", "a counted cell has no such figure"
    assert judge.judge(run)[0].word == "GO"  # a counted cell is in no other gate


def test_go_becomes_unlikely_where_no_other_verdict_is_near():
    def found(gain, half, pairs=40):
        return judge.Effect(gain, gain - half, gain + half, gain - half, gain + half, 0.0, pairs)

    assert found(0.05, 0.03).chance_of(0.0, 1000) > 0.95 > found(0.0, 0.03).chance_of(0.0, 1000) > 0.2
    assert found(-0.02, 0.02, pairs=50).is_unlikely(0.0, 0.02)  # a loss needs 50 * 1.6**2 = 128 blocks
    assert not found(-0.02, 0.02).is_unlikely(0.0, 0.02)  # here it needs 103
    assert not found(-0.03, 0.02, pairs=50).is_unlikely(0.0, 0.02)  # here 57
    assert found(0.08, 0.02, pairs=50).is_unlikely(0.1, 0.1)
    assert not found(0.08, 0.02, pairs=50).is_unlikely(0.06, 0.06)


def test_a_case_may_have_a_margin_of_its_own_and_a_group_has_its_widest():
    table = experiment([{"mean": 0.0}], cases=2)
    table["cases"][1]["same_within"] = 5.0
    asked = from_table(table)
    assert [asked.margin(f"case {i}") for i in range(2)] == [2.0, 5.0] and asked.margin_of("g") == 5.0
    assert share("NO DIFFERENCE", [{"mean": 0.0}], [0], trials=10, noise=0.03) <= 0.5
    runs = (samples(table, seed, [0, 0], noise=0.03) for seed in range(10))
    assert sum(judge.judge(run)[0].word == "NO DIFFERENCE" for run in runs) >= 8


def test_the_terminal_says_what_the_intervals_cover_and_of_how_many_blocks(capsys):
    for blocks, more, covered, few in ((4, 0, 87, True), (4, 4, 99, False), (20, 0, 97, False), (20, 20, 99, False)):
        run = samples(experiment(IMPROVES), 1, [0], blocks=blocks + more)
        run.plan = replace(run.plan, blocks=blocks)
        run.more["case 0"] = [more] * bool(more)
        show.verdicts(run, judge.judge(run))
        said = capsys.readouterr().out
        assert f" {covered} % interval " in said and (f"{blocks} blocks are too few" in said) == few
    assert interval.covers(7, 1) == 97 and interval.covers(7, 2) == 98 and interval.covers(9, 2) == 99


def test_what_is_void_gives_no_verdict():
    run = samples(experiment(IMPROVES), 1, [0])
    run.void = "another library served"
    with pytest.raises(LabError, match="decides nothing: another library served: no verdict"):
        judge.judge(run)
