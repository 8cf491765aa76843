"""More blocks for open gates: what they decide, their order, the budget, and the rate of wrong verdicts."""

import re
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from synthetic import MACHINE, Memory, Rig

from lab import LabError, archive, cli, interval, judge, ledger, report, session, summary, until
from lab.experiment import from_table
from lab.plan import COPY
from lab.samples import Round, Samples

TRIALS = 60
IMPROVES = [{"at_least": 0.0}]


def words(trials=TRIALS, budget=1000, **more):
    found = []
    for seed in range(trials):
        rig = Rig(None, seed=seed, **more)
        rig.decide(budget)
        found += [verdict.word for verdict in judge.judge(rig.run)]
    return found


@pytest.mark.parametrize("gain", [0, -1, -5])
@pytest.mark.parametrize("noise", [0.02, 0.1])
def test_however_often_it_looks_there_is_no_go_for_what_is_no_gain(gain, noise):
    assert words(gates=IMPROVES, gain=[gain], noise=[noise]).count("GO") <= 0.05 * TRIALS


@pytest.mark.parametrize("gain", [0, 5])
def test_however_often_it_looks_a_guard_accuses_nothing_innocent(gain):
    assert words(gates=[{"at_least": -1.0}], gain=[gain], noise=[0.1]).count("NO-GO") <= 0.05 * TRIALS


@pytest.mark.parametrize("gain, word", [(5, "GO"), (-5, "NO-GO"), (0, "NO DIFFERENCE")])
def test_what_ten_blocks_leave_open_more_decide(gain, word):
    def share(of, *others):
        return sum(one in (word, *others) for one in of) / len(of)

    asked = {"gates": IMPROVES, "gain": [gain], "noise": [0.05]}
    before, after = (words(trials=20, budget=budget, **asked) for budget in (1e-6, 20_000))
    assert share(before) <= 0.5 and share(after) >= (0.8 if gain > 0 else 0.5)
    assert share(after, "GO UNLIKELY") >= 0.8  # nothing is no gain that could be shown, where it seems to be a loss


def test_only_what_is_open_gets_more_blocks_and_what_needs_the_fewest_first(tmp_path):
    rig = Rig(tmp_path / "1.jsonl", IMPROVES, [20, 3, 3], [0.01, 0.08, 0.06], seed=3)
    needed = until.needs(rig.run)
    assert [need.blocks for need in needed] == sorted(need.blocks for need in needed)
    assert {need.cells for need in needed} == {("case 1",), ("case 2",)}
    rig.decide()
    assert next(iter(rig.run.more)) and rig.run.planned("case 0") == 10
    grown = [line for line in rig.run.path.read_text().splitlines() if '"kind": "more"' in line]
    assert f'"cell": "{needed[0].cells[0]}"' in grown[0]
    assert not until.needs(rig.run) and not session.remaining(rig.run)


def test_a_guard_that_is_nearer_than_the_margin_is_decided_though_the_two_are_the_same(tmp_path):
    rig = Rig(tmp_path / "1.jsonl", [{"at_least": -0.5}], [0], [0.012], blocks=20)
    (finding, *_), (gate,) = judge.judge(rig.run)[0].findings, judge.judge(rig.run)[0].gates
    assert (finding.verdict, gate.holds) == ("SAME", judge.Holds.UNDECIDED)
    rig.decide()
    assert judge.judge(rig.run)[0].word == "GO"


def test_a_budget_is_kept_and_what_it_leaves_open_is_said(tmp_path):
    rig = Rig(tmp_path / "1.jsonl", IMPROVES, [1, 1], [0.2, 0.2])
    left = rig.decide(budget=100)
    assert 0 < rig.now <= 100 and left.keys() <= {"case 0", "case 1"}
    assert judge.judge(rig.run)[0].word == "INCONCLUSIVE"
    assert rig.decide(budget=1) == left  # too small for a single step


def test_a_block_costs_what_its_repetitions_and_waits_do():
    run = Rig(None, IMPROVES, [1], [0.2]).run
    before = until.block_seconds(run, "case 0")
    assert before == 3.0  # three arms, a second each
    for block in range(10):
        run.add({"phase": "ab", "block": block, "cell": "case 0", "arm": COPY, "attempt": 0, "took": 6.0,
                 "figures": run.attempts[Round("ab", block, "case 0")][0][COPY]})  # fmt: skip
    assert until.block_seconds(run, "case 0") == before + 6.0


