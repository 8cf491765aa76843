"""What the lab refuses to count, and what it keeps.  The benchmark is a script here, and a library a file with a
config."""

import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import time
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from synthetic import MACHINE, experiment

from lab import (
    ROOT,
    LabError,
    NotServed,
    Unfit,
    archive,
    build,
    cli,
    comparison,
    judge,
    ledger,
    measure,
    pack,
    plan,
    results,
    session,
    show,
    versus,
)
from lab.plan import BASELINE, COPY, Cell, Plan, library_arm
from lab.samples import Samples, alone, new_path, of_same_build

CONFIG = "hz3-config: version=1 lane=scale HZ3_X={}"
LINE = (
    'echo "bench=fake ops_per_s=$RANDOM.5 peak_kib=10 end_kib=9 alloc=x alloc_path=\\"$LD_PRELOAD\\" config=\\"{}\\""\n'
)


class Laboratory:
    def __init__(self, root: Path):
        self.root, self.programs = root, {}
        (root / "out").mkdir(parents=True)
        self.program(LINE.format('$(strings -a "$LD_PRELOAD" | grep hz3-config)'))
        arms = {name: self.library(i) for i, name in ((0, BASELINE), (0, COPY), (1, "variant"))}
        cells = {name: Cell(["fake"], "g") for name in ("one", "two")}
        self.plan = Plan("ab", "fake", arms, cells, 6, 1, 6, experiment=experiment([{"at_least": 0.0}]))
        self.path = root / "samples.jsonl"
        self.measure = measure.Bench(self.programs, root)

    def program(self, text: str) -> None:
        file = self.root / "out/fake"
        file.write_text("#!/bin/bash\n" + text)
        file.chmod(0o755)
        self.programs["fake"] = plan.digest(file)

    def library(self, value: int) -> plan.Arm:
        file = self.root / f"{len(list(self.root.iterdir()))}.so"
        file.write_bytes(b"\0" + CONFIG.format(value).encode() + b"\0")
        return library_arm(file, self.root)

    def run(self, progress=lambda round_, arm: None) -> Samples:
        samples = Samples.create(self.path, self.plan, {})
        session.run(samples, self.measure, progress)
        return samples

    def refuses(self, complaint: str, tamper=lambda round_, arm: None) -> None:
        """Checks that the run ends with this message, and that its samples allow no verdict."""
        with pytest.raises(LabError, match=complaint):
            self.run(tamper)
        if self.path.exists():
            with pytest.raises(LabError, match="no verdict"):
                judge.judge(Samples.load(self.path))


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setattr(session.machine, "stolen_since", lambda before, now: 0.0)  # whatever happens here
    return Laboratory(tmp_path / "lab")


def nth(number: int, action):
    """Calls `action` before the n-th run."""
    calls = iter(range(1, 10_000))
    return lambda round_, arm: action() if next(calls) == number else None


def test_every_round_is_paired_and_kept(lab):
    samples = lab.run()
    lines = [json.loads(line) for line in lab.path.read_text().splitlines()]
    assert lines[0]["kind"] == "plan" and len(lines) == 1 + 2 * (3 + 6 * 2 + 6 * 3)
    assert Samples.load(lab.path).attempts == samples.attempts
    assert not session.remaining(samples)
    for i in range(1 + 2 * (3 + 6 * 2), len(lines), 3):  # a round's runs are in sequence
        assert len({(line["block"], line["cell"]) for line in lines[i : i + 3]}) == 1
        assert {line["arm"] for line in lines[i : i + 3]} == {BASELINE, COPY, "variant"}


def test_the_order_is_random_between_the_baselines_two_copies_and_the_seed_repeats_it(lab):
    plan = replace(lab.plan, arms={**lab.plan.arms, "other": lab.plan.arms["variant"]})
    orders = [tuple(arms) for _, arms in session.rounds(plan)]
    assert orders == [tuple(arms) for _, arms in session.rounds(plan)]
    assert {order[1:-1] for order in orders} == {(), ("variant", "other"), ("other", "variant")}
    for ends in {(order[0], order[-1]) for order in orders}, {order for order in orders if len(order) == 2}:
        assert ends == {(BASELINE, COPY), (COPY, BASELINE)}


def test_a_swapped_library_is_refused(lab):
    file = lab.root / lab.plan.arms["variant"].file
    lab.refuses("no longer the library", nth(20, lambda: file.write_bytes(file.read_bytes() + b"x")))


@pytest.mark.parametrize("tamper", [lambda file: file.write_text(f"{file.read_text()}#\n"), Path.unlink])
@pytest.mark.parametrize("kind", ["ab", "peers"])
def test_a_program_that_is_built_anew_is_refused_and_no_peer_is_blamed(lab, kind, tamper):
    if kind == "peers":
        lab.plan = replace(lab.plan, kind=kind, arms={"peer": replace(lab.plan.arms[COPY], config="")}, aa_blocks=0)
        lab.program(LINE.format(""))
    lab.refuses("out/fake is no longer the program", nth(5, lambda: tamper(lab.root / "out/fake")))
    assert not Samples.load(lab.path).unable


