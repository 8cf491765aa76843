"""What the lab refuses before anything is built; the project's experiments; builds; subcommands; the ledger."""

import itertools
import platform
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from synthetic import MACHINE, samples
from synthetic import experiment as table_of

from lab import (
    ROOT,
    LabError,
    build,
    cli,
    experiment,
    goals,
    judge,
    ledger,
    machine,
    measure,
    peers,
    planning,
    readme,
    registry,
    report,
    results,
    session,
    summary,
    until,
)
from lab.measure import words
from lab.plan import Arm, Cell, Plan, digest, library_arm
from lab.samples import Round, Samples, text_in

FLAGS = """
HZ3_LANES(scale, fast, r50)
HZ3_FLAG(HZ3_CHECK, 1,    0,   1,    "0..1",  "checks (all, of them)", "none")
HZ3_FLAG(HZ3_BATCH, 8,    8,   16,   "0..16", "how many", "none")
"""
EXPERIMENTS = sorted(experiment.files(ROOT / "experiments"))
CELLS = sorted(ROOT.glob("bench/cells-*.txt"))


@pytest.fixture
def known(tmp_path):
    file = tmp_path / "flags.def"
    file.write_text(FLAGS)
    return registry.read(file)


def test_the_registry_is_read(known):
    assert known.lanes == ("scale", "fast", "r50")
    assert known.resolve("r50", {"HZ3_CHECK": 0}) == {"HZ3_CHECK": 0, "HZ3_BATCH": 16}


def test_the_real_registry_is_understood():
    known = registry.read()
    assert {"scale", "fast", "classic"} <= set(known.lanes)
    debug = known.flags["HZ3_DEBUG"]
    assert known.resolve("classic", {})["HZ3_S112_FULL_DRAIN_EXCHANGE"] == 1 and (debug.least, debug.most) == (0, 1)


@pytest.mark.parametrize("text, complaint", [
    ("HZ3_FLAG(HZ3_A, 1, \"0..1\", \"\", \"\")", "no row that names the lanes"),
    (FLAGS + 'HZ3_FLAG(HZ3_C, 1, 2, "0..2", "", "")', "HZ3_C"),
    (FLAGS + 'HZ3_FLAG(HZ3_C, 1, 2, x, "0..2", "", "")', "one value for each"),
    (FLAGS + 'HZ3_FLAG(HZ3_C, 1, 2, 2, "0|2", "", "")', "one value for each .*, and a range"),
])  # fmt: skip
def test_a_registry_that_is_not_understood_is_refused(tmp_path, text, complaint):
    (tmp_path / "flags.def").write_text(text)
    with pytest.raises(LabError, match=complaint):
        registry.read(tmp_path / "flags.def")


GOOD = """
name = "x"
work_order = "ours"
question = "?"
iters = 1000
[baseline]
lane = "scale"
[[variants]]
name = "one"
flags = { HZ3_FREE_CHECK = 0 }
[[cases]]
name = "T={threads}"
group = "g{threads}"
command = "bench_random_mixed_mt_remote_malloc {threads} {iters} 10 16 64 50"
over = { threads = [2, 4] }
[[gates]]
group = "g2"
at_least = 0.0
"""


def test_a_variant_is_its_baseline_with_other_flags(tmp_path):
    file = tmp_path / "x.toml"
    text = GOOD.replace('lane = "scale"', 'lane = "scale"\nflags = { HZ3_DEBUG = 1 }\nenv = { A = "1", B = "1" }')
    file.write_text(text.replace('name = "one"', 'name = "one"\nenv = { B = "2" }'))
    read = experiment.read(file)
    flags, options = {"HZ3_DEBUG": 1, "HZ3_FREE_CHECK": 0}, {"A": "1", "B": "2"}
    assert read.variants[0] == experiment.Variant("one", "scale", flags, options)
    file.write_text(text.replace('name = "one"', 'name = "one"\nlane = "fast"'))
    assert experiment.read(file).variants[0] == experiment.Variant("one", "fast", {"HZ3_FREE_CHECK": 0})
    file.write_text(text)
    read = experiment.read(file)
    assert [case.name for case in read.cases] == ["T=2", "T=4"]
    assert read.cases[1].argv(0.1)[1:3] == ["4", "100"] and read.cases[1].argv(1e-9)[2] == "1"