def test_a_run_that_was_extended_is_read_and_resumed_as_it_was(tmp_path):
    path = tmp_path / "1.jsonl"
    rig = Rig(path, IMPROVES, [3], [0.1])
    rig.decide(budget=200)
    again = Samples.load(path)
    assert again.more == rig.run.more and again.more and again.looks("case 0") == 1 + len(again.more["case 0"])
    assert judge.judge(again) == judge.judge(rig.run)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-4]))  # interrupted in its last step
    cut = Samples.load(path)
    assert {round_.cell for round_, _ in session.remaining(cut)} == {"case 0"}
    with pytest.raises(LabError, match="rounds are missing"):
        judge.judge(cut)
    session.run(cut, rig.take)
    assert not session.remaining(cut) and len(cut.blocks("case 0", "ab")) == len(again.blocks("case 0", "ab"))


def test_each_look_asks_for_more_and_all_together_for_no_more_than_one():
    values = np.random.default_rng(1).normal(0, 1, 60)
    widths = [np.ptp(interval.median_interval(values, looks)) for looks in (0, 1, 2, 3)]
    assert widths == sorted(widths) and len(set(widths)) == 4
    assert sum(1 / (k * (k + 1)) for k in range(1, 1000)) < 1
    plain = Memory(replace(Rig(None, IMPROVES, [0], [0.1]).run.plan, until=""))
    assert plain.looks("case 0") == 1  # a run of fixed length pays, too: nobody knows whether it will be run again


@pytest.mark.parametrize("argv, complaint", [
    (["--until", "decided"], "--until and --budget need each other"),
    (["--budget", "60m"], "--until and --budget need each other"),
    (["--until", "bored", "--budget", "60m"], "'bored' is not 'decided'"),
    (["--until", "decided", "--budget", "60"], "'60' is not a duration, as 90s, 60m or 2h are"),
    (["--until", "decided", "--budget", "0m"], "'0m' is not a duration"),
])  # fmt: skip
def test_a_budget_is_a_duration_and_goes_with_an_end(argv, complaint):
    said = CliRunner().invoke(cli.main, ["ab", "none.toml", *argv])
    assert said.exit_code == 2 and re.search(complaint, said.output.replace("\n", " "))
    assert cli.Duration().convert("60m", None, None) == 3600 and cli.Duration().convert("2h", None, None) == 7200


def test_what_was_interrupted_between_two_looks_can_be_resumed_and_what_has_ended_cannot(tmp_path):
    rig = Rig(tmp_path / "1.jsonl", IMPROVES, [3], [0.1])
    run, plan = rig.run, rig.run.plan
    assert not session.remaining(run) and cli.resumable(run.path, plan, run.machine).plan.until
    for path in (
        archive.compress(run.path),
        Samples.create(tmp_path / "2.jsonl", replace(plan, cells={}, until=""), {}).path,
    ):
        with pytest.raises(LabError, match=f"nothing to resume: {path.name} is complete"):
            cli.resumable(path, plan, run.machine)


def test_the_ledger_says_how_many_blocks_the_cells_got(tmp_path):
    rig = Rig(tmp_path / "1.jsonl", IMPROVES, [20, 3], [0.01, 0.1])
    rig.run.machine = MACHINE
    asked = from_table(rig.run.plan.experiment)
    assert "; 10 blocks, 1 of" in ledger.measured_as(summary.judged(rig.run))
    (about, *_) = report.experiment_section(asked, summary.judged(rig.run))
    assert about.note.endswith("; 10 blocks, 1 of the iterations")
    rig.decide(budget=100)
    found = summary.judged(rig.run)
    kept = summary.judged_from_json(found.path, found.machine, summary.judged_to_json(found))
    for run in (found, kept):
        said = f"; 10 to {rig.run.planned('case 1')} blocks, 1 of the iterations"
        assert said in ledger.measured_as(run) and report.experiment_section(asked, run)[0].note.endswith(said)


def test_the_cases_of_a_group_get_the_same_number_of_blocks(tmp_path):
    rig = Rig(tmp_path / "1.jsonl", [{"mean": 0.0}], [4, 0], [0.05, 0.05])
    (need,) = until.needs(rig.run)
    assert need.cells == ("case 0", "case 1")
    rig.decide()
    assert rig.run.planned("case 0") == rig.run.planned("case 1") > 10 and not until.needs(rig.run)


def test_no_block_is_spent_on_a_variant_that_a_gate_has_failed():
    rig = Rig(None, [{"at_least": 0.0}, {"figure": "a_ratio", "at_least": 0.0}], [-20], [0.01])
    assert judge.judge(rig.run)[0].word == "NO-GO" and not until.all_needs(rig.run)


def test_what_no_number_of_blocks_decides_is_named():
    rig = Rig(None, [{"mean": 0.0}], [20], [0.01])
    for block in rig.run.blocks("case 0", "aa", "ab"):
        block[COPY]["ops_per_s"] *= 1.1
    assert not until.needs(rig.run) and rig.decide(100) == {"case 0": judge.NEVER}