def test_a_copy_is_not_written_to_while_processes_may_run_on_it(lab):
    builder = build.Builder(None, lab.root)
    first = builder.copy(lab.plan.arms[BASELINE])
    file = lab.root / first.file
    with file.open("rb") as mapped:
        builder.copy(lab.plan.arms[BASELINE])
        assert os.path.samestat(os.fstat(mapped.fileno()), file.stat())
        file.write_bytes(b"cut off")
        assert builder.copy(lab.plan.arms[BASELINE]) == first
        assert mapped.read() == b"cut off" and os.listdir(file.parent) == [file.name]


def test_another_library_that_serves_is_refused(lab):
    other = lab.root / lab.plan.arms[COPY].file
    lab.program(f"LD_PRELOAD={other}\n" + LINE.format(CONFIG.format(0)))
    lab.refuses("served malloc")


def test_libc_is_recognised_and_nothing_else_is_taken_for_it():
    measure.check_server("glibc", plan.Arm(), None, "/lib/libc.so.6", "")
    with pytest.raises(LabError, match="served malloc"):
        measure.check_server("glibc", plan.Arm(), None, "/lib/libjemalloc.so.2", "")


def test_a_config_of_somebody_else_is_not_ours():
    measure.check_server("limit", plan.Arm(), None, "/lib/libc.so.6", "limit-config: nothing shared")
    with pytest.raises(LabError, match="did not take"):
        measure.check_server("glibc", plan.Arm(), None, "/lib/libc.so.6", CONFIG.format(1))


def test_a_flag_that_did_not_take_is_refused(lab):
    lab.program(LINE.format(CONFIG.format(0)))
    lab.refuses("a flag did not take: built as '.*HZ3_X=1', but the process had '.*HZ3_X=0'")


@pytest.mark.parametrize("said", ["unknown option HZ3_HEAP=4", "bad value for HZ3_HEAPS: x (it takes 1 to 63)"])
def test_an_option_that_did_not_take_is_refused(lab, said):
    lab.program(f"echo 'hz3: warning: {said}' >&2\n" + LINE.format('$(strings -a "$LD_PRELOAD" | grep hz3-config)'))
    with pytest.raises(NotServed, match=re.escape(f"an option did not take: {said}")):
        lab.run()
    lab.path.unlink()
    lab.program("echo hz3: warning: no statistics >&2\n" + LINE.format('$(strings -a "$LD_PRELOAD" | grep hz3-config)'))
    lab.run()


@pytest.mark.parametrize("gates, complaint", [
    ([{"at_least": 0.0}], None),
    ([{"figure": "ratio_of_it", "above": 1.0}], "variant: ratio_of_it is None"),
    ([{"figure": "peak_kib", "below": 99.0, "per": "calls"}], "variant: calls is None"),
    ([{"figure": "waste_ratio", "mean": 0.0}], "baseline: waste_ratio is None"),
])  # fmt: skip
def test_a_figure_that_is_judged_and_not_printed_ends_the_run_after_the_warm_up(
    lab, tmp_path, monkeypatch, gates, complaint
):
    monkeypatch.setattr(cli.machine, "describe", lambda: MACHINE | {"cores": 4, "sockets": 1, "last_level_caches": 1,
                                                                    "governor": "none"})  # fmt: skip
    lab.plan, taken = replace(lab.plan, experiment=experiment(gates)), []

    def take(*of):
        taken.append(of)
        return lab.measure(*of)

    if complaint:
        with pytest.raises(LabError, match=complaint):
            cli.conduct(lab.plan, tmp_path / "results/fake", False, take)
        assert len(taken) == 2 * 3
    else:
        assert not cli.conduct(lab.plan, tmp_path / "results/fake", False, take).void


def test_a_killed_child_is_refused(lab):
    lab.refuses("was killed by SIGKILL", nth(30, lambda: lab.program("kill -9 $$\n")))


def test_a_failing_child_is_refused_with_what_it_said(lab):
    lab.program("echo no memory >&2; exit 3\n")
    lab.refuses("(?s)ended with status 3: .*no memory")


@pytest.mark.parametrize("text", ["", "echo a=1; echo b=2\n", "echo ops_per_s=1\n"])
def test_a_child_without_a_whole_result_is_refused(lab, text):
    lab.program(text)
    lab.refuses("not one line|does not say who served")


def test_a_hanging_child_is_refused(lab, monkeypatch):
    monkeypatch.setattr(measure, "TIMEOUT", 0.2)
    lab.program("sleep 60\n")
    lab.refuses("still running")


def test_a_full_disk_is_refused(lab, monkeypatch):
    created = []
    create = Samples.create

    def keep(*args):
        created.append(create(*args))
        return created[0]

    def fill():
        created[0].path = Path("/dev/full")

    monkeypatch.setattr(Samples, "create", keep)
    lab.refuses("No space left on device; no verdict", nth(25, fill))


def test_a_disk_full_from_the_start_is_refused(lab):
    with pytest.raises(LabError, match="No space left on device"):
        Samples.create(Path("/dev/full"), lab.plan, {})


def test_a_file_of_which_not_even_the_plan_could_be_written_does_not_stay(lab):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    path = new_path(lab.root)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(LabError, match="File too large; no verdict"):
            Samples.create(path, lab.plan, {})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(lab.root.glob("*.jsonl"))


def test_two_that_begin_in_the_same_second_do_not_share_a_file(lab):
    with pytest.raises(LabError, match="another run began in the same second"):
        for _ in range(100):  # at least two begin in the same second
            new_path(lab.root)


