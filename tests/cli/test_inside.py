"""What a program reads, sets and dumps of its own hz3, by Python's functions, and what HZ3_DUMP writes meanwhile."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from look import symbols

ROOT = Path(__file__).resolve().parents[2]


def run(preload, code, **options):
    """What the code prints, in a process on hz3 that has the package."""
    env = {**preload.env, "PYTHONPATH": str(ROOT / "packaging/python/src"), "PYTHONMALLOC": "malloc", **options}
    return subprocess.run([sys.executable, "-c", f"import hz3, json, os, signal, time\n{code}"], env=env,
                          capture_output=True, text=True, timeout=60)


def said(preload, code, **options):
    done = run(preload, code, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def names(root):
    """All that `hz3 options` lists, by what may be set."""
    text = subprocess.run([root / "bin/hz3", "options"], capture_output=True, text=True, check=True).stdout
    options, _, others = text.partition("\nOther names")
    live = re.findall(r"^(HZ3_\w+)=.*\n    .*hz3_control may change it$", options, re.M)
    return live, re.findall(r"^(HZ3_\w+)=", options, re.M), re.findall(r"^([a-z_.]+)$", others, re.M)


def test_every_listed_figure_and_number_is_read_by_its_name(preload):
    live, every, others = names(ROOT)
    assert set(live) == {"HZ3_DECAY", "HZ3_BACKGROUND", "HZ3_SOFT_LIMIT", "HZ3_RETAIN", "HZ3_RETAIN_SHARE", "HZ3_PROFILE"}
    words = {"HZ3_STATS", "HZ3_DUMP", "HZ3_THP", "HZ3_FOREIGN_FREE", "HZ3_PROFILE_FILE"}  # no numbers
    wanted = [*(name for name in every if name not in words), *others]
    figures = json.loads(said(preload, f"print(json.dumps([hz3.stats(), {{n: hz3.get(n) for n in {wanted}}}]))"))
    stats, read = figures
    flat = {name for name, value in stats.items() if isinstance(value, int)} - {"pid"}
    assert set(others) == flat | {f"refills.{name}" for name in stats["refills"]} | {
        "purge", "thread.allocated", "thread.freed"}
    assert len(read) == len(wanted) > 30 and read["threads"] == 1 and read["allocated"] > 0


def test_what_may_change_changes_and_nothing_else_does(preload):
    live, every, others = names(ROOT)
    code = f"""
for name in {live}:
    before = hz3.get(name)
    hz3.set(name, 1)
    print(name, hz3.get(name))
    hz3.set(name, before)
def refused(name, value):
    before = hz3.stats()["lane"], [hz3.get(n) for n in {live}]
    try:
        hz3.set(name, value)
    except OSError as error:
        assert before == (hz3.stats()["lane"], [hz3.get(n) for n in {live}])
        return error.strerror
print(*{{refused(name, 1) for name in {sorted(set(every) - set(live) - {"HZ3_STATS", "HZ3_DUMP", "HZ3_THP",
                                                            "HZ3_FOREIGN_FREE", "HZ3_PROFILE_FILE"})}}})
print(*{{refused(name, 1) for name in {[name for name in others if name != "purge"]}}})
print(*{{refused(name, value) for name, value in (
    ("HZ3_NONE", 1), ("none", 1), ("", 1), ("HZ3_STATS", 1), ("HZ3_DECAY", 1 << 40), ("HZ3_BACKGROUND", 2), ("purge", 2))}})
"""
    *set_to, start, figures, wrong = said(preload, code).splitlines()
    assert set_to == [f"{name} 1" for name in live]
    assert start == figures == os.strerror(1) and wrong == os.strerror(22)


def test_a_changed_option_is_heeded(preload):
    """Memory that waits longer than the test goes back within it once the decay time is short."""
    code = """
blocks = [bytearray(60000) for _ in range(1000)]
del blocks
def waits():
    return hz3.get("dirty")
