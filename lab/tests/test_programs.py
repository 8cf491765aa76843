"""Real programs: the lab measures what it says, or ends the run; and the texts about them are right."""

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
from synthetic import MACHINE

from lab import (
    ROOT,
    LabError,
    Unfit,
    comparison,
    headline,
    overview,
    peers,
    planning,
    programs,
    readme,
    results,
    samples,
    stage,
    summary,
)
from lab.measure import Command
from lab.plan import Arm, Cell, Plan, library_arm
from lab.samples import Samples

SCALE = ROOT / "libhakozuna_hz3_scale.so"
JEMALLOC = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
CELLS = peers.cells(ROOT / "bench/cells-programs.txt")
ORDERS = peers.cells(ROOT / "bench/cells-orders.txt")


@pytest.fixture
def taker(tmp_path, monkeypatch):
    run = programs.script("/dev/null", "true")
    monkeypatch.setitem(programs.PROGRAMS, "true", (run, "true"))
    return programs.Taker(tmp_path)


def test_who_served_is_proved(taker, tmp_path):
    true = Cell(["program_true", "1"], "program_true")
    found = taker("hz3", library_arm(SCALE, ROOT), true)
    assert found["peak_kib"] < 20000, "its own, and not the caller's"
    assert taker("glibc", Arm(), true)["ops_per_s"] == pytest.approx(1 / taker("glibc", Arm(), true)["cpu_s"], rel=9)
    subprocess.run(["cc", "-shared", "-xc", "/dev/null", "-o", tmp_path / "empty"], check=True)
    with pytest.raises(LabError, match="libc.so.* served malloc"):
        taker("other", library_arm(tmp_path / "empty", ROOT), true)


def test_a_program_or_a_script_that_changes_ends_the_run_and_is_not_resumed(tmp_path, monkeypatch):
    script, program, cells = (
        tmp_path / "bench/programs/x.sh",
        tmp_path / "sh",
        {"x 1": Cell(["program_x", "1"], "program_x")},
    )
    script.parent.mkdir(parents=True)
    script.write_text("true\n")
    shutil.copy("/bin/sh", program)
    for name, value in {"ROOT": tmp_path, "SCRIPTS": script.parent}.items():
        monkeypatch.setattr(programs, name, value)
    monkeypatch.setitem(programs.PROGRAMS, "x", (programs.script("x.sh", str(program)), str(program)))
    digests = programs.check(cells)
    with programs.taker(digests=digests) as taker:
        taker("glibc", Arm(), cells["x 1"])
        for file, said in ((script, "bench/programs/x.sh"), (program, "program_x")):
            before = file.read_bytes()
            file.write_bytes(before + b"\n")
            with pytest.raises(Unfit, match=f"{said} is no longer the program that the run began with"):
                taker("glibc", Arm(), cells["x 1"])
            plan, now = (Plan("peers", "x", {}, cells, 1, programs=of) for of in (digests, programs.check(cells)))
            with pytest.raises(LabError, match="cannot resume: .* have changed: programs"):
                now.check_same_as(plan)
            file.write_bytes(before)
    assert "lab/programs.py" in digests, "which makes the other inputs"


def test_a_program_that_is_not_pie_and_takes_mallocs_address_is_served_all_the_same(taker, tmp_path):
    source = "#include <stdlib.h>\nvoid *(*volatile get)(size_t) = malloc;\nint main(void) { return !get(9); }"
    argv = ["cc", "-xc", "-", "-no-pie", "-fno-pie", "-o", tmp_path / "program"]
    subprocess.run(argv, input=source, text=True, check=True)
    assert Command(tmp_path)("hz3", library_arm(SCALE, ROOT), Cell([str(tmp_path / "program")]))["processes"] == 1
    own = source + "\nvoid *__libc_malloc(size_t);\nvoid *malloc(size_t n) { return __libc_malloc(n); }"
    own += "\nvoid free(void *p) { (void)p; }"
    subprocess.run([*argv, "-rdynamic", "-fno-builtin"], input=own, text=True, check=True)
    with pytest.raises(LabError, match="program served malloc"):
        Command(tmp_path)("hz3", library_arm(SCALE, ROOT), Cell([str(tmp_path / "program")]))