def test_two_that_resume_the_same_run_do_not_mix_their_samples(lab):
    with alone(lab.path), pytest.raises(LabError, match="is being measured already"), alone(lab.path):
        pytest.fail("both are alone")
    with alone(lab.path):  # the first has ended
        pass


def interrupt():
    raise KeyboardInterrupt


def test_what_was_interrupted_resumes_where_it_was(lab):
    with pytest.raises(KeyboardInterrupt):
        lab.run(nth(28, interrupt))  # 27 runs were made: 13 rounds, and one run of the next
    before = lab.path.read_text()
    with lab.path.open("a") as file:
        file.write('{"kind": "sample", "phase": "ab", "blo')  # and a crash cut off the last line
    samples = Samples.load(lab.path)
    samples.resume({})
    measured = []
    session.run(samples, lab.measure, lambda round_, arm: measured.append((round_, arm)))
    assert lab.path.read_text().startswith(before)
    assert not session.remaining(Samples.load(lab.path))
    assert len(measured) == 2 * (3 + 6 * 2 + 6 * 3) - 27 + 1  # the interrupted round is repeated whole
    torn = measured[0][0]
    assert len(samples.attempts[torn]) == 2 and len(samples.complete(torn)) == len(
        lab.plan.arms_of(torn.phase, torn.cell)
    )


def test_names_that_look_like_markup_are_shown_as_they_are(lab, capsys):
    lab.plan = replace(lab.plan, kind="compare", cells={"sh -c [/red] :100:": Cell(["fake"])}, aa_blocks=0, blocks=1)
    samples = Samples.create(lab.path, lab.plan, {})
    with show.Watch(samples) as watch:
        session.run(samples, lab.measure, watch)
    show.comparison(samples, BASELINE)
    assert "sh -c [/red] :100:" in capsys.readouterr().out


@pytest.mark.parametrize("seconds, warned", [((0.1, 0.25, 5.0), True), ((0.1, 0.35, 0.35), False)])
def test_runs_that_are_too_short_are_warned_of(lab, capsys, seconds, warned):
    samples = lab.run()
    capsys.readouterr()
    for block in samples.blocks("one", "ab"):
        for figures, took in zip(block.values(), seconds, strict=True):
            figures["seconds"] = took
    show.verdicts(samples, judge.judge(samples))
    said = capsys.readouterr().out
    short = "one: the median run measured 0.25 s; less than 0.3 s is mostly noise"
    assert (short in said) == warned and "two: " not in said


def test_a_slow_program_has_a_speed_too():
    assert [show.human("ops_per_s", value) for value in (1368.0, 2.5e6)] == ["1368 /s", "2.50 M/s"]


def test_another_plan_cannot_be_resumed(lab):
    changed = Plan.from_json({**lab.plan.to_json(), "blocks": 7, "seed": 99})
    with pytest.raises(LabError, match="have changed: blocks"):
        changed.check_same_as(lab.plan)
    Plan.from_json({**lab.plan.to_json(), "seed": 99, "commit": "x"}).check_same_as(lab.plan)


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def check_that_all_have_ended(pids):
    deadline = time.monotonic() + 5  # a signal takes some time to arrive
    while (alive := [pid for pid in pids.read_text().split() if is_running(pid)]) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not alive


def test_an_interrupt_ends_the_child_and_all_it_started(tmp_path):
    signal.signal(signal.SIGALRM, lambda *_: interrupt())
    pids = tmp_path / "pids"
    with pytest.raises(KeyboardInterrupt):
        measure.execute(["sh", "-c", f"sleep 60 & echo $! $$ >{pids}; sleep 0.5; kill -ALRM $PPID; wait"], {}, "test")
    check_that_all_have_ended(pids)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_who_ends_the_lab_ends_the_child_too(tmp_path, number):
    pids = tmp_path / "pids"
    child = f"sleep 60 & echo $! $$ >{pids}; sleep 0.5; kill -{number.value} $PPID; wait"
    program = (
        "import signal\n"
        "from lab import measure\n"
        f"signal.signal({number.value}, signal.SIG_DFL)\n"  # this test may run under nohup
        "measure.interrupt_on_every_end()\n"
        f"measure.execute(['sh', '-c', {child!r}], {{}}, 'test')"
    )
    lab = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=30)
    assert lab.returncode and "KeyboardInterrupt" in lab.stderr
    check_that_all_have_ended(pids)


def test_after_nohup_a_terminal_may_go():
    program = "from lab import measure\nmeasure.interrupt_on_every_end()\nimport os\nos.kill(os.getpid(), 1)"
    done = subprocess.run(["nohup", sys.executable, "-c", program], cwd=ROOT, capture_output=True, timeout=30)
    assert done.returncode == 0


def test_what_is_no_file_of_samples_is_an_error(tmp_path):
    file = tmp_path / "x.jsonl"
    for text in ("", "[]\n", '{"kind": "plan"}\n', '{"plan": {"arms": [], "cells": {}}, "machine": {}}\n'):
        file.write_text(text)
        with pytest.raises(LabError, match="not a file of samples"):
            Samples.load(file)


def test_observation_boxes_are_read_from_stderr():
    said = (
        "[HZ3_S96] push_calls=36000000 cas_retry_total=730 push_one: push_calls=5\nother\n"
        "[HZ3_S44_4] want_32_pct=100.0% text=none\n"
    )
    assert measure.observed(said) == {
        "HZ3_S96.push_calls": 36e6,
        "HZ3_S96.cas_retry_total": 730,
        "HZ3_S96.push_one.push_calls": 5,
        "HZ3_S44_4.want_32_pct": 100,
        "HZ3_S44_4.text": "none",
    }