before = waits()
hz3.set("HZ3_RETAIN", 1 << 20)
hz3.set("HZ3_DECAY", 1)
until = time.monotonic() + 20
while waits() > 4 << 20 and time.monotonic() < until:
    bytearray(100000)
    time.sleep(0.01)
print(before > 30 << 20, waits() <= 4 << 20)
"""
    assert said(preload, code, HZ3_DECAY="600s", HZ3_BACKGROUND="0") == "True True\n"


def test_a_purge_gives_memory_back(preload):
    code = """
blocks = [bytearray(60000) for _ in range(1000)]
del blocks
before = hz3.get("purged")
hz3.purge()
print(hz3.get("purged") - before > 30 << 20)
"""
    assert said(preload, code, HZ3_DECAY="600s", HZ3_BACKGROUND="0") == "True\n"


def test_a_thread_counts_its_own_bytes(preload):
    code = """
import threading
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as other:
    def net():
        allocated, freed = hz3.thread_bytes()
        return allocated - freed
    before, there = net(), other.submit(net).result()
    kept = [bytearray(1000) for _ in range(20000)]  # each has a block of 1024 bytes, and Python's object beside it
    made = net() - before
    away = other.submit(lambda: [kept.pop() for _ in range(20000)] and None)
    away.result()
    gone = there - other.submit(net).result()