@pytest.mark.parametrize("old, new, complaint", [
    ("HZ3_FREE_CHECK", "HZ3_FREE_CHEKC", "there is no flag HZ3_FREE_CHEKC"),
    ("HZ3_FREE_CHECK = 0", "HZ3_FREE_CHECK = 7", "out of range"),
    ("HZ3_FREE_CHECK = 0", 'HZ3_FREE_CHECK = "0"', "whole number"),
    ("HZ3_FREE_CHECK = 0", "HZ3_SMALL_NUM_SC = 9", "^'one': HZ3_SMALL_NUM_SC is a power of two$"),
    ("HZ3_FREE_CHECK = 0", "HZ3_S44_DRAIN_LIMIT = 32", "lane scale has no flag HZ3_S44_DRAIN_LIMIT; of classic"),
    (
        "HZ3_FREE_CHECK = 0",
        "HZ3_FREE_CHECK = 0, HZ3_SECURE = 1",
        r"^'one': HZ3_SECURE checks .*; needs HZ3_FREE_CHECK=1 \(lane scale\)$",
    ),
    (
        'lane = "scale"',
        'lane = "classic"\nflags = { HZ3_FREE_CHECK = 1, HZ3_REMOTE_STASH_SPARSE = 0, '
        'HZ3_S145_CACHE_BATCH = 8, HZ3_S97_REMOTE_STASH_BUCKET = 1 }',
        "^'baseline': HZ3_S97_REMOTE_STASH_BUCKET: a dense outbox .*=1; HZ3_S145_CACHE_BATCH needs .*=1$",
    ),
    ("HZ3_FREE_CHECK = 0", "HZ3_FREE_CHECK = 1", "the same build as 'baseline'"),
    ('name = "one"', 'name = "baseline"', "two builds are called 'baseline'"),
    ('lane = "scale"', 'lane = "slow"', "no lane 'slow'; the lanes are: scale"),
    ("bench_random_mixed_mt_remote_malloc", "bench_of_nobody", "no benchmark program 'bench_of_nobody'"),
    ('group = "g2"\nat', 'group = "g3"\nat', "no case is in that group"),
    ("at_least = 0.0", "at_least = 0.0\nwins = 1", "exactly one of"),
    ("at_least = 0.0", "wins = 2", "there are 1 cases"),
    ("at_least = 0.0", 'at_least = 0.0\nfigure = "effective_remote_pct"', "more effective_remote_pct is better"),
    ('question = "?"', 'question = "?"\nfigure = "HZ3_X.spill_hit_pct"', "more HZ3_X.spill_hit_pct is better"),
    ("at_least = 0.0", "at_last = 0.0", "at_last"),
    ("at_least = 0.0", 'at_least = "x"', "gate: at_least = 'x', which should be float$"),
    ("at_least = 0.0", 'wins = "1"', "gate: wins = '1', which should be int$"),
    ("at_least = 0.0", "at_least = nan", "gate: at_least = nan, which should be float$"),
    ("at_least = 0.0", "at_least = -100", "worse by 100 % or more"),
    ("at_least = 0.0", "wins = true", "gate: wins = True, which should be int$"),
    ('question = "?"', 'question = "?"\nsame_within = inf', "same_within = inf, which should be float$"),
    ('question = "?"', 'question = "?"\noriginal = { verdict = "GO" }', "original: Original missing .* 'said'$"),
    (
        'question = "?"',
        'question = "?"\noriginal = { said = "", verdict = "", figures = [{ case = "T=2", variant = "one", change = "-3" }] }',
        "original figure: change = '-3', which should be float$",
    ),
    ("iters = 1000", 'iters = "many"', "case 'T=2': iters = 'many', which should be int$"),
    ('question = "?"', 'question = "?"\nblocks = "20"', "experiment: blocks = '20', which should be int$"),
    ('question = "?"', 'question = "?"\nsame_within = "2"', "experiment: same_within = '2', which should be float$"),
    ("flags = { HZ3_FREE_CHECK = 0 }", 'lane = "fast"\nflags = 5', "variant: flags = 5, which should be dict$"),
    ("bench_random_mixed_mt_remote_malloc {threads} {iters} 10 16 64 50", "", "case 'T=2': no command"),
    ("16 64 50", "16 64 '50", "case 'T=2': No closing quotation"),
    ("16 64 50", "16 64 {remotee}", "case 'T=2': nothing says what {remotee} stands for"),
    ("T={threads}", "T={threads} {iters}", "case 'T=2 {iters}': nothing says what {iters} stands for"),
    ('group = "g{threads}"', 'group = "g{thread}"', "nothing says what {thread} stands for"),
    ("over =", "env = { X = 1 }\nover =", "case 'T=2': what env holds is text"),
    (
        'lane = "scale"',
        'lane = "scale"\nenv = { HZ3_HEAPS = 4 }',
        "variant 'baseline': what env holds is text",
    ),
    (
        "flags = { HZ3_FREE_CHECK = 0 }",
        'env = { X = "1", Y = "2" }\n[[cases]]\nname = "c"\ngroup = "g"\ncommand = "bench_startup"\nenv = { Y = "3" }',
        "case 'c' and variant 'one' both set Y",
    ),
    ("iters = 1000", "", "no iters for case 'T=2'"),
    ("[2, 4]", "[2, 2]", "two cases have the same name"),
    ("[[gates]]", "[[gate]]", "no gates"),
    ("[baseline]", "[baseline", "x.toml: "),
    ('question = "?"', "", "question"),
    ("flags = { HZ3_FREE_CHECK = 0 }", "flags = 0", "variant: flags = 0, which should be dict$"),
    ("over = { threads = [2, 4] }", "over = 2", "not of the form"),
    ("threads = [2, 4]", 'threads = "24"', "case 'T={threads}': over: threads = '24', which should be list$"),
])  # fmt: skip
def test_bad_input_is_refused_before_anything_is_built(tmp_path, monkeypatch, old, new, complaint):
    monkeypatch.setattr(build, "Builder", lambda *_, **__: pytest.fail("building began"))
    assert old in GOOD
    file = tmp_path / "x.toml"
    file.write_text(GOOD.replace(old, new))
    result = CliRunner().invoke(cli.main, ["ab", str(file)])
    assert isinstance(result.exception, LabError) and re.search(complaint, str(result.exception))


def test_an_experiment_that_is_changed_while_it_is_built_is_run_as_it_was(tmp_path, monkeypatch):
    class Builder:
        def __init__(self, *_, **__):
            file.write_text("")

        def variant(self, variant):
            return Arm()

        def copy(self, arm):
            return arm

        def benches(self, programs):
            return {}

    file = tmp_path / "x.toml"
    file.write_text(GOOD)
    monkeypatch.setattr(build, "Builder", Builder)
    plan = planning.of_experiment(file, 1, None, print)
    assert plan.experiment == tomllib.loads(GOOD) and plan.cells.keys() == {"T=2", "T=4"}


@pytest.mark.parametrize("read", [experiment.read, goals.read, peers.cells, Samples.load])
def test_a_file_that_is_no_text_is_an_error_in_words(tmp_path, read):
    file = tmp_path / "x"
    file.write_bytes(b"\xff = 1\n")
    with pytest.raises(LabError, match="x is no text: .* 0xff in position 0"):
        read(file)


@pytest.mark.parametrize("scale", ["nan", "inf", "0", "-1"])
def test_a_scale_is_a_number_above_0(scale):
    result = CliRunner().invoke(cli.main, ["ab", "none.toml", "--scale", scale])
    assert result.exit_code == 2 and "Invalid value for '--scale'" in result.output


@pytest.mark.parametrize("name, text", [("x.toml", GOOD), ("x.txt", "bench_mixed_st {1000} 400 16 2048\n")])
def test_a_scale_that_makes_too_many_iterations_is_refused_before_anything_is_built(tmp_path, monkeypatch, name, text):
    monkeypatch.setattr(build.Builder, "variant", lambda *_: pytest.fail("building began"))
    (tmp_path / name).write_text(text)
    verb = "ab" if name.endswith(".toml") else "peers"
    result = CliRunner().invoke(cli.main, [verb, str(tmp_path / name), "--scale", "1e308"])
    assert isinstance(result.exception, LabError) and "1000 iterations times 1e+308 are more" in str(result.exception)


def test_the_same_lane_under_another_name_is_the_same_build(known):
    one, other = experiment.Variant("baseline", "scale", {}), experiment.Variant("x", "fast", {"HZ3_CHECK": 1})
    asked = experiment.Experiment("x", "", "", one, (other,), (), ())
    with pytest.raises(LabError, match="same build"):
        experiment.check(asked, known)


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_the_experiments_of_the_project_can_be_run(file):
    asked, known = experiment.read(file), registry.read()
    experiment.check(asked, known)
    build.check_relations((asked.baseline, *asked.variants), known)


def test_of_a_compiler_that_says_something_else_all_is_shown(tmp_path, monkeypatch):
    variant, known = experiment.Variant("x", "classic", {"HZ3_OWNER_STASH_INSTANCES": 3}), registry.read()
    said = "relations.c:9:1: error: static assertion failed due to requirement '!(A) || (B)': A: see B; needs C=1"
    for text, complaint in ((said, "^'x': A: see B; needs C=1$"), ("no header", "^'x': no header\n$")):
        (tmp_path / "cc").write_text(f'#!/bin/sh\necho "{text}"\nexit 1\n')
        (tmp_path / "cc").chmod(0o755)
        monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
        with pytest.raises(LabError, match=complaint):
            build.check_relations([variant], known)


