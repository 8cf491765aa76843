"""Instructions are those of an operation: a variant that does more in each takes more, and one that does the same none."""

from dataclasses import replace

import pytest

from lab import LabError, build, experiment, instructions, registry
from lab.plan import BASELINE, Arm


@pytest.fixture(scope="module")
def builder():
    made = build.Builder(registry.read())
    made.benches(["bench_mixed_st"])
    return made


def test_what_a_variant_does_more_is_counted(builder, monkeypatch):
    monkeypatch.setattr(instructions, "RUNS", 1)
    base, checked = (
        builder.variant(experiment.Variant(name, lane)) for name, lane in ((BASELINE, "r90"), ("checked", "scale"))
    )
    case = experiment.Case("one thread", "st", "bench_mixed_st {iters} 400 16 2048", 1000000)
    asked = replace(experiment.read(build.ROOT / "experiments/free-check.toml"), cases=(case,))
    (row,) = instructions.rows(asked, {BASELINE: base, "the same": base, "checked": checked})
    name, count, same, more = row
    assert name == "one thread" and float(count) > 20
    assert abs(float(same.split()[0])) < 0.1
    assert 1 < float(more.split()[0]) < 20


def test_cases_are_chosen_by_group_and_need_iterations():
    asked = experiment.read(build.ROOT / "experiments/free-check.toml")
    assert [case.name for case in instructions.countable(asked, ("st",)).cases] == ["one thread"]
    assert len(instructions.countable(asked).cases) == sum(case.iters > 0 for case in asked.cases) < len(asked.cases)
    with pytest.raises(LabError, match=r"no iterations to count in group 'idle' \(groups: r0, "):
        instructions.countable(asked, ("idle",))


def test_a_program_that_fails_is_an_error():
    with pytest.raises(LabError, match="bench_nonsense"):
        instructions.collected(["bench_nonsense"], Arm(file="libhakozuna_hz3_scale.so"))