@pytest.mark.parametrize("command, said", [
    ("exit 3", "does not serve: status 3"),
    ("sleep 60", "does not serve"),
    ("trap : TERM; touch ready; while :; do sleep 0.1; done", "does not end"),
    ("trap 'exit 4' TERM; touch ready; while :; do sleep 0.1; done", "ended with status 4"),
])  # fmt: skip
def test_a_server_that_fails_ends_it_soon(taker, tmp_path, monkeypatch, command, said):
    monkeypatch.setattr(stage, "PATIENCE", 3)
    monkeypatch.setattr(stage, "REST", 0.2)
    place, began = stage.Stage(tmp_path, {**os.environ}, 1), time.monotonic()
    with pytest.raises(LabError, match=said):
        stage.served(place, ["sh", "-c", command], (tmp_path / "ready").exists, lambda: None, signal.SIGTERM)
    assert time.monotonic() - began < 30  # and not for a minute


def test_a_server_that_ends_after_its_load_is_named_and_a_child_that_is_gone_blames_nobody(
    taker, tmp_path, monkeypatch
):
    monkeypatch.setattr(stage, "REST", 0.5)
    place, ready, asked = stage.Stage(tmp_path, {**os.environ}, 1), tmp_path / "ready", tmp_path / "asked"
    serve = ["sh", "-c", "touch ready; while [ ! -e asked ]; do sleep 0.01; done; exit 5"]
    with pytest.raises(LabError, match="sh ended after its load: status 5"):
        stage.served(place, serve, ready.exists, asked.touch)
    child = subprocess.Popen(["true"])
    child.wait()
    assert list(stage.family(child.pid)) == [child.pid] and stage.rss_kib(child.pid) == 0
    assert stage.rss_kib(os.getpid()) > 1000


def test_a_load_that_a_server_does_not_answer_ends(monkeypatch):
    monkeypatch.setattr(stage.measure, "TIMEOUT", 0.2)
    with pytest.raises(LabError, match="sleep: still running after 0.2 s"):
        stage.quietly("sleep", "60")


@pytest.mark.parametrize("name", ["memcached", "nginx"])
def test_a_server_that_takes_calls_and_says_nothing_ends_it_soon(tmp_path, monkeypatch, name):
    server = tmp_path / "server"
    server.write_text(
        f"#!{sys.executable}\n"
        "import pathlib, re, socket, sys, time\n"
        "unix = '-s' in sys.argv\n"
        "line = socket.socket(socket.AF_UNIX if unix else socket.AF_INET)\n"
        "line.bind(sys.argv[2] if unix else ('127.0.0.1', int(re.search(r'1:(\\d+)', open('nginx.conf').read())[1])))\n"
        "line.listen()\n"
        "unix or pathlib.Path('pid').touch()\n"
        "time.sleep(60)\n"
    )
    server.chmod(0o755)
    monkeypatch.setattr(programs, "found", lambda program: str(server))
    monkeypatch.setattr(programs, "PATIENCE", 0.5)
    began = time.monotonic()
    with programs.taker({name: getattr(programs, name)}) as taker, pytest.raises(LabError, match=f"{name} .*timed out"):
        taker("glibc", Arm(), Cell([f"program_{name}", "200"], f"program_{name}"))
    assert time.monotonic() - began < 30


def test_what_a_killed_nginx_left_is_not_taken_for_one_that_serves(tmp_path, monkeypatch):
    server = tmp_path / "server"
    server.write_text("#!/bin/sh\nsleep 0.3\nexit 3\n")
    server.chmod(0o755)
    monkeypatch.setattr(programs, "found", lambda program: str(server))
    with programs.taker({"nginx": programs.nginx}) as taker, pytest.raises(LabError, match="does not serve: status 3"):
        (taker.folder / "pid").touch()
        taker("glibc", Arm(), Cell(["program_nginx", "100"], "program_nginx"))


def test_a_server_is_measured_under_load_and_after_it(taker, tmp_path, monkeypatch):
    """The server holds 64 MiB under load, and 32 MiB afterwards."""
    monkeypatch.setattr(stage, "REST", 0.5)
    serve = (
        "import os, signal, time, pathlib\n"
        "signal.signal(signal.SIGTERM, lambda *_: os._exit(0))\n"
        "kept, more = bytearray(b'x') * (32 << 20), bytearray(b'x') * (32 << 20)\n"
        "pathlib.Path('ready').touch()\n"
        "while not os.path.exists('asked'): time.sleep(0.01)\n"
        "del more\n"
        "pathlib.Path('freed').touch()\n"
        "while True: time.sleep(1)\n"
    )

    def load():
        (tmp_path / "asked").touch()
        while not (tmp_path / "freed").exists():
            time.sleep(0.01)

    ready, place = (tmp_path / "ready").exists, stage.Stage(tmp_path, {**os.environ}, 1)
    found = stage.served(place, [sys.executable, "-c", serve], ready, load)
    assert found["peak_kib"] > 64 << 10 and 32 << 10 < found["after_kib"] < found["peak_kib"] - (28 << 10)