def test_a_peer_that_fails_is_named_and_hz3_must_not_fail(lab):
    peer = replace(lab.library(2), config="")
    lab.plan = replace(lab.plan, kind="peers", arms={"scale": lab.plan.arms[BASELINE], "peer": peer}, aa_blocks=0)
    fails = "grep -q HZ3_X=2 $LD_PRELOAD && { echo it broke >&2; exit 7; }\n"
    whole = LINE.format("$(grep -q HZ3_X=2 $LD_PRELOAD || strings -a $LD_PRELOAD | grep hz3-config)")
    lab.program(whole)
    samples = lab.run(nth(12, lambda: lab.program(fails + whole)))
    assert samples.unable.keys() == {("one", "peer"), ("two", "peer")}
    assert "status 7" in samples.unable["one", "peer"] and "it broke" in samples.unable["one", "peer"]
    again = Samples.load(lab.path)
    assert again.unable == samples.unable and not session.remaining(again)
    assert all(set(block) == {"scale"} for block in again.blocks("one", "ab")) and len(again.blocks("one", "ab")) == 6
    assert list(versus.compare(again, "one", "ops_per_s", "peer")) == ["scale"]
    lab.program("exit 7\n")
    lab.path.unlink()
    with pytest.raises(LabError, match="status 7"):
        lab.run()


def test_a_cell_in_which_nobody_gives_a_result_is_done_and_says_so(lab, capsys):
    lab.program("exit 7\n")
    peer = replace(lab.plan.arms[BASELINE], config="")
    lab.plan = replace(lab.plan, kind="peers", arms={"peer": peer}, aa_blocks=0)
    samples = lab.run()
    assert not session.remaining(samples) and not comparison.Comparison(samples).cells
    show.comparison(samples, "peer")
    assert capsys.readouterr().out.count("no result of peer in ") == 2


def run_packed(folder: Path, *words) -> subprocess.CompletedProcess:
    """Runs the packed folder with a Python that has only its standard library."""
    command = ["/usr/bin/env", "-i", "PATH=/usr/bin:/bin", sys.executable, "-I", "-S", folder / "run.py", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_every_line_proves_the_mode(lab):
    lab.program(LINE.format('$(strings -a "$LD_PRELOAD" | grep hz3-config)').replace("=fake", "=fake mode=$BENCH_MODE"))
    arm = replace(lab.plan.arms[BASELINE], mode="caches on")
    for said in ("on", "off"):
        env = {"BENCH_MODE": said}
        assert lab.measure("x", replace(arm, mode=f"caches {said}", env=env), Cell(["fake"]))["mode"] == said
    with pytest.raises(LabError, match="x: make peers found 'caches on', the process that was measured says off"):
        lab.measure("x", replace(arm, env=env), Cell(["fake"]))
    lab.program(LINE.format('$(strings -a "$LD_PRELOAD" | grep hz3-config)'))
    with pytest.raises(LabError, match="measured says None"):
        lab.measure("x", arm, Cell(["fake"]))


def test_a_packed_folder_runs_without_the_lab_and_its_lines_come_back(lab, tmp_path):
    folder, results = tmp_path / "packed", tmp_path / "results"
    arms = {"a": lab.library(2), "b": plan.Arm(str(Path(__file__)), "0" * 64), "libc": plan.Arm(version="of elsewhere")}
    plan_of_peers = Plan("peers", "peers-x", arms, {"one": Cell(["fake"])}, 1, programs=lab.programs)
    pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs), "peers-x": plan_of_peers}, lab.root)
    done = run_packed(folder)
    assert done.returncode == 0 and "x: done" in done.stdout, done.stderr
    (merged_peers, merged) = pack.merge(folder, results)
    assert not session.remaining(Samples.load(merged)) and merged.parent.name == "x"
    assert "no longer the library" in Samples.load(merged_peers).unable["one", "b"]
    assert Samples.load(merged_peers).plan.arms["libc"].version == platform.libc_ver()[1]
    (folder / "results/peers-x").rename(folder / "results/y")
    with pytest.raises(LabError, match="y.* is of another kind than its folder says: peers"):
        pack.merge(folder, results)
    assert not (results / "y").exists()
    with pytest.raises(LabError, match="is there already"):
        pack.pack(folder, {}, lab.root)


def test_a_folder_that_nothing_can_be_preloaded_from_is_refused_and_no_peer_is_blamed(lab, tmp_path):
    for name in ("packed here", "packed:here"):
        folder = tmp_path / name
        pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs)}, lab.root)
        assert "LD_PRELOAD cannot hold a path with a space or a colon" in run_packed(folder).stderr
        assert not (folder / "results").exists()
        with pytest.raises(LabError, match="LD_PRELOAD cannot hold"):
            build.Builder(None, folder)
        with pytest.raises(LabError, match="LD_PRELOAD cannot hold"):
            library_arm(folder / lab.plan.arms[BASELINE].file, lab.root)