print(made // 20000, gone // 20000)
"""
    made, gone = map(int, said(preload, code).split())
    assert 1024 + 48 <= made <= 1024 + 128 and 1024 + 48 <= gone <= 1024 + 128


def test_a_profile_from_inside_is_what_go_s_pprof_takes(preload, tmp_path):
    """The reader of the format is Go's, where there is one; else the format's own messages."""
    code = f"""
assert hz3.pprof() == b""
hz3.set("HZ3_PROFILE", 64 << 10)
kept = [bytearray(1000) for _ in range(50000)]
gone = [bytearray(1000) for _ in range(50000)]
del gone
hz3.set("HZ3_PROFILE", 0)
open({str(tmp_path / "of.pb")!r}, "wb").write(hz3.pprof())
print(hz3.get("HZ3_PROFILE"))
"""
    assert said(preload, code) == "0\n"
    assert symbols.OF_ALLOCATOR.encode() in (tmp_path / "of.pb").read_bytes(), "what pprof leaves out"
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        pytest.skip("there is no go")
    mib = {}
    for kind in ("inuse_space", "alloc_space"):
        argv = [go, "tool", "pprof", "-top", "-unit=B", f"-sample_index={kind}", tmp_path / "of.pb"]
        done = subprocess.run(argv, capture_output=True, text=True, env={**os.environ, "PPROF_TMPDIR": str(tmp_path)},
                              check=True)
        assert "no such file" not in done.stderr, "pprof finds the files, for names that the program's tables lack"
        assert f"Type: {kind}" in done.stdout and "PyByteArray_Resize" in done.stdout, "functions have names"
        assert " hz3_" not in done.stdout and "malloc" not in done.stdout.partition("cum%")[2], "the allocator is left out"
        mib[kind] = float(re.search(r"of (\d+)B total", done.stdout)[1]) / (1 << 20)
    assert 40 < mib["inuse_space"] < 70, "50000 blocks of 1001 bytes, within 4 times the error of 800 samples"
    assert 85 < mib["alloc_space"] < 125


def test_go_s_pprof_reads_what_the_page_s_example_serves(preload, tmp_path):
    page = (ROOT / "docs/use/inside.md").read_text()
    code = re.search(r"^    import http.*\n(?:    .*\n|\n)*?.*serve_forever\(\)$", page, re.M)[0]
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    code = re.sub("^    ", "", code, flags=re.M).replace("6060", str(port))
    code = code.replace("http.server.HTTP", "kept = [bytearray(1000) for _ in range(50000)]\nhttp.server.HTTP")
    go = shutil.which("go") or "/usr/local/go/bin/go"
    if not os.path.exists(go):
        pytest.skip("there is no go")
    env = {**preload.env, "PYTHONPATH": str(ROOT / "packaging/python/src"), "PYTHONMALLOC": "malloc"}
    with subprocess.Popen([sys.executable, "-c", code], env=env, stderr=subprocess.DEVNULL) as server:
        try:
            until = time.monotonic() + 30
            while time.monotonic() < until:
                with socket.socket() as there:
                    if not there.connect_ex(("127.0.0.1", port)):
                        break
                time.sleep(0.05)
            done = subprocess.run([go, "tool", "pprof", "-top", f"http://127.0.0.1:{port}/debug/pprof/heap"], text=True,
                                  capture_output=True, env={**os.environ, "PPROF_TMPDIR": str(tmp_path)}, timeout=60)
        finally:
            server.kill()
    assert "PyByteArray_Resize" in done.stdout, done.stderr


def test_outside_hz3_the_functions_say_so(preload):
    done = run(preload, "hz3.stats()", LD_PRELOAD="")
    assert done.returncode == 1 and "does not run on hz3" in done.stderr


def lines(text):
    return len(re.findall(r"^hz3: \[\d+ [^\]]+\] stats \(bytes\):", text, re.M))


# Works until it is ended without exit.
WORKS = """
import itertools
for i in itertools.count():
    kept = [bytearray(n * 10) for n in range(1000)]
    {}
"""


def test_a_process_that_ends_without_exit_has_dumped_at_its_intervals(preload, tmp_path):
    begun = time.monotonic()
    done = run(preload, WORKS.format("time.sleep(0.01); i == 60 and os._exit(3)"), HZ3_STATS=str(tmp_path / "of.txt"),
               HZ3_DUMP="100ms", HZ3_PROFILE="64K", HZ3_PROFILE_FILE=str(tmp_path / "of.profile"))
    assert (done.returncode, done.stderr) == (3, "")
    assert 3 <= lines((tmp_path / "of.txt").read_text()) <= 1 + (time.monotonic() - begun) / 0.1
    assert (tmp_path / "of.profile").read_text().startswith("hz3 heap profile 1\n")


def test_a_signal_asks_for_a_dump(preload):
    done = run(preload, WORKS.format("i == 20 and os.kill(os.getpid(), signal.SIGUSR2); i == 40 and os._exit(3)"),
               HZ3_DUMP="USR2")
    assert done.returncode == 3 and lines(done.stderr) == 1


def test_a_peak_is_dumped_into_a_file_of_its_own(preload, tmp_path):
    code = """
kept = [bytearray(1000) for _ in range(50000)]
del kept
again = [bytearray(1000) for _ in range(10000)]
os._exit(3)
"""
    done = run(preload, code, HZ3_DUMP="peak", HZ3_PROFILE="16K", HZ3_PROFILE_FILE=str(tmp_path / "of.profile"))
    assert (done.returncode, done.stderr) == (3, "") and os.listdir(tmp_path) == ["of.profile.peak"]
    text = subprocess.run([ROOT / "bin/hz3", "profile", tmp_path / "of.profile.peak"], capture_output=True, text=True,
                          check=True).stdout
    live = float(re.search(r": ([\d.]+) MiB live", text)[1])
    assert 50_000_000 / (1 << 20) * 8 / 9 - 8 < live < 60, "an eighth less than the peak at most, and the error"


@pytest.mark.parametrize("bad", ["", "x", "10", "peak,", ",", "0s", "USR3", "65", "peaks", "1s,,2s",
                                 "USR1,USR2", "1s,2s", "1", "9", "11", "19", "32"])
def test_a_bad_list_is_refused(preload, bad):
    done = subprocess.run(["/bin/true"], env={**preload.env, "HZ3_DUMP": bad}, capture_output=True, text=True)
    if bad == "10":  # a signal, SIGUSR1
        assert done.stderr == ""
    else:
        assert done.stderr.startswith(f"hz3: warning: bad value for HZ3_DUMP: {bad} (it takes 0, or a list of a time")