def test_every_cell_is_a_program_with_plain_words_and_there_are_enough():
    names = [cell.group.removeprefix(programs.PREFIX) for cell in (CELLS | ORDERS).values()]
    assert names == list(programs.PROGRAMS) == list(headline.WORDS) and len(names) >= 14
    assert programs.are_real(CELLS | ORDERS)


@pytest.mark.parametrize("script", sorted((ROOT / "bench/programs").glob("*.py")), ids=lambda script: script.stem)
def test_a_script_does_as_much_work_as_it_is_told(script):
    """Modules that only its own setup brings are not needed here."""
    lacking = [name for name in programs.MODULES.values() if f"import {name}" in script.read_text()
               or f"from {name}" in script.read_text()]  # fmt: skip
    if lacking and not find_spec(lacking[0]):
        pytest.skip(f"{lacking[0]} is not installed: make setup FOR=programs")
    subprocess.run([sys.executable, script, "9"], check=True, stdout=subprocess.DEVNULL)


def test_what_is_no_list_of_programs_is_refused(monkeypatch, tmp_path):
    with pytest.raises(LabError, match="not both"):
        programs.are_real({"a": Cell(["program_perl", "1"], "program_perl"), "b": Cell(["bench_x"], "bench_x")})
    for argv in (["program_emacs", "1"], ["program_perl"], ["program_perl", "many"]):
        with pytest.raises(LabError, match="is no program"):
            programs.check({"a": Cell(argv, argv[0])})
    monkeypatch.setattr(programs, "PATH", str(tmp_path))
    with pytest.raises(LabError, match="not installed: redis, .*git: make setup FOR=programs"):
        programs.check({name: cell for name, cell in CELLS.items() if "duckdb" not in name})


def test_what_loads_a_server_has_to_be_installed_too(monkeypatch):
    which = shutil.which
    monkeypatch.setattr(
        programs.shutil, "which", lambda of, **where: of != "pgbench" and (which(of, **where) or "/bin/sh")
    )
    with pytest.raises(LabError, match="not installed: postgres: make setup FOR=programs"):
        programs.check({"a": Cell(["program_postgres", "1"], "program_postgres")})


def test_an_input_that_cannot_be_made_is_no_arm_s_failure_and_no_part_of_it_is_taken_for_it(tmp_path):
    place = stage.Stage(tmp_path, {}, 1)

    def half(file):
        file.write_text("half")
        raise OSError("it broke")

    with pytest.raises(Unfit, match="x.c cannot be made: it broke"):
        place.once("x.c", half)
    assert place.once("x.c", lambda file: file.write_text("whole")).read_text() == "whole"


@pytest.mark.parametrize("command, kind, said", [
    ("exit 3", LabError, "^true under glibc: sh: ended with status 3$"),
    ("echo No space left on device >&2; exit 1", Unfit, "^true under glibc: the disk is full: "),
])  # fmt: skip
def test_a_full_disk_is_no_arm_s_failure(tmp_path, monkeypatch, command, kind, said):
    run = {"true": lambda place: stage.cost(place, ["sh", "-c", command])}
    with programs.taker(run) as taker, pytest.raises(LabError, match=said) as caught:
        taker("glibc", Arm(), Cell(["program_true", "1"], "program_true"))
    assert type(caught.value) is kind
    monkeypatch.setattr(programs, "LEAST_FREE", 1 << 80)
    with programs.taker(run) as taker, pytest.raises(Unfit):
        taker("glibc", Arm(), Cell(["program_true", "1"], "program_true"))


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="one processor")
def test_who_fails_beside_an_arm_ends_the_run_and_the_arm_is_not_blamed():
    def fails(name, *_):
        raise LabError(f"{name} broke")

    def runs(*_):
        return {"cpu_s": 1.0}

    for takers, kind, said in (
        ((runs, fails), Unfit, "beside peer: glibc broke"),
        ((fails, runs), LabError, "peer broke"),
    ):
        with pytest.raises(LabError, match=said) as caught:
            programs.SideBySide(takers, "glibc", Arm())("peer", Arm(), Cell(["x"]))
        assert type(caught.value) is kind