def test_a_packed_folder_goes_on_where_it_stopped(lab, tmp_path):
    folder = tmp_path / "packed"
    whole = (lab.root / "out/fake").read_text()
    lab.program(f"{whole}[ -e {folder}/go ] || [ $(cat {folder}/results/x/*.jsonl | wc -l) -lt 20 ] || exit 9\n")
    pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs)}, lab.root)
    assert "ended with status 9" in run_packed(folder).stderr
    (folder / "go").touch()
    assert run_packed(folder).returncode == 0
    (file,) = folder.glob("results/x/*.jsonl")
    assert not session.remaining(Samples.load(file))


def test_what_another_library_served_in_a_packed_folder_decides_nothing_there_and_here(lab, tmp_path, monkeypatch):
    folder, whole = tmp_path / "packed", (lab.root / "out/fake").read_text()
    other = LINE.format(CONFIG.format(9))
    lab.program(
        f"[ -e {folder}/go ] || [ $(cat {folder}/results/x/*.jsonl | wc -l) -lt 20 ] || exec bash -c '{other}'\n{whole}"
    )
    pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs)}, lab.root)
    assert "a flag did not take" in run_packed(folder).stderr
    (folder / "go").touch()
    (file,) = folder.glob("results/x/*.jsonl")
    before = file.read_text()
    assert "decides nothing: " in run_packed(folder).stderr and file.read_text() == before
    monkeypatch.setattr(cli, "RESULTS", tmp_path / "results")
    assert CliRunner().invoke(cli.main, ["merge", str(folder)], catch_exceptions=False).exit_code == 0
    ((_, line),) = results.Results.read(tmp_path / "results").index.items()
    assert "a flag did not take" in line["void"] and str(tmp_path) not in line["void"]


def test_a_packed_folder_ends_in_time_and_goes_on(lab, tmp_path):
    folder = tmp_path / "packed"
    lab.program(f"[ -e {folder}/go ] || sleep 0.5\n" + (lab.root / "out/fake").read_text())
    pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs)}, lab.root)
    began = time.monotonic()
    done = run_packed(folder, "--within", "3")
    assert time.monotonic() - began < 20
    assert done.returncode == 1 and "the time is up; run it again to go on" in done.stderr
    (file,) = folder.glob("results/x/*.jsonl")
    taken = Samples.load(file)
    assert any(taken.attempts.values()) and len(session.remaining(taken)) > 1
    (folder / "go").touch()
    assert run_packed(folder).returncode == 0
    assert not session.remaining(Samples.load(file))


@pytest.mark.parametrize("within", ["0", "-1", "nan", "inf", "9m"])
def test_a_time_that_is_none_is_refused_and_nothing_is_measured(lab, tmp_path, within):
    folder = tmp_path / "packed"
    pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs)}, lab.root)
    done = run_packed(folder, f"--within={within}")
    assert done.returncode == 2 and f"invalid seconds value: '{within}'" in done.stderr
    assert not (folder / "results").exists()


def test_a_packed_folder_with_another_program_in_it_is_refused(lab, tmp_path):
    folder = tmp_path / "packed"
    pack.pack(folder, {"x": replace(lab.plan, programs=lab.programs)}, lab.root)
    (folder / "out/fake").write_text("#!/bin/sh\n")
    assert "out/fake is not the program that was packed" in run_packed(folder).stderr
    assert not (folder / "results").exists()


def test_what_was_not_measured_by_the_lab_is_not_merged(tmp_path):
    file = tmp_path / "packed/results/x/1.jsonl"
    file.parent.mkdir(parents=True)
    with pytest.raises(LabError, match="no results"):
        pack.merge(tmp_path / "packed", tmp_path / "results")
    file.write_text("ops_per_s=1e9\n")
    with pytest.raises(LabError, match="not a file of samples"):
        pack.merge(tmp_path / "packed", tmp_path / "results")
    assert not (tmp_path / "results").exists()


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tools")
    here = Path(measure.__file__).parent
    subprocess.run(["cc", here / "launch.c", "-o", folder / "launch"], check=True)
    subprocess.run(["cc", "-shared", "-fPIC", here / "witness.c", "-o", folder / "witness.so"], check=True)
    return folder


def test_any_program_is_measured(tools, lab):
    command = Cell(["python3", "-c", "x = b'1' * 50_000_000; import os; os.system('true')"])
    figures = measure.Command(tools, lab.root)("glibc", plan.Arm(), command)
    assert 48_000 < figures["peak_kib"] < 80_000
    assert 0 < figures["cpu_s"] < figures["wall_s"] * 2 and figures["processes"] >= 2
    small = measure.Command(tools, lab.root)("glibc", plan.Arm(), Cell(["true"]))
    assert small["peak_kib"] < 5_000  # not the lab's own


def test_what_tunes_allocators_comes_from_the_arm_and_the_cell_alone(tools, lab, monkeypatch):
    foreign = (
        "MALLOC_ARENA_MAX",
        "MALLOC_CONF",
        "GLIBC_TUNABLES",
        "TCMALLOC_X",
        "mimalloc_verbose",
        "BENCH_MODE",
        "LD_BIND_NOW",
        "PYTHONMALLOC",
    )
    for name in foreign:
        monkeypatch.setenv(name, "1")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    arm = replace(lab.plan.arms["variant"], env={"MALLOC_CONF": "arm"})
    seen = measure.environment(arm, Cell([], env={"TCMALLOC_X": "cell"}), None)
    assert {name: seen[name] for name in foreign if name in seen} == {"MALLOC_CONF": "arm", "TCMALLOC_X": "cell"}
    lab.program('[ "$PATH" -a -z "$LD_LIBRARY_PATH$MALLOC_ARENA_MAX" ] || exit 3\n' + LINE.format(CONFIG.format(1)))
    lab.measure("variant", lab.plan.arms["variant"], lab.plan.cells["one"])
    script = '[ "$LD_LIBRARY_PATH$MALLOC_ARENA_MAX" = /nowhere ]'  # a user's program finds its libraries
    measure.Command(tools, lab.root)("glibc", plan.Arm(), Cell(["sh", "-c", script]))