def test_every_command_of_the_experiments_gives_a_result():
    cases = [case for file in EXPERIMENTS for case in experiment.read(file).cases]
    for command in {tuple(case.argv(1e-9)) for case in cases}:
        if not (ROOT / "out" / command[0]).is_file():
            pytest.skip(f"{command[0]} is not built")
        programs = {command[0]: digest(ROOT / "out" / command[0])}
        figures = measure.Bench(programs)("libc", Arm(), Cell(list(command)))
        assert figures["ops_per_s"] > 0 and figures["peak_kib"] > 0 and figures["end_kib"] > 0


def test_s146_asks_that_fewer_than_a_million_sends_overflow():
    (gate,) = (g for g in experiment.read(ROOT / "experiments/s146-statistics.toml").gates if g.below is not None)
    assert str(gate) == "overflow_sent / remote_sent below 0.028 in r90"


@pytest.mark.parametrize("file", EXPERIMENTS, ids=lambda file: file.stem)
def test_what_a_work_order_found_is_told_of_cases_that_there_are(file):
    asked = experiment.read(file)
    cases, variants = {case.name for case in asked.cases}, {variant.name for variant in asked.variants}
    for figure in asked.original.figures if asked.original else ():
        assert figure.case in cases and figure.variant in variants
    assert (asked.work_order == "ours") == (asked.original is None)


def test_a_library_with_other_flags_than_asked_for_is_refused(tmp_path, known):
    variant = experiment.Variant("x", "scale", {"HZ3_BATCH": 16})
    for text, complaint in (
        ("lane=scale HZ3_CHECK=1 HZ3_BATCH=16", None),
        ("lane=scale HZ3_CHECK=1 HZ3_BATCH=8", "HZ3_BATCH is 8, not 16"),
        ("lane=scale HZ3_CHECK=0 HZ3_BATCH=16", "HZ3_CHECK is 0, not 1"),
        ("lane=fast HZ3_CHECK=1 HZ3_BATCH=16", "lane is fast"),
        ("lane=scale HZ3_BATCH=16", "HZ3_CHECK is None"),
    ):
        file = tmp_path / "x.so"
        file.write_bytes(b"hz3-config: version=1 " + text.encode() + b"\0")
        if complaint:
            with pytest.raises(LabError, match=complaint):
                build.check_flags(variant, library_arm(file, tmp_path), known)
        else:
            build.check_flags(variant, library_arm(file, tmp_path), known)


def project(folder, target):
    """A project that only builds without the caller's flags."""
    folder.mkdir(exist_ok=True)
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.18)\nproject(x LANGUAGES C)\n{target}\n"
        'file(WRITE ${CMAKE_SOURCE_DIR}/x.c "#ifdef OTHER\\n#error\\n#endif\\n'
        'const char *config = \\"hz3-config: version=1 lane=scale\\"; int main(void) { return 0; }")'
    )


def test_what_is_compared_is_not_compiled_with_flags_of_the_callers(tmp_path, monkeypatch):
    project(
        tmp_path,
        "add_library(hz3 SHARED x.c)\nset_target_properties(hz3 PROPERTIES OUTPUT_NAME hakozuna_hz3_scale)",
    )
    project(
        tmp_path / "bench",
        "add_executable(bench x.c)\n"
        "set_target_properties(bench PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_SOURCE_DIR}/../out)",
    )
    monkeypatch.setenv("CFLAGS", "-DOTHER")
    subprocess.run(["cmake", "-S", tmp_path / "bench", "-B", tmp_path / "build/bench"], check=True)
    for name, value in (("CC", "false"), ("LDFLAGS", "-Wl,--no-such-option")):
        monkeypatch.setenv(name, value)
    builder = build.Builder(registry.Registry(("scale",), {}), tmp_path)
    assert builder.variant(experiment.Variant("x", "scale")).config == "version=1 lane=scale"
    assert builder.benches(["bench"]).keys() == {"bench"}


def test_an_experiment_from_its_file_to_its_verdict(tmp_path, monkeypatch):
    monkeypatch.setattr(machine, "stolen_since", lambda before, now: 0.0)  # no sample is to be taken again
    monkeypatch.setattr(cli, "RESULTS", tmp_path)
    file = tmp_path / "x.toml"
    file.write_text(GOOD)
    verb = ["ab", str(file), "--scale", "0.5", "--blocks", "1"]
    result = CliRunner().invoke(cli.main, verb, catch_exceptions=False)
    (run,) = (tmp_path / "x").iterdir()
    lines = text_in(run).splitlines()
    assert result.exit_code == 0 and len(lines) == 1 + 2 * (3 + 6 * 2 + 3)
    assert "HZ3_FREE_CHECK=0" in lines[0] and "/bench_random" not in lines[0]
    assert f'"commit": "{planning.commit()}"' in lines[0]
    assert not any(str(ROOT) in line for line in lines)  # results are published
    assert list(results.Results.read(tmp_path).index) == [results.run_of(run)]
    lines[-1] = ""
    run.with_suffix("").write_text("\n".join(lines))  # as after an interrupt
    run.unlink()
    assert CliRunner().invoke(cli.main, [*verb, "--resume"], catch_exceptions=False).exit_code == 0
    assert len(text_in(run).splitlines()) == len(lines) + 3  # a line about resuming, and the last round again
    again = CliRunner().invoke(cli.main, [*verb, "--resume"])
    assert f"{run.name} is complete" in str(again.exception)


def test_an_experiment_goes_on_within_its_budget_until_it_is_decided(tmp_path, monkeypatch):
    monkeypatch.setattr(cli, "RESULTS", tmp_path)
    (tmp_path / "x.toml").write_text(GOOD)
    verb = ["ab", str(tmp_path / "x.toml"), "--blocks", "6", "--until", "decided", "--budget", "2s"]
    result = CliRunner().invoke(cli.main, verb, catch_exceptions=False)
    (path,) = (tmp_path / "x").iterdir()
    run = Samples.load(path)
    left = [str(need) for need in until.needs(run)]
    assert result.exit_code == 0 and run.plan.until == "decided" and path.suffix == ".zst"
    assert run.more or not left  # 2 seconds are enough for some
    assert all(f"not decided: {cell}: it needs about" in result.output for cell in left)
    again = CliRunner().invoke(cli.main, [*verb, "--resume"])
    assert f"{path.name} is complete" in str(again.exception)
    more = CliRunner().invoke(cli.main, verb[:4], catch_exceptions=False)  # again, on the same build
    assert f"goes on with {path.stem}" in more.output.replace("\n", "") and list((tmp_path / "x").iterdir()) == [path]
    assert Samples.load(path).planned("T=2") == run.planned("T=2") + 6


