"""hz3 stats: the reader finds the same figures as a sleeping process's own statistics, and refuses what it cannot
read."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from look_at import WITH_OURS, cpu_of_children, hz3, refused, resting, said
from prometheus_client.parser import text_string_to_metric_families as parse
from variants import variant

from lab import ROOT
from lab.registry import read as read_registry
from look import LookError, stats
from look.figures import Figures
from look.layout import HEAD, MAGIC, find
from look.process import Process

# Lane classic keeps objects in places that a reader outside does not look at.
ALL_LANES = [lane for lane in read_registry().lanes if lane != "classic"]

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]
BUSY = [sys.executable, "-c", "print('there', flush=True)\nx = []\n"
        "while True: x = [bytearray(n % 999) for n in range(9999)] + x[:9999]"]


KEPT = sum(1 for i in range(20000) if i % 3 == 0) * 4  # the objects that rests.c keeps


def library(lane):
    return ROOT / f"libhakozuna_hz3_{lane}.so"


def on(library, **options):
    return {**os.environ, "LD_PRELOAD": str(library), **options}


@pytest.mark.parametrize("lane", ALL_LANES)
def test_a_reader_finds_what_the_process_says_of_itself(lane, program):
    with resting(program("rests"), env=on(library(lane), HZ3_BACKGROUND="0")) as (process, line):
        own, read = json.loads(line), json.loads(said("stats", "--json", process.pid))
    assert own == read, "both have one shape"
    assert own["allocated"] > 20 << 20 and own["cached"] > 0 and own["threads"] == 4 and own["classes"]
    assert lane != "fast" or not (own["stashed"] or own["refills"]["stolen"])


@pytest.mark.parametrize("lane", ALL_LANES)
def test_so_it_does_in_a_child_that_lost_its_threads(lane, program):
    with resting(program("rests"), "fork", env=on(library(lane), HZ3_BACKGROUND="0")) as (process, line):
        (child,) = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        own, read = json.loads(line), json.loads(said("stats", "--json", child))
    assert own["cached"] > 0 and read["threads"] == 1
    assert {name: own[name] for name in ("allocated", "cached")} == {name: read[name] for name in ("allocated", "cached")}


@pytest.mark.matrix
@pytest.mark.parametrize("lane, flags", [
    ("classic", {"S145_CENTRAL_LOCAL_CACHE": 1}),
    ("classic", {"S44_OWNER_STASH_COUNT": 1}),
    ("classic", {"S67_SPILL_ARRAY": 0}),
    ("classic", {"S142_CENTRAL_LOCKFREE": 0}),
    ("classic", {"S146_OVERFLOW_BATCH": 8, "S142_CENTRAL_LOCKFREE": 0}),
], ids=str)
def test_so_it_does_in_builds_that_keep_things_elsewhere(lane, flags, program):
    built = variant(lane, **flags).library
    calls = [f"-D{name}=hz3_{name}" for name in ("malloc", "calloc", "free")]
    path = program("rests", "-include", ROOT / "include/hz3.h", *calls, built, f"-Wl,-rpath,{built.parent}")
    with resting(path, env={**os.environ, "HZ3_BACKGROUND": "0"}) as (process, line):
        own, read = json.loads(line), json.loads(said("stats", "--json", process.pid))
    assert own["cached"] > 0 and own == read


@pytest.mark.parametrize("lane", ALL_LANES)
def test_classes_are_counted(lane, program):
    with resting(program("rests"), env=on(library(lane))) as (process, _):
        read = json.loads(said("stats", "--json", process.pid))
    live = sum(c["live"] * c["size"] for c in read["classes"])
    assert live <= read["allocated"] <= live + 8 * (1 << 20), "the rest is large blocks: four of 1 MiB, and the loader's"
    assert KEPT <= sum(c["live"] for c in read["classes"]) < KEPT + 500
    assert all(c["runs"] and min(c["live"], c["cached"], c["free"]) >= 0 for c in read["classes"])


def test_threads_say_what_they_allocated_and_freed(program):
    """Together the threads have allocated what lives, and freed all else, but for objects that are on their way home."""
    with resting(program("rests"), env=on(library("scale"), HZ3_BACKGROUND="0")) as (process, line):
        tasks = sorted(os.listdir(f"/proc/{process.pid}/task"))
        head, *rows = (row.split() for row in said("stats", "--threads", process.pid).splitlines())
    own = json.loads(line)
    assert head == ["thread", "allocated", "freed", "difference", "name"]
    assert sorted(row[0] for row in rows) == tasks and {row[4] for row in rows} == {"rests"}
    allocated, freed, difference = ([int(row[i]) for row in rows] for i in (1, 2, 3))
    assert difference == [a - f for a, f in zip(allocated, freed, strict=True)]
    assert 0 <= sum(difference) - own["allocated"] <= own["cached"]
    assert all(a > 20000 * 1500 and f > a // 2 for a, f in zip(allocated, freed, strict=True))


def test_figures_are_written_to_a_file(redis, tmp_path):
    file = tmp_path / "of.json"
    assert said("stats", redis, "--json", "-o", file) == f"hz3: {file} is written, for you to read\n"
    assert json.loads(file.read_text())["pid"] == redis
    assert "No such file" in refused("stats", redis, "-o", tmp_path / "none" / "x")


def test_a_background_pass_during_the_reading_is_noticed(program, monkeypatch):
    """The reader is held after it read the runs until the pass brought the free objects back to them."""
    reads, shared = [], Figures._shared

    def late(figures):
        latest = time.monotonic() + 30
        while not reads and figures.is_steady():
            assert time.monotonic() < latest, "no pass came"
            time.sleep(0.05)
        reads.append(figures)
        shared(figures)

    monkeypatch.setattr(Figures, "_shared", late)
    environment = on(library("scale"), HZ3_DECAY="3000")  # ms, so that no pass comes before the reader
    with resting(program("rests"), env=environment) as (process, _), Process(process.pid) as read:
        live = sum(c["live"] for c in stats.read(read)["classes"])
    assert len(reads) > 1 and KEPT <= live < KEPT + 500


@pytest.mark.parametrize("form", [[], ["--json"], ["--prom"]], ids=str)
def test_redis_is_read_in_no_time(redis, form):
    """In at most eight times the user and system time in which Python starts."""

    def taken(*command):
        run = [sys.executable, "-E", *command]
        return cpu_of_children(lambda: subprocess.run(run, check=True, stdout=subprocess.DEVNULL))

    read, start = zip(*((taken(ROOT / "look", "stats", *form, str(redis)), taken("-c", "")) for _ in range(10)), strict=True)
    assert sum(read) <= 8 * sum(start)


def test_text_names_the_figures(redis):
    text = said("stats", redis)
    assert re.search(r"^redis-server \(\d+\) on hz3 [\d.]+, lane \w+; threads: \d$", text, re.M)
    assert re.search(r"^allocated +[\d.]+ MiB ", text, re.M)
    assert re.search(r"^ +320 +\d+ +\d{4,} ", text, re.M)


def test_prometheus_text_is_what_the_reference_parser_takes(redis):
    families = {family.name: family for family in parse(said("stats", "--prom", redis))}
    read = json.loads(said("stats", "--json", redis))

    def value(family):
        (sample,) = families[family].samples
        assert sample.labels == {"pid": str(redis), "program": "redis-server"}
        return sample.value

    assert families["hz3_allocated_bytes"].type == "gauge" and families["hz3_purged_bytes"].type == "counter"
    assert abs(value("hz3_allocated_bytes") - read["allocated"]) < 1 << 20
    assert families["hz3_info"].samples[0].labels["lane"] == read["lane"]
    assert {s.labels["source"] for s in families["hz3_refills"].samples} == set(read["refills"])
    states = {s.labels["state"] for s in families["hz3_class_bytes"].samples}
    assert states == {"live", "cached", "free"}
    assert ("hz3_stashed_bytes" in families) == ("stashed" in read)


def test_what_a_process_calls_itself_stays_harmless(preload):
    name = 'a"}\n\x1b[31m\\'
    rests = [sys.executable, "-c", f"open('/proc/self/comm', 'w').write({name!r}); print('there', flush=True); input()"]
    with resting(*rests, env=preload.env) as (process, _):
        safe = 'a"}\\x0a\\x1b[31m\\'
        assert said("stats", process.pid).startswith(f"{safe} ({process.pid}) on hz3 ")
        assert said("explain", process.pid).startswith(f"{safe} ({process.pid}): ")
        samples = [s for family in parse(said("stats", "--prom", process.pid)) for s in family.samples]
        assert samples and {s.labels["program"] for s in samples} == {safe}


def test_a_process_at_work_can_be_read(preload):
    with resting(*BUSY, env=preload.env) as (process, _):
        for _ in range(5):
            assert json.loads(said("stats", "--json", process.pid))["allocated"] > 0


@pytest.mark.parametrize("verb", ["stats", "explain", "doctor"])
class TestNoProcess:
    def test_no_process(self, verb):
        with subprocess.Popen(["true"]) as gone:
            pass
        assert refused(verb, gone.pid) == f"hz3: there is no process {gone.pid}\n"

    def test_another_user_s(self, verb):
        if os.geteuid():
            pid, options = 1, {}
        else:
            pid, options = os.getpid(), {"user": 65534, "group": 65534, "extra_groups": []}
        line = refused(verb, pid, **options)
        assert line == f"hz3: process {pid} is not this user's to read; ask as its user, or as root\n"

    def test_ended_but_not_waited_for(self, verb):
        with subprocess.Popen(["true"]) as process:
            os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
            assert " ended " in refused(verb, process.pid)

    def test_a_thread_of_the_kernel(self, verb):
        name = Path("/proc/2/comm")
        if os.geteuid() or not name.exists() or name.read_text() != "kthreadd\n":
            pytest.skip("the kernel's threads cannot be seen here")
        assert refused(verb, 2) == "hz3: process 2 is a thread of the kernel, which has no memory of its own\n"


@pytest.mark.parametrize("verb", ["stats", "explain"])
class TestNothingToRead:
    def test_without_hz3(self, verb):
        with resting(*RESTS) as (process, _):
            assert re.fullmatch(rf"hz3: process {process.pid} \(python[\d.]*\) runs without hz3\n", refused(verb, process.pid))

    def test_no_number(self, verb):
        done = hz3(verb, "12x")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("hz3: ") and done.stderr.count("\n") == 1 and "'12x'" in done.stderr

    @pytest.mark.parametrize("old, new, line", [
        ((HEAD.size - 16, b"\2\0\0\0"), b"\1\0\0\0", r" [\d.]+, whose layout is 1: this hz3 reads 2"),
        ((0, MAGIC), bytes(len(MAGIC)), r" [\d.]+, which is too old: it has no layout for readers"),
        ((None, b"magazines.area\0"), b"magazines.aera\0", ", but what it says of itself makes no sense"),
    ], ids=["another layout", "no layout", "nonsense"])
    def test_a_library_that_says_something_else(self, verb, old, new, line, tmp_path):
        data = bytearray(library("scale").read_bytes())
        at = data.index(old[1]) if old[0] is None else data.index(MAGIC) + old[0]
        assert data[at : at + len(old[1])] == old[1]
        data[at : at + len(new)] = new
        changed = tmp_path / "libhz3_changed.so"
        changed.write_bytes(data)
        with resting(*RESTS, env=on(changed)) as (process, _):
            assert re.fullmatch(rf"hz3: process {process.pid} has hz3{line}\n", refused(verb, process.pid))


@pytest.mark.parametrize("scope, says", [
    (None, "is not this user's to read; ask as its user, or as root"),
    ("0", "is not this user's to read; ask as its user, or as root"),
    ("1", "may not be read: kernel.yama.ptrace_scope is 1; ask as root, or set it to 0 by sysctl"),
    ("3", "may not be read: kernel.yama.ptrace_scope is 3; nobody may until the next boot"),
])
def test_yama_is_named_when_it_refuses(tmp_path, monkeypatch, scope, says):
    """Reads of the process's memory are refused here as Yama's are: when its file is opened."""
    if scope:
        (tmp_path / "scope").write_text(f"{scope}\n")
    monkeypatch.setattr("look.process.YAMA", str(tmp_path / "scope"))
    opened = Process._open

    def refuses(self, name):
        if name == "mem":
            raise PermissionError
        return opened(self, name)

    monkeypatch.setattr(Process, "_open", refuses)
    with resting(*RESTS) as (process, _), pytest.raises(LookError) as refusal:
        Process(process.pid)
    assert str(refusal.value) == f"process {process.pid} {says}"


def test_it_ends_while_it_is_read(preload):
    with resting(*RESTS, env=preload.env) as (process, _), Process(process.pid) as opened:
        layout = find(opened)
        process.send_signal(signal.SIGKILL)
        process.wait()
        for read in (lambda: layout.value("threads"), lambda: opened.text("maps"), opened.smaps, lambda: opened.pages(0, 9)):
            with pytest.raises(LookError, match=f"^process {process.pid} ended before"):
                read()


def test_a_file_that_the_kernel_does_not_have_is_no_end_of_the_process():
    with Process(os.getpid()) as process:
        with pytest.raises(LookError, match=f"^this kernel has no /proc/{os.getpid()}/smaps_unrolled$"):
            process.contents("smaps_unrolled")
        with pytest.raises(LookError, match=" ended before it was read$"):
            process.contents("task/4194305/comm")


def test_it_ends_at_any_time(preload):
    """The process may end while it is read.  Then the reader prints what it has, or refuses."""
    for pause in range(0, 80, 8):
        with resting(*BUSY, env=preload.env) as (process, _):
            asked = subprocess.Popen([sys.executable, ROOT / "look", "explain", str(process.pid)], text=True,
                                     stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            time.sleep(pause / 1000)
        out, said_of_it = asked.communicate(timeout=20)
        assert (asked.returncode, said_of_it) == (0, "") or (asked.returncode, out, said_of_it.count("\n")) == (1, "", 1)


def test_what_cannot_be_written_is_one_line(preload):
    """On a full disk, and where nothing is open for it."""
    with resting(*BUSY, env=preload.env) as (process, _), open("/dev/full", "w") as full:
        for arguments in ["stats", "--prom", str(process.pid)], ["ps"], ["stats", "--help"]:
            command = [ROOT / "bin/hz3", *arguments]
            done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
            assert (done.returncode, done.stderr) == (1, "hz3: cannot write: No space left on device\n")
            closed = ["sh", "-c", 'exec "$@" >&-', "sh", *command]
            done = subprocess.run(closed, stderr=subprocess.PIPE, text=True)
            assert (done.returncode, done.stderr) == (1, "hz3: cannot write: stdout is closed\n")


def test_a_locale_that_lacks_the_characters_of_a_name(preload, tmp_path):
    with resting(*BUSY, env=preload.env) as (process, _):
        for encoding, name, escaped in ("ascii", "\u00e9", r"\xe9"), ("utf-8:strict", "\udce9", r"\udce9"):
            text = said("stats", process.pid, "-o", tmp_path / name, env={**WITH_OURS, "PYTHONIOENCODING": encoding})
            assert text == f"hz3: {tmp_path}/{escaped} is written, for you to read\n"
            assert (tmp_path / name).read_text().startswith("python")


def test_text_for_prometheus_is_utf_8_in_every_locale(preload):
    named = [sys.executable, "-c", "open('/proc/self/comm', 'w', encoding='utf-8').write('caf\u00e9')\n" + RESTS[-1]]
    with resting(*named, env=preload.env) as (process, _):
        text = said("stats", "--prom", process.pid, env={**WITH_OURS, "PYTHONIOENCODING": "ascii"}, encoding="utf-8")
    assert 'program="caf\u00e9"' in text and list(parse(text))


def test_without_prometheus_client(preload):
    with resting(*RESTS, env=preload.env) as (process, _):
        done, other = (
            subprocess.run([sys.executable, "-S", ROOT / "look", *arguments], capture_output=True, text=True)
            for arguments in (["stats", "--prom", str(process.pid)], ["exporter", "--listen", "0"])
        )
        assert done.returncode == 0 and {family.type for family in parse(done.stdout)} == {"gauge", "counter"}
        assert (other.returncode, other.stdout, other.stderr.count("\n")) == (1, "", 1)
        assert other.stderr == (f"hz3: exporter needs prometheus-client, which {sys.executable} lacks: "
                                f"{sys.executable} -m pip install prometheus-client\n")


def test_without_python(tmp_path):
    for needed in ("sh", "dirname", "readlink"):
        os.symlink(shutil.which(needed), tmp_path / needed)
    assert refused("stats", 1, env={"PATH": str(tmp_path)}) == "hz3: stats needs python3, which is not installed\n"


def test_a_static_program(program, tmp_path):
    archive = ROOT / "build/scale/libhz3.a"
    if not archive.is_file():
        pytest.skip(f"{archive} is not built")
    text = ("#include <stdio.h>\n#include <stdlib.h>\nint main(void) { void *volatile p = malloc(1000); "
            "puts(\"there\"); fflush(stdout); getchar(); free(p); }\n")
    for how in ("-static", "-Wl,--gc-sections"):
        with resting(program("linked", how, archive, "-ldl", text=text), env=WITH_OURS) as (process, _):
            read = json.loads(said("stats", "--json", process.pid))
            assert [c["live"] for c in read["classes"] if c["size"] == 1024] == [1]
            assert " on hz3 " in said("stats", process.pid)