def test_any_program_has_to_be_served_by_the_arm(tools, lab):
    with pytest.raises(LabError, match="served malloc"):  # the loader ignores a file that is no library
        measure.Command(tools, lab.root)("variant", lab.plan.arms["variant"], Cell(["true"]))


def test_a_program_that_ends_badly_is_refused(tools, lab):
    for script, complaint in (("exit 3", "status 3"), ("kill -9 $$", "status 137")):
        with pytest.raises(LabError, match=complaint):
            measure.Command(tools, lab.root)("glibc", plan.Arm(), Cell(["sh", "-c", script]))


def test_a_program_that_changed_is_refused(tools, lab, tmp_path):
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    taker = measure.Command(tools, lab.root, program)
    taker("glibc", plan.Arm(), Cell([str(program)]))
    for change in (lambda: program.write_text("#!/bin/sh\ntrue\n"), program.unlink):
        change()
        with pytest.raises(Unfit, match="program is no longer the program that the run began with"):
            taker("glibc", plan.Arm(), Cell([str(program)]))


def test_what_a_program_leaves_running_is_not_waited_for_and_ends(tools, lab, tmp_path):
    script = f"sleep 60 & echo $! >{tmp_path}/pid"
    begun = time.monotonic()
    measure.Command(tools, lab.root)("glibc", plan.Arm(), Cell(["sh", "-c", script]))
    while is_running((tmp_path / "pid").read_text().strip()):
        assert time.monotonic() - begun < 30
        time.sleep(0.01)


def test_a_static_program_is_refused(tools, lab):
    source = "int main(void) { return 0; }"
    static = lab.root / "static"
    subprocess.run(["cc", "-static", "-x", "c", "-", "-o", static], input=source, text=True, check=True)
    with pytest.raises(LabError, match="nobody knows who served malloc"):
        measure.Command(tools, lab.root)("glibc", plan.Arm(), Cell([str(static)]))


def test_a_round_that_was_stolen_from_is_repeated_and_kept(lab, monkeypatch):
    share = iter([0.0, 0.5] + [0.0] * 10_000)
    monkeypatch.setattr(session.machine, "stolen_since", lambda before, now: next(share))
    assert not lab.run().spoilt, "of the warm-up nothing is asked"
    lab.path.unlink()
    share = iter([0.0] * (2 * 3 + 2 * 6 * 2) + [0.0, 0.03, 0.03, 0.03, 0.0] + [0.02] * 10_000)
    again = lab.run()
    ((round_, attempt),) = again.spoilt
    assert (round_.phase, round_.block, attempt) == ("ab", 0, 0)
    assert [len(of) for of in again.attempts[round_]] == [2, 3], "it ends at the run that was stolen from three times"
    assert again.complete(round_) == again.attempts[round_][1] and again.robbed(round_.cell) == 0
    loaded = Samples.load(lab.path)
    assert loaded.spoilt == again.spoilt and loaded.seconds == pytest.approx(again.seconds)


def test_a_round_that_is_always_stolen_from_is_given_up_and_its_block_decides_nothing(lab, monkeypatch):
    monkeypatch.setattr(session.machine, "stolen_since", lambda before, now: 0.5)
    samples = lab.run()
    assert {len(of) for round_, of in samples.attempts.items() if round_.phase != "warmup"} == {3}
    assert not session.remaining(samples) and samples.blocks("one", "aa", "ab") == [] and samples.robbed("one") == 6


def test_a_round_in_which_the_host_moved_the_processors_is_repeated_and_kept(lab, monkeypatch):
    """What was read before and after each run of a round is compared, not what was read in other rounds."""
    readings = iter(
        [50.0, 200.0] * 6 + [50.0, 55.0] * 12 + [200.0, 190.0] * 12 + [50.0] * 4 + [120.0] + [200.0] * 10_000
    )
    monkeypatch.setattr(session.machine, "line_ns", lambda: next(readings))
    samples = lab.run()
    ((round_, attempt),) = samples.spoilt
    assert (round_.phase, round_.block, attempt) == ("ab", 0, 0) and len(samples.attempts[round_]) == 2
    assert Samples.load(lab.path).spoilt == samples.spoilt


@pytest.mark.parametrize("kind", ["ab", "peers"])
def test_a_spoilt_sample_is_tried_again_before_its_round(lab, monkeypatch, kind):
    lab.plan = replace(lab.plan, kind=kind)
    readings = iter([50.0] * 2 * (6 + 24) + [50.0] * 2 + [50.0, 200.0] + [50.0] * 4 + [200.0] * 10_000)
    monkeypatch.setattr(session.machine, "line_ns", lambda: next(readings))
    samples = lab.run()
    (one, two, *_) = [round_ for round_ in samples.attempts if round_.phase == "ab"]
    lines = [json.loads(line) for line in lab.path.read_text().splitlines()[1:]]
    tries = [
        line["line_ns"][1] for line in lines if (line["phase"], line["block"], line["cell"]) == ("ab", 0, one.cell)
    ]
    assert tries == [50.0, 200.0, 50.0, 50.0] and len(samples.attempts[one]) == len(samples.attempts[two]) == 1
    assert not samples.spoilt and not Samples.load(lab.path).spoilt