VERBS = {  # each one's argument, how it plans, and the folder of its samples
    "ab": ("x.toml", lambda check: planning.of_experiment(Path("x.toml"), 1.0, 7, print, check), "x"),
    "peers": ("x.txt", lambda check: planning.of_cells(Path("x.txt"), (), 1.0, 7, print, check), "peers-x"),
    "compare": ("true", lambda check: planning.of_command(["true"], (), 7, print, check), "true"),
}


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("changed, complaint", [
    (None, "nothing to resume: no samples in"),
    ({"cells": {}}, "nothing to resume: 1.jsonl is complete"),
    ({"cells": {"other": Cell(["x"])}}, "since the run began these have changed: cells"),
    ({"blocks": 5, "scale": 0.5}, "since the run began these have changed: blocks, scale"),
    ({}, "building began"),
])  # fmt: skip
def test_what_cannot_be_resumed_is_refused_before_anything_is_built(tmp_path, monkeypatch, verb, changed, complaint):
    def began(*_):
        raise LabError("building began")

    for step in ("variant", "benches", "tools"):
        monkeypatch.setattr(build.Builder, step, began)
    for place in ("RESULTS", "COMPARED"):
        monkeypatch.setattr(cli, place, tmp_path)
    monkeypatch.chdir(tmp_path)
    Path("x.toml").write_text(GOOD)
    Path("x.txt").write_text("bench_mixed_st {1000} 400 16 2048\n")
    argument, planned, folder = VERBS[verb]
    plans = []
    with pytest.raises(LabError, match="building began"):
        planned(plans.append)
    if changed is not None:
        Path(folder).mkdir()
        begun = replace(plans[0], **{"arms": {"who": Arm()}, "programs": {"x": "0"}, "missing": {"y": "?"}, **changed})
        Samples.create(Path(folder, "1.jsonl"), begun, machine.describe())
    found = CliRunner().invoke(cli.main, [verb, argument, "--blocks", "7", "--resume"]).exception
    assert isinstance(found, LabError) and complaint in str(found)


def test_a_plan_says_of_which_commit_it_is_and_whether_a_file_had_changed(tmp_path, monkeypatch):
    def git(*argv):
        who = ("-c", "user.name=x", "-c", "user.email=x")
        return subprocess.run(["git", "-C", tmp_path, *who, *argv], check=True, capture_output=True, text=True).stdout

    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    assert planning.commit(tmp_path) == ""
    git("init")
    (tmp_path / "file").touch()
    git("add", "file")
    git("commit", "-m", "x")
    git("tag", "v1")
    head = git("rev-parse", "HEAD").strip()
    assert planning.commit(tmp_path) == head
    (tmp_path / "file").write_text("changed")
    assert planning.commit(tmp_path) == f"{head}-dirty"
    monkeypatch.setenv("PATH", "")
    assert planning.commit(tmp_path) == ""


