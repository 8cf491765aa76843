"""Instructions are those of an operation: a variant that does more in each takes more, and one that does the same none."""

from dataclasses import replace

import pytest

from lab import LabError, build, experiment, instructions, registry
from lab.plan import BASELINE, Plan

FREE_CHECK = experiment.read(build.ROOT / "experiments/free-check.toml")


@pytest.fixture(scope="module")
def plan():
    builder = build.Builder(registry.read())
    programs = builder.benches(["bench_mixed_st"])
    base, checked = (builder.variant(experiment.Variant(*of)) for of in ((BASELINE, "r90"), ("checked", "scale")))
    return Plan("ab", "x", {BASELINE: base, "the same": base, "checked": checked}, {}, 1, programs=programs)


def test_what_a_variant_does_more_is_counted(plan, monkeypatch):
    monkeypatch.setattr(instructions, "RUNS", 1)
    case = experiment.Case("one thread", "st", "bench_mixed_st {iters} 400 16 2048", 1000000)
    ((name, count, same, more),) = instructions.rows(replace(FREE_CHECK, cases=(case,)), plan)
    assert name == "one thread" and float(count) > 20
    assert abs(float(same.split()[0])) < 0.1
    assert 1 < float(more.split()[0]) < 20


def test_the_clock_changes_no_count(plan):
    case = experiment.Case("one thread", "st", "bench_mixed_st {iters} 400 16 2048", 1000000)
    classic = build.Builder(registry.read()).variant(experiment.Variant("classic", "classic"))
    counts = [instructions.an_operation("classic", classic, case, plan.programs) for _ in range(2)]
    assert counts[0] == pytest.approx(counts[1], rel=1e-5)


def test_cases_are_chosen_by_group_and_need_iterations():
    assert [case.name for case in instructions.countable(FREE_CHECK, ("st",)).cases] == ["one thread"]
    with_iterations = [case.name for case in FREE_CHECK.cases if case.iters]
    assert [case.name for case in instructions.countable(FREE_CHECK).cases] == with_iterations
    assert len(with_iterations) < len(FREE_CHECK.cases)
    for groups in (("idle",), ("st", "idle")):
        with pytest.raises(LabError, match="has iterations to count in these groups: r0, "):
            instructions.countable(FREE_CHECK, groups)


def test_what_did_not_serve_is_an_error(plan):
    case = experiment.Case("one thread", "st", "bench_mixed_st {iters} 400 16 2048", 1000000)
    other = replace(plan.arms[BASELINE], config=plan.arms["checked"].config)
    with pytest.raises(LabError, match="a flag did not take"):
        instructions.an_operation("r90", other, case, plan.programs)