@pytest.mark.parametrize("kind", ["peers", "compare"])
def test_a_comparison_tries_again_leaves_a_lost_cell_out_and_without_any_says_why(
    lab, tmp_path, monkeypatch, capsys, kind
):
    """One cell is always stolen from, then both."""
    cells = {name: Cell(["fake", name], "g") for name in ("one", "two")}
    lab.plan = replace(lab.plan, kind=kind, aa_blocks=0, blocks=2, cells=cells)
    monkeypatch.setattr(cli, "COMPARED", tmp_path / "compared")
    monkeypatch.setattr(cli.machine, "describe", lambda: MACHINE | {"cores": 4, "sockets": 1, "last_level_caches": 1,
                                                                    "governor": "none"})  # fmt: skip
    lost, now, taken = {"two"}, [""], []

    def take(name, arm, cell):
        now[0] = cell.argv[1]
        taken.append(now[0])
        return lab.measure(name, arm, cell)

    monkeypatch.setattr(session.machine, "stolen_since", lambda before, ticks: 0.5 if now[0] in lost else 0.0)
    folder = (tmp_path / "compared" if kind == "compare" else tmp_path / "results") / "fake"
    run = cli.conduct(lab.plan, folder, False, take)
    assert run.lost() == ["two"] and not run.void and len(run.blocks("one", "ab")) == 2
    assert taken.count("two") == 3 + 2 * 3 * 3, "each sample is tried again, then its round"
    assert "left out, as the host spoilt each block" in capsys.readouterr().err
    show.comparison(run, BASELINE)
    assert "two" not in capsys.readouterr().out
    lost |= {"one"}
    monkeypatch.setattr(cli.samples, "new_path", lambda folder: folder / "later.jsonl")
    with pytest.raises(LabError, match="decides nothing: the host spoilt each block: .*: one, two"):
        cli.conduct(lab.plan, folder, False, take)


def test_of_a_sample_that_ran_beside_another_only_what_was_stolen_counts(lab, monkeypatch):
    lab.plan = replace(lab.plan, kind="peers", beside=BASELINE)
    readings = cycle([50.0, 200.0])
    stolen = iter([0.0] * (6 + 24) + [0.0, 0.5, 0.0, 0.0] + [0.0] + [0.5] * 3 + [0.0] * 10_000)
    monkeypatch.setattr(session.machine, "line_ns", lambda: next(readings))
    monkeypatch.setattr(session.machine, "stolen_since", lambda before, now: next(stolen))
    samples = lab.run()
    (one, two, *_) = [round_ for round_ in samples.attempts if round_.phase == "ab"]
    lines = [json.loads(line) for line in lab.path.read_text().splitlines()[1:]]
    taken = [[line["attempt"] for line in lines if line["phase"] == "ab" and line["cell"] == of.cell and not line["block"]]
             for of in (one, two)]  # fmt: skip
    assert taken == [[0] * 4, [0] * 4 + [1] * 3], "one arm is tried again; where that does not help, the round"
    assert samples.spoilt == {(two, 0)} == Samples.load(lab.path).spoilt and not samples.robbed(two.cell)


def test_a_sample_waits_until_the_processors_are_as_near_as_usual_but_not_for_ever(lab, monkeypatch):
    """They are apart for 8 readings of 48, then for good."""
    monkeypatch.setattr(session, "PATIENCE", 0.05)
    every = iter(([50.0] * 40 + [200.0] * 8) * 3)
    monkeypatch.setattr(session.machine, "line_ns", lambda: next(every, 200.0))
    began = time.monotonic()
    samples = lab.run()
    first = list(map(json.loads, lab.path.read_text().splitlines()[1:]))[:60]
    assert {ns for line in first for ns in line["line_ns"][:1]} == {50.0}
    assert not session.remaining(samples) and time.monotonic() - began < 60


def test_what_the_host_does_spoils_no_count_of_instructions(lab):
    samples = Samples(lab.path, replace(lab.plan, cells={"one": Cell(["fake"], "g", counted=True)}), {})
    place = {"phase": "ab", "block": 0, "cell": "one", "arm": BASELINE, "attempt": 0}
    samples._take({**place, "figures": {}, "stolen": 0.5, "line_ns": [50.0, 200.0]})
    assert not samples.spoilt


def test_a_line_takes_some_time_from_one_processor_to_another():
    """Beside other tests it may not be known."""
    found, ends = {session.machine.line_ns()}, time.monotonic() + 30
    while not any(found) and len(os.sched_getaffinity(0)) > 1 and time.monotonic() < ends:
        found.add(session.machine.line_ns())
    assert all(ns == 0 or 1 < ns < 100_000 for ns in found) and (any(found) or len(os.sched_getaffinity(0)) == 1)