@pytest.mark.skipif(not JEMALLOC.exists(), reason="libjemalloc2 is not installed")
@pytest.mark.skipif(not shutil.which("redis-benchmark"), reason="redis-tools is not installed")
def test_a_server_is_compared_on_two_allocators(tmp_path, monkeypatch):
    monkeypatch.setattr(stage, "REST", 0.1)
    monkeypatch.setattr("lab.machine.stolen_since", lambda before, now: 0.0)
    (tmp_path / "cells.txt").write_text("program_redis {6000}\n")
    plan = planning.of_cells(tmp_path / "cells.txt", (f"hz3={SCALE}", f"jemalloc={JEMALLOC}"), 1.0, 1, print)
    run = Samples.create(samples.new_path(tmp_path), plan, MACHINE)
    with programs.taker() as taker:
        planning.session.run(run, taker)
    (block,) = run.blocks("redis 6000", "ab")
    assert run.unable == {} and set(block) == {"hz3", "jemalloc"}
    for figures in block.values():
        assert all(figures[figure] > 0 for figure in ("cpu_s", "wall_s", "peak_kib", "after_kib", "ops_per_s"))


def measured(**more) -> Samples:
    """scale takes 0.9 times glibc's CPU time in all programs, and the peer 0.8 times in the first."""
    lane = library_arm(SCALE, ROOT)
    arms = dict.fromkeys(("scale", "fast", "r90", "memory"), lane)
    arms |= {name: Arm(name, version="1") for name in peers.OF_PROGRAMS - arms.keys()}
    cells = {
        "redis 6": Cell(["program_redis", "6"], "program_redis"),
        "perl 2": Cell(["program_perl", "2"], "program_perl"),
    }
    plan = Plan("peers", "peers-cells-programs", arms, cells, 3, 0, **more)
    run = Samples(Path("20260101T000000Z.jsonl"), plan, MACHINE)
    for phase, block in (("warmup", 0), *(("ab", block) for block in range(3))):
        for cell in cells:
            for arm in arms:
                cpu = 0.9 if arm == "scale" else 0.8 if (arm, cell) == ("mimalloc-3.4", "redis 6") else 1.0
                figures = {"seconds": cpu, "ops_per_s": 1 / cpu, "wall_s": 1.0, "cpu_s": cpu,
                           "peak_kib": 3000.0 if arm == "scale" else 2000.0}  # fmt: skip
                figures |= {"after_kib": 500.0 if arm == "scale" else 1000.0} if cell == "redis 6" else {}
                run._take({"phase": phase, "block": block, "cell": cell, "attempt": 0, "arm": arm, "figures": figures})
    return run


def test_the_readme_leads_with_real_programs_where_they_were_measured(tmp_path, monkeypatch):
    from synthetic import peers as loops

    real, (file, folder) = measured(), (tmp_path / "README.md", tmp_path / "docs/results")
    assert results.counts(real)
    again = summary.comparison_from_json(real.path, real.machine, summary.comparison_to_json(real))
    file.write_text(f"{readme.BEGIN}{readme.END}")
    readme.write([loops(), again], tmp_path)
    text, page = file.read_text(), (folder / headline.PAGE).read_text()
    assert "| **hz3, lane scale** | 10 % less | 50 % more | 50 % less |" in text
    monkeypatch.setattr(headline, "BEST", 1)
    rows = [line.split(" |")[0] for line in headline.table(comparison.Comparison(again)).splitlines()]
    assert rows[2:] == ["| **hz3, lane scale**", "| mimalloc-3.4"]
    assert "| mimalloc-3.4 | 11 % less | as much | as much |" in text
    assert f"- 12 % more CPU time where {headline.WORDS['redis']}" in text
    assert any(f"- 50 % more peak memory where {headline.WORDS[name]}" in text for name in ("perl", "redis"))
    assert f"({readme.RESULTS}/{headline.PICTURE}.svg)" in text and (folder / f"{headline.PICTURE}.svg").is_file()
    assert not any(words in text for words in overview.ROWS), "the small programs are in docs"
    assert any(words in (folder / "programs.md").read_text() for words in overview.ROWS)
    assert f"| redis: {headline.WORDS['redis']} | 0.90x |" in page and "| geometric mean | 0.90x |" in page
    assert "program_redis" not in page and "redis 6" in (folder / "peers.md").read_text()
    rows = comparison.answers(comparison.Comparison(again)).rows
    assert [row[:2] for row in rows] == [["redis 6", "cpu_s"], ["redis 6", "wall_s"], ["redis 6", "after_kib"],
                                         ["perl 2", "cpu_s"], ["perl 2", "wall_s"]]  # fmt: skip


def test_a_program_without_words_is_refused(monkeypatch):
    monkeypatch.delitem(headline.WORDS, "redis")
    with pytest.raises(LabError, match="no plain words for 'redis'"):
        headline.table(comparison.Comparison(measured()))