def test_a_place_that_cannot_be_written_to_is_an_error_in_words(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setattr(sys, "argv", ["hz3", "report", str(tmp_path / "file/report.html")])
    with pytest.raises(SystemExit, match=r"^hz3: .*file'$"):
        cli.run()


def test_an_interrupt_says_that_it_can_be_resumed_only_where_there_is_something(tmp_path, monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["hz3", "ab", str(tmp_path / "x.toml")])
    for module, verb, resumed in ((planning, "of_experiment", False), (session, "run", True)):
        with monkeypatch.context() as patch:
            plan = Plan("ab", "x", {}, {}, 1)
            patch.setattr(planning, "of_experiment", lambda *_, plan=plan: plan)
            patch.setattr(module, verb, interrupt)
            with pytest.raises(SystemExit, match="^130$"):
                cli.run()
        said = capsys.readouterr().err
        assert "hz3: interrupted" in said and ("--resume goes on" in said) == resumed


def test_every_verb_is_found_by_the_command():
    shown = subprocess.run([ROOT / "bin/hz3", "help"], capture_output=True, text=True, check=True).stdout
    for verb in cli.main.commands:
        assert f"\n  {verb} " in shown
        assert (ROOT / f"bin/hz3-{verb}").resolve() == ROOT / "lab/verb.sh"


def test_a_verb_without_stdout_ends_before_it_measures():
    closed = ["sh", "-c", 'exec "$@" >&-', "sh", ROOT / "bin/hz3", "ab", "--help"]
    done = subprocess.run(closed, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (1, "hz3: cannot write: stdout is closed\n")


def test_peers_that_cannot_be_had_are_named(tmp_path):
    (tmp_path / "build/peers").mkdir(parents=True)
    (tmp_path / "build/peers/peers.json").write_text(
        '[{"name": "glibc", "version": "0.1", "file": null, "env": {}, "status": "ok"},'
        ' {"name": "deleted", "version": "1", "file": "/none/x.so", "env": {}, "status": "ok"},'
        f' {{"name": "moody", "version": "1", "file": "{__file__}", "env": {{}}, "status": "ok", "mode": "caches on"}},'
        f' {{"name": "anew", "version": "1", "file": "{__file__}", "env": {{}}, "status": "ok", "sha256": "0"}},'
        ' {"name": "gone", "version": "1", "file": null, "env": {}, "status": "no compiler"}]'
    )

    class Builder:
        root, registry = tmp_path, registry.Registry((), {})

    found, missing = peers.arms(Builder())
    assert (found["moody"].mode, found["glibc"].mode) == ("caches on", "")
    assert found["glibc"].file is None and missing["gone"] == "no compiler" and "limit" in missing
    assert found["glibc"].version == platform.libc_ver()[1], "of the libc that runs, not of the list"
    assert missing["anew"] == f"{__file__} has changed: make peers"
    assert missing["deleted"] == "cannot read /none/x.so: No such file or directory: make peers"
    with pytest.raises(LabError, match="neither a lane nor a peer: nobody"):
        peers.arms(Builder(), ("nobody",))


def test_a_peer_that_does_not_take_is_named_and_hz3_has_to(tmp_path):
    def prove(name, arm, cell):
        if name != "good":
            raise LabError("it broke")

    taking, missing = planning._that_take({"good": Arm(), "bad": Arm()}, {"ugly": "not built"}, prove, print)
    assert (taking, missing) == ({"good": Arm()}, {"ugly": "not built", "bad": "it broke"})
    with pytest.raises(LabError, match="nothing to measure; it broke"):
        cli.reference_of(Plan("compare", "x", {}, {}, 1, missing={"bad": "it broke"}), None)
    with pytest.raises(LabError, match="it broke"):
        planning._that_take({"scale": Arm(config="version=1")}, {}, prove, print)


def test_any_library_may_be_compared(tmp_path):
    (tmp_path / "mine.so").write_bytes(b"\0hz3-config: version=1 lane=scale\0")

    class Builder:
        root, registry = tmp_path, registry.Registry((), {})

    found, missing = peers.arms(Builder(), (f"mine={tmp_path}/mine.so",))
    assert (found["mine"].file, found["mine"].config, missing) == ("mine.so", "version=1 lane=scale", {})
    with pytest.raises(LabError, match="the peers are not here yet"):
        peers.arms(Builder(), (f"mine={tmp_path}/mine.so", "glibc"))
    with pytest.raises(LabError, match="given twice: mine"):
        peers.arms(Builder(), (f"mine={tmp_path}/mine.so", "mine"))
    with pytest.raises(LabError, match="cannot read .*yours.so"):
        peers.arms(Builder(), ("yours=yours.so",))


@pytest.mark.parametrize("verb", [["peers"], ["compare", "true"], ["replay", "none.hz3trace"]])
def test_whom_nothing_is_compared_to_is_refused_before_anything_is_built(tmp_path, monkeypatch, verb):
    for step in ("variant", "benches", "tools"):
        monkeypatch.setattr(build.Builder, step, lambda *_: pytest.fail("building began"))
    monkeypatch.setattr(peers, "find", lambda: None)
    (tmp_path / "mine.so").write_bytes(b"")
    refused = CliRunner().invoke(cli.main, [*verb, "--only", f"mine={tmp_path}/mine.so", "--to", "nosuch"])
    assert str(refused.exception) == "--to: 'nosuch' is not compared (there are mine)"


def test_an_option_that_compare_lacks_is_no_program():
    refused = CliRunner().invoke(cli.main, ["compare", "--block", "3", "--", "true"])
    assert refused.exit_code == 2 and "No such option" in refused.output and "--block" in refused.output


@pytest.mark.parametrize("file", CELLS, ids=lambda file: file.stem)
def test_a_scale_multiplies_one_number_of_each_cell_that_has_any(file):
    for whole, half in zip(peers.cells(file).values(), peers.cells(file, 0.5).values(), strict=True):
        changed = [(one, other) for one, other in zip(whole.argv, half.argv, strict=True) if one != other]
        assert len(changed) == any(word.isdigit() for word in whole.argv)
        assert all(int(one) == 2 * int(other) for one, other in changed)


def test_cells_that_cannot_be_read_are_refused(tmp_path):
    file = tmp_path / "cells.txt"
    file.write_text("bench_x 'a\n")
    with pytest.raises(LabError, match="cells.txt: "):
        peers.cells(file)


def test_a_folder_that_is_there_is_not_packed_and_nothing_is_built_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(planning, "of_cells", lambda *_: pytest.fail("building began"))
    result = CliRunner().invoke(cli.main, ["pack", str(tmp_path), "cells.txt"])
    assert isinstance(result.exception, LabError) and "is there already" in str(result.exception)


def test_what_cannot_be_packed_is_named(tmp_path, monkeypatch):
    nobody = Plan("peers", "peers-x", {}, {}, 1, missing={"gone": "no compiler"})
    monkeypatch.setattr(planning, "of_cells", lambda file, only, *_: nobody if only == ("gone",) else None)
    argv = ["pack", str(tmp_path / "new"), "x.txt", "--only", "gone"]
    packed = CliRunner().invoke(cli.main, argv, catch_exceptions=False)
    assert re.search("gone .*cannot be had .*no compiler", packed.output)
    only = CliRunner().invoke(cli.main, ["pack", str(tmp_path / "other"), "x.toml", "--only", "scale"])
    assert "--only: experiments compare what they name" in str(only.exception)
    twice = CliRunner().invoke(cli.main, ["pack", str(tmp_path / "other"), "a/x.toml", "b/x.toml"])
    assert "two of the files have the same name" in str(twice.exception)


def test_an_experiment_of_counts_alone_is_not_packed_and_what_was_is_judged(tmp_path, monkeypatch):
    run = samples(table_of([{"instructions": 1.0}]), 1, [0])
    counted = replace(run.plan, cells={"counted": Cell(["bench", "{iters}"], "g", counted=True)})
    monkeypatch.setattr(planning, "of_experiment", lambda *_: counted)
    refused = CliRunner().invoke(cli.main, ["pack", str(tmp_path / "new"), "x.toml"])
    assert "x.toml: its gates ask for instructions alone" in str(refused.exception)
    run.plan = replace(run.plan, cells={})
    judged = summary.judged(run)
    assert (judged.most, judged.verdicts[0].word) == (0, "INCONCLUSIVE")


def test_the_report_makes_its_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "report", lambda folder, say: "all")
    CliRunner().invoke(cli.main, ["report", str(tmp_path / "build/report.html")], catch_exceptions=False)
    assert (tmp_path / "build/report.html").read_text() == "all"


def found(*runs, name="x1"):
    """Results that have these runs of one experiment."""
    return results.Results(index={}, experiments={name: [summary.judged(run) for run in runs]})


def test_the_ledger_says_what_was_found_and_what_was_not_run(tmp_path):
    (tmp_path / "x1.toml").write_text(GOOD)
    (tmp_path / "x2.toml").write_text(
        GOOD.replace('name = "x"', 'name = "y"') + '[original]\nsaid = "It lost."\n'
        'verdict = "NO-GO"\nfigures = [{ case = "T=2", variant = "one", change = -3 }]\n'
    )
    assert ledger.ledger(tmp_path, results.Results()).count("not yet run") == 2
    text = ledger.ledger(tmp_path, found(samples(table_of([{"at_least": 0.0}]), 1, [20])))
    assert "| [x](#x) | one | - | not yet run |" in text  # the run's variant has another name
    assert "variant: **GO**\n" in text and "A CPU, 4 CPUs" in text
    assert "| [y](#y) | one | NO-GO | not yet run |" in text and "It lost." in text


@pytest.mark.parametrize("changed", [
    {},
    {"baseline": {"lane": "fast"}},
    {"variants": [{"name": "variant", "lane": "r90"}]},
    {"cases": [{"name": "case 0", "group": "g", "command": "bench 2"}]},
    {"gates": [{"group": "g", "at_least": 1.0}]},
    {"figure": "peak_kib"},
    {"same_within": 3.0},
    {"why": "Nothing that verdicts depend on."},
])  # fmt: skip
def test_the_ledger_says_where_a_run_is_of_another_file_than_there_is(changed):
    table = table_of([{"at_least": 0.0}])
    run, now = samples(table, 1, [0]), experiment.from_table(table | changed)
    said = "\n".join(ledger.result(summary.judged(run), now))
    older = "**The file has changed since, or libraries kept their places in memory. Builds,"
    assert (older in said) == (changed.keys() not in (set(), {"why"}))
    run.plan = replace(run.plan, fresh=False)
    assert older in "\n".join(ledger.result(summary.judged(run), now))


def test_a_run_without_fresh_copies_is_another_build_and_rests_behind():
    table = table_of([{"at_least": 0.0}])
    old, now = samples(table, 1, [0], blocks=20), samples(table, 1, [0], blocks=7)
    old.plan = replace(old.plan, fresh=False)
    assert not now.plan.is_same_build(old.plan)
    assert not Plan.from_json({key: value for key, value in now.plan.to_json().items() if key != "fresh"}).fresh
    every = [summary.judged(run) for run in (old, now)]
    assert results.weightiest(every, experiment.from_table(table)) == [every[1]]


def test_each_run_has_a_fresh_copy_of_its_library(tmp_path):
    library, longer = tmp_path / "libx.so", tmp_path / "liblonger.so.2"
    library.write_bytes(b"bytes")
    longer.write_bytes(b"bytes")
    (tmp_path / "link").symlink_to(tmp_path)
    with (
        measure.fresh_copy(library, tmp_path / "link") as one,
        measure.fresh_copy(longer, tmp_path) as other,
    ):
        assert one and other and one.read_bytes() == other.read_bytes() == b"bytes"
        assert len({file.stat().st_ino for file in (library, longer, one, other)}) == 4
        assert one == one.resolve(), "what served is compared by its real path"
        assert one.parent.stat().st_mode & 0o777 == 0o755, "servers change their user"
        assert len(str(one)) == len(str(other)), "the length of LD_PRELOAD shifts the stack"
    assert not one.exists()
    with measure.fresh_copy(None, tmp_path) as none:
        assert none is None


def test_a_run_of_the_file_as_it_is_goes_before_a_heavier_one_of_another():
    table = table_of([{"at_least": 0.0}])
    old, elsewhere = (samples(table | {"same_within": 3.0}, 1, [0]) for _ in range(2))
    elsewhere.machine = {**elsewhere.machine, "cpu": "Another CPU"}
    now, trial = (samples(table, 1, [0], blocks=blocks) for blocks in (7, 6))
    every = [summary.judged(run) for run in (old, now, trial, elsewhere)]
    assert results.weightiest(every, experiment.from_table(table)) == [every[1]]
    every[1] = every[1].brief()  # a run that was not kept in full cannot be shown
    assert results.weightiest(every, experiment.from_table(table)) == [every[2]]
    every[2] = every[2].brief()
    assert results.weightiest(every, experiment.from_table(table)) == [every[0], every[3]]


def test_what_is_not_shown_in_full_has_a_line_with_its_verdict(tmp_path, monkeypatch):
    table = table_of([{"at_least": 0.0}])
    runs = {
        "20260101T000000Z": samples(table | {"gates": [{"group": "g", "at_least": 30.0}]}, 1, [20]),
        "20260102T000000Z": samples(table, 2, [20]),
        "20260103T000000Z": samples(table, 3, [20], blocks=2),
    }
    (tmp_path / "x.toml").write_text(GOOD)
    for name, run in runs.items():
        run.path = Path(f"results/x/{name}.jsonl.zst")
    monkeypatch.setattr(ledger, "read", lambda file: experiment.from_table(table))
    known = found(*runs.values(), name="x")
    known.index = {"x/20260101T000000Z": {"history": "abc:x.jsonl"}}
    shown, others = ledger.ledger(tmp_path, known).split("\nEvery other complete run, each by the file of its day:\n\n")
    assert "\n2026-01-02, A CPU, 4 CPUs, Linux 6.1; 20 blocks, 1 of" in shown and "variant: **GO**" in shown
    assert "| GO | 1 of 3 |" in shown
    where = "every sample: `git show abc:x.jsonl`", "[every sample](../../results/x/20260103T000000Z.jsonl.zst)"
    assert others.splitlines()[:3] == [
        f"- {day}, A CPU, 4 CPUs, Linux 6.1; {blocks} blocks, 1 of the iterations; {at}. variant: {word}"
        for day, blocks, at, word in (
            ("2026-01-01", 20, where[0], "NO-GO"),
            ("2026-01-03", 2, where[1], "INCONCLUSIVE"),
        )
    ] + [""]


def test_a_trial_replaces_nothing_that_is_published():
    first, trial, later, rebooted = (samples(table_of([]), seed, [0], blocks=6) for seed in range(4))
    trial.plan = replace(trial.plan, scale=0.1)
    rebooted.machine = {**rebooted.machine, "kernel": "6.2"}
    every = [summary.judged(run) for run in (first, trial, rebooted, later)]
    assert results.weightiest(every[:3], None) == [every[0], every[2]]
    assert results.weightiest(every, None) == [every[3], every[2]]
    grown = replace(every[0], most=160)
    assert results.weightiest([grown, *every[1:]], None) == [grown, every[2]], "by the blocks that it has by now"


@pytest.mark.parametrize("changed, counts", [
    ({}, True),
    ({"scale": 0.1, "blocks": 5}, True),  # shorter than what it replaces, but newer
    ({"arms": {"again": Arm()}}, False),
    ({"arms": {name: Arm() for name in peers.PUBLISHED - {"snmalloc"}}}, False),
    ({"arms": {name: Arm() for name in peers.PUBLISHED - {"snmalloc"}}, "missing": {"snmalloc": "no compiler"}}, True),
    ({"arms": {name: Arm() for name in peers.PUBLISHED - {"r90"}}}, False),
    ({"scale": 0.09, "blocks": 5}, False),
    ({"blocks": 1}, False),
])  # fmt: skip
def test_a_comparison_that_is_no_whole_one_replaces_nothing_that_is_published(tmp_path, changed, counts):
    plan = Plan("peers", "peers-x", {name: Arm() for name in peers.PUBLISHED}, {}, 7)
    known = results.Results(tmp_path)
    runs = [
        Samples.create(tmp_path / name, plan, MACHINE) for name, plan in (("1", plan), ("2", replace(plan, **changed)))
    ]
    for run in runs:
        known.add(run)
    assert known.comparisons == [runs[counts]] and len(known.index) == 2


def test_those_who_are_published_are_lanes_and_peers_that_there_are():
    named = {row["name"] for row in tomllib.loads((ROOT / "peers/peers.toml").read_text())["peer"]}
    assert set(readme.LANES) <= peers.PUBLISHED <= named | set(registry.read().lanes)
    left_out = named - peers.PUBLISHED
    assert set(peers.older([])) == left_out
    for name in left_out:  # each has a newer version
        assert any(name < peer and name.rpartition("-")[0] == peer.rpartition("-")[0] for peer in peers.PUBLISHED)


def test_the_ledger_says_how_many_blocks_would_settle_what_is_open():
    noisy = judge.judge(samples(table_of([{"at_least": 0.0}]), 4, [5], noise=0.2))[0].findings
    open_, settled = (next(f for f in noisy if f.verdict == word) for word in ("INCONCLUSIVE", "SAME"))
    assert re.search(r"\]; max/min 3\.\d\d; (about|over) \d+ blocks$", ledger.cell(open_))
    assert ledger.cell(settled).endswith("]")
    moody = judge.judge(samples(table_of([{"at_least": 0.0}]), 3, [20], mood=0.5))[0].findings[0]
    assert re.search(r"^BETTER .*\]; max/min \d\.\d\d$", ledger.cell(moody))


def test_the_ledger_names_the_cases_whose_runs_are_too_short():
    table = table_of([{"at_least": 0.0}], cases=3)
    run = samples(table, 1, [0, 0, 0])
    for case, seconds in (("case 0", 0.004), ("case 1", 0.15), ("case 2", 0.31)):
        for figures in (figures for block in run.blocks(case, "ab") for figures in block.values()):
            figures["seconds"] = seconds
    said = ledger.result(summary.judged(run), experiment.from_table(table))
    assert "No time decides, since the median run took less than 0.3 s: case 0 (0.004 s), case 1 (0.15 s)." in said


def test_the_ledger_names_the_blocks_that_the_host_spoilt_at_each_attempt():
    table = table_of([{"at_least": 0.0}], cases=2)
    run, asked = samples(table, 1, [0, 0]), experiment.from_table(table)
    assert "host" not in "\n".join(ledger.result(summary.judged(run), asked))
    round_ = Round("ab", 3, "case 1")
    run.attempts[round_] *= 3
    run.spoilt |= {(round_, attempt) for attempt in range(3)}
    now = summary.judged(run)
    for kept in (now, summary.judged_from_json(now.path, now.machine, summary.judged_to_json(now))):
        said = "The host spoilt each attempt at these blocks, which decide nothing: 1 of case 1."
        assert said in ledger.result(kept, asked)


def test_a_machine_s_name_says_which_huge_pages_it_makes():
    assert machine.name(MACHINE) == "A CPU, 4 CPUs"
    assert machine.name(MACHINE | {"thp": "always [madvise] never"}) == "A CPU, 4 CPUs, huge pages madvise"


def test_the_ledger_says_where_a_run_began_on_a_busy_machine():
    run = samples(table_of([{"at_least": 0.0}]), 1, [0])
    assert "load" not in ledger.measured_as(summary.judged(run))  # 0.1 of 4 processors
    run.machine = run.machine | {"load": 2.1}
    assert "of the iterations, load when it began 2.1; " in ledger.measured_as(summary.judged(run))


def test_words_of_a_line():
    assert words('a=1 q="two words" b=x=y') == {"a": "1", "q": "two words", "b": "x=y"}


def test_no_experiment_is_given(tmp_path):
    with pytest.raises(LabError, match="No such file"):
        experiment.read(Path(tmp_path / "none.toml"))


def test_the_ledger_tells_the_change_of_touched_and_of_untouched_objects_apart(tmp_path):
    table = table_of([{"mean": 0.0}], cases=4)
    for case, touch in zip(table["cases"], ("ends", "ends", "none", "none"), strict=True):
        case["name"] += f" touch {touch}"
    run = summary.judged(samples(table, 1, [20, -5, 300, 300], noise=0.0001, memory=0.5))
    kept = summary.judged_from_json(run.path, run.machine, summary.judged_to_json(run))
    for one in (run, kept):
        assert ledger.by_touch([one], "variant", "ends") == "speed +6.8 %, peak +100.0 %"
        assert ledger.by_touch([one], "variant", "none") == "speed +300.0 %, peak +100.0 %"
        assert ledger.by_touch([one], "variant", "all") == "-"
        assert ledger.by_touch([one], "added since", "ends") == "-"


ROWS_WITH_BOTH = ("s44", "s121-page-local", "s44-3-fastpop", "s48-spill", "s97-1-bucket", "s112-full-drain",
                  "s146b-overflow-batch")  # fmt: skip


@pytest.mark.parametrize("name", ROWS_WITH_BOTH)
def test_in_rows_about_lists_touched_objects_decide_and_both_are_told(name):
    asked = experiment.read(ROOT / f"experiments/{name}.toml")
    untouched = [case for case in asked.timed() if case.name.endswith(" touch none")]
    names = {case.name for case in asked.cases}
    assert untouched and all(case.name.replace("none", "ends") in names for case in untouched)
    judged = {gate.group for gate in asked.gates}
    for case in asked.cases:
        word = case.name.rpartition(" touch ")[2] if " touch " in case.name else "ends"
        assert f"--touch {word}" in case.command or case.program == "bench_only_free"  # which writes seals
        assert (case.group in judged) == (word == "ends")


@pytest.mark.parametrize("file", [f for f in EXPERIMENTS if f.stem != "s146-statistics"], ids=lambda file: file.stem)
def test_where_32_threads_free_remotely_what_is_live_is_bounded_and_the_margin_is_wide(file):
    asked = experiment.read(file)
    for case in (c for c in asked.timed() if c.command.startswith("bench_random_mixed_mt_remote_malloc 32 ")):
        remote = int(case.command.split()[6])
        assert asked.margin(case.name) == 5.0 and (not remote or "--matched" in case.command)


def test_what_is_only_counted_is_not_timed_and_a_plan_has_a_cell_for_it(tmp_path, monkeypatch):
    asked = experiment.read(ROOT / "experiments/s121-page-local.toml")
    assert [case.name for case in asked.counted()] == ["T=1 R=0"]
    assert not {case.name for case in asked.timed()} & {"T=1 R=0"}
    both = experiment.from_table(table_of([{"instructions": 1.0}, {"figure": "peak_kib", "mean": -10.0}]))
    assert both.timed() == both.counted() == list(both.cases)
    cells = {"t": Cell(["b"], "g"), "c": Cell(["b", "{iters}"], "g", counted=True)}
    plan = Plan("ab", "x", dict.fromkeys(("baseline", "baseline's copy", "variant"), Arm()), cells, 8, 1, 6)
    rounds = list(session.rounds(plan))
    counted = [(round_.phase, sorted(arms)) for round_, arms in rounds if round_.cell == "c"]
    assert counted == [("ab", ["baseline", "variant"])] * 3
    assert sum(round_.cell == "t" for round_, _ in rounds) == 1 + 6 + 8
    assert cells["c"].argv_of(50) == ["b", "50"]


@pytest.mark.parametrize("gate, complaint", [
    ("mean = -100.0", "worse by 100 %"),
    ("mean = 0.0\nshare = 1.5", "above 0 and at most 1"),
    ("at_least = 0.0\nshare = 0.5", "share goes with mean"),
    ("instructions = -1.0", "at least 0"),
    ('at_least = 0.0\nper = "ops"', "per goes with above and below"),
    ('mean = 0.0\nper = "ops"', "per goes with above and below"),
    ("mean = 0.0\nwins = 1", "needs exactly one of mean, at_least,"),
])  # fmt: skip
def test_a_gate_that_means_nothing_is_refused(tmp_path, gate, complaint):
    file = tmp_path / "x.toml"
    file.write_text(GOOD.partition("[[gates]]")[0] + f'[[gates]]\ngroup = "g2"\n{gate}\n')
    asked = experiment.read(file)
    with pytest.raises(LabError, match=complaint):
        experiment.check(asked, registry.read(), ROOT)


def test_variants_may_differ_in_their_options_alone(tmp_path):
    file, known = tmp_path / "x.toml", registry.read()
    file.write_text(re.sub(r"flags = {.*}", 'env = { HZ3_THREAD_CACHE = "1M" }', GOOD))
    experiment.check(experiment.read(file), known, ROOT)
    file.write_text(re.sub(r"flags = {.*}", "env = { HZ3_THREAD_CACHE = 1 }", GOOD))
    with pytest.raises(LabError, match="what env holds is text"):
        experiment.check(experiment.read(file), known, ROOT)


class Sweep:
    """`hz3 ledger --until`, with simulated builds and runs."""

    def __init__(self, tmp_path, monkeypatch, seconds):
        self.folder, self.measured = tmp_path / "results", 0
        (tmp_path / "experiments").mkdir()
        (tmp_path / "docs/results").mkdir(parents=True)
        (tmp_path / "experiments/x.toml").write_text(GOOD)
        facts = {**MACHINE, "cores": 4, "sockets": 1, "last_level_caches": 1, "governor": "none"}
        for name, value in (("RESULTS", self.folder), ("ROOT", tmp_path)):
            monkeypatch.setattr(cli, name, value)
        monkeypatch.setattr(results, "EXPERIMENTS", tmp_path / "experiments")
        monkeypatch.setattr(machine, "describe", lambda: facts)
        monkeypatch.setattr(machine, "stolen_since", lambda before, now: 0.0)
        monkeypatch.setattr(planning, "of_experiment", self.plan)
        monkeypatch.setattr(measure, "Bench", lambda programs: self.take)
        clock = iter(range(10**9))
        monkeypatch.setattr(session.time, "monotonic", lambda: seconds * next(clock))
        monkeypatch.setattr(ledger, "read", lambda file: experiment.from_table(table_of([{"mean": 0.0}])))

    def plan(self, file, scale, blocks, say, check=None, until=""):
        table, cells = table_of([{"mean": 0.0}]), {"case 0": Cell(["bench"], "g")}
        arms = {name: Arm(sha256=name) for name in ("baseline", "baseline's copy", "variant")}
        return Plan("ab", "synthetic", arms, cells, blocks, 1, 6, scale, experiment=table, until=until)

    def take(self, name, arm, cell):
        self.measured += 1
        speed = (1.2 if name == "variant" else 1.0) * (1 + self.measured % 7 / 100)
        return {"seconds": 1.0, "ops_per_s": 1e6 * speed, "peak_kib": 5.0, "end_kib": 5.0}

    def run(self, minutes):
        said = CliRunner().invoke(cli.main, ["ledger", "--until", "decided", "--minutes", str(minutes)])
        return said.output


def test_one_command_runs_each_row_until_it_is_decided_and_the_next_goes_on(tmp_path, monkeypatch):
    sweep = Sweep(tmp_path, monkeypatch, 0.1)
    said = sweep.run(10)
    assert "x, 10 blocks in" in said and "variant: GO" in said and sweep.measured == 3 + 12 + 30
    assert "**GO**" in (tmp_path / "docs/results/verdicts.md").read_text()
    assert sweep.run(10) and sweep.measured == 45, "it is decided"
    assert len(results.Results.read(sweep.folder).index) == 1


def test_a_row_whose_time_is_up_says_so_and_more_time_goes_on_where_it_was(tmp_path, monkeypatch):
    sweep = Sweep(tmp_path, monkeypatch, 1.0)
    said = sweep.run(1)
    assert "the time is up before its blocks are complete" in said.replace("\n", " ")
    before = sweep.measured
    assert 0 < before < 45
    assert "variant: GO" in sweep.run(60) and sweep.measured <= 45 + 3, "only a round that was cut off is repeated"
    assert sweep.run(1) and sweep.measured <= 45 + 3


def test_a_look_that_was_begun_is_ended_though_the_host_slows_down(tmp_path, monkeypatch):
    sweep, now = Sweep(tmp_path, monkeypatch, 1.0), itertools.count()

    def noisy(name, arm, cell):
        figures = sweep.take(name, arm, cell)
        for _ in range(100 if sweep.measured > 45 else 1):
            next(now)
        return figures | {"ops_per_s": 1e6 * (1.02 if name == "variant" else 1.0) * (1 + sweep.measured * 5 % 7 / 20)}

    monkeypatch.setattr(measure, "Bench", lambda programs: noisy)
    monkeypatch.setattr(session.time, "monotonic", lambda: float(next(now)))
    said = sweep.run(10)
    assert "the time is up" not in said.replace("\n", " ") and sweep.measured > 45, said
    assert len(results.Results.read(sweep.folder).index) == 1


@pytest.mark.parametrize("argv, complaint", [
    (["ledger", "--only", "s44"], "--only: only with --until"),
    (["ledger", "--only", "s44", "--scale", "1.0"], "--only, --scale: only with --until"),
    (["peers", "--resume"], "--resume: only with CELLS"),
    (["peers", "--scale", "0.5", "--blocks", "7"], "--scale, --blocks: only with CELLS"),
])  # fmt: skip
def test_options_that_would_do_nothing_are_refused(monkeypatch, argv, complaint):
    monkeypatch.setattr(results, "renew", lambda *_: pytest.fail("the ledger was made"))
    monkeypatch.setattr(planning, "of_cells", lambda *_: pytest.fail("building began"))
    said = CliRunner().invoke(cli.main, argv)
    assert said.exit_code == 2 and complaint in said.output


def test_a_sweep_needs_its_time_and_names_that_there_are():
    for argv, complaint in ((["--until", "decided"], "need each other"), (["--minutes", "5"], "need each other")):
        said = CliRunner().invoke(cli.main, ["ledger", *argv])
        assert said.exit_code == 2 and complaint in said.output
    said = CliRunner().invoke(cli.main, ["ledger", "--until", "decided", "--minutes", "5", "--only", "nobody"])
    assert str(said.exception) == "there is no experiment 'nobody'"