def test_where_nothing_may_be_executed_the_time_of_a_line_is_not_known(tmp_path, monkeypatch):
    (tmp_path / "line").write_text("#!/bin/sh\necho 50\n")
    monkeypatch.setattr(session.machine, "_line_tool", lambda: SimpleNamespace(name=tmp_path))
    assert session.machine.line_ns() == 0
    (tmp_path / "line").chmod(0o755)
    assert session.machine.line_ns() == 50


def test_where_a_line_takes_long_nobody_waits_for_it():
    began = time.monotonic()
    if len(os.sched_getaffinity(0)) > 1:
        stop = [subprocess.Popen(["sh", "-c", "while :; do :; done"]) for _ in range(2 * len(os.sched_getaffinity(0)))]
        session.machine.line_ns()
        for busy in stop:
            busy.kill()
            busy.wait()
    assert time.monotonic() - began < 5


def test_time_that_is_stolen_is_read_from_the_kernel(tmp_path):
    """A tick is what two readings may be off."""
    stat = tmp_path / "stat"
    readings = []
    for line in ("cpu 100 0 50 800 10 5 5 30 7 0", "cpu 150 0 60 850 10 5 5 40 7 0"):
        stat.write_text(f"{line}\ncpu0 1 2 3\n")
        readings.append(session.machine.ticks(str(stat)))
    assert readings == [(30, 1000), (40, 1120)]  # a guest's time is in the user's
    assert session.machine.stolen_since(*readings) == pytest.approx(9 / 120)
    assert session.machine.ticks(str(tmp_path / "none")) == (0, 0) and session.machine.stolen_since((0, 0), (0, 0)) == 0


def test_each_sample_has_its_processor_time_and_how_long_it_took(lab):
    lab.program("i=0; while ((i < 100000)); do ((i++)); done; sleep 0.2\n" + LINE.format(
        '$(strings -a "$LD_PRELOAD" | grep hz3-config)'))  # fmt: skip
    lab.plan = replace(lab.plan, cells={"one": Cell(["fake"], "g")}, blocks=1, aa_blocks=0)
    lab.run()
    for line in map(json.loads, lab.path.read_text().splitlines()[1:]):
        assert 0.01 < line["figures"]["cpu_s"] < line["took"] - 0.15 and 0 <= line["stolen"] <= 1


def test_a_run_of_the_same_build_on_this_machine_is_gone_on_with(lab, tmp_path):
    lab.path = tmp_path / "x/20260101T000000Z.jsonl"
    lab.path.parent.mkdir()
    samples = lab.run()
    same, here = Plan.from_json({**lab.plan.to_json(), "seed": 5, "blocks": 9, "until": "decided"}), {}
    found = of_same_build(lab.path.parent, same, here)
    assert found == lab.path
    for other in ({"cpu": "another"}, {"thp": "[always] madvise never"}):
        assert of_same_build(lab.path.parent, same, other) is None
    for changed in ({"scale": 0.5}, {"programs": {"fake": "1"}}, {"cells": {}}, {"arms": {}}):
        assert of_same_build(lab.path.parent, replace(same, **changed), here) is None
    told = replace(same, experiment={**same.experiment, "why": "Because."})
    assert of_same_build(lab.path.parent, told, here) == lab.path
    gates = replace(same, experiment={**same.experiment, "gates": []})
    assert of_same_build(lab.path.parent, gates, here) is None
    compressed = archive.compress(lab.path)
    assert of_same_build(lab.path.parent, same, here) == compressed and archive.expand(compressed) == lab.path
    assert samples.looks("one") == 1
    samples.extend("one", 6)  # who runs it again pays for a second look
    session.run(samples, lab.measure)
    assert samples.looks("one") == Samples.load(lab.path).looks("one") == 2 and len(samples.blocks("one", "ab")) == 12
    samples.declare_void("another library served")
    assert of_same_build(lab.path.parent, same, here) is None


def test_what_another_library_served_is_kept_and_decides_nothing(lab, tmp_path, monkeypatch):
    lab.program(LINE.format(CONFIG.format(0)))
    monkeypatch.setattr(cli.machine, "describe", lambda: MACHINE | {"cores": 4, "sockets": 1, "last_level_caches": 1,
                                                                    "governor": "none"})  # fmt: skip
    with pytest.raises(LabError, match="a flag did not take"):
        cli.conduct(lab.plan, tmp_path / "results/fake", False, lab.measure)
    known = results.Results.read(tmp_path / "results")
    ((run, line),) = known.index.items()
    assert "a flag did not take" in line["void"] and not known.experiments
    (tmp_path / "fake.toml").write_text(
        'name = "x"\nwork_order = "ours"\nquestion = "?"\n[baseline]\nlane = "scale"\n[[variants]]\nname = "variant"\n'
        'flags = { HZ3_FREE_CHECK = 0 }\n[[cases]]\nname = "c"\ngroup = "g"\ncommand = "bench"\n[[gates]]\ngroup = "g"\n'
        "mean = 0.0\n"
    )
    text = ledger.ledger(tmp_path, known)
    assert "Runs that are kept and decide nothing:\n\n- " in text and line["void"] in text
    with pytest.raises(LabError, match="decides nothing: variant: a flag did not take.*: no verdict"):
        judge.judge(Samples.load(known.path(run)))
    kept = known.path(run).read_bytes()
    with pytest.raises(LabError, match="cannot resume: .* decides nothing: variant: a flag did not take"):
        cli.conduct(lab.plan, tmp_path / "results/fake", True, lab.measure)
    assert known.path(run).read_bytes() == kept
