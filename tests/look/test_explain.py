"""hz3 explain: its rows add up to RSS, and name what holds the memory."""

import json
import os
import re
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import pytest
from look_at import refused, resting, said

from lab import ROOT
from look import explain
from look.figures import Figures
from look.layout import find
from look.process import PAGE, Process
from look.snapshot import SMAPS

SUM = re.compile(r"^ *([\d.]+ \w+) +([\d.]+) %  sum$", re.M)
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
HOLE = re.compile(r"^ *([\d.]+ \w+) +([\d.]+) %  objects of (\d+) bytes: (\d+) live and (\d+) cached pin it$", re.M)
OPTIONS = set(re.findall(r"^HZ3_OPTION\((\w+)", (ROOT / "src/api/options.def").read_text(), re.M))


def share(text, what):
    """The row's share of RSS in per cent, or 0 if there is no such row."""
    found = re.search(rf"^ *[\d.]+ \w+ +([\d.]+) %  {what}(?: \(|$)", text, re.M)
    return float(found[1]) if found else 0


def resident(pid):
    return int(re.search(r"^VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1]) << 10


def size(text):
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


STATE = 512 << 10  # of hz3's library, code and variables


def check_metadata(pid, text):
    """Metadata is what no other row has, which is as much as lies where hz3 says that its tables are.  Rows of objects
    take a little of it if pages of objects that nobody touched yet are missing: at most a 500th of the sum."""
    with Process(pid) as process:
        figures = Figures(find(process))
        parts = [table for window in figures.windows for table in window.tables] + [(figures.area, len(figures.magazines))]
        tables = sum(process.pages(start, start + length).count(1) * PAGE for start, length in parts)
    assert tables - TENTH - row(text, "sum") / 500 <= row(text, "metadata") <= tables + STATE + TENTH, text


def lane_env(preload, **options):
    return {**preload.env, **options}


def test_on_redis_the_sum_is_rss(redis):
    before = resident(redis)
    text = said("explain", redis)
    total = size(SUM.search(text)[1])
    assert abs(total - before) < 0.02 * before and abs(float(SUM.search(text)[2]) - 100) < 2
    parts = [size(line) for line in re.findall(r"^ *([\d.]+ \w+) +[\d.]+ %  (?!sum|objects of)", text, re.M)]
    assert abs(sum(parts) - total) < 0.02 * total
    check_metadata(redis, text)
    assert share(text, "live objects") > 30 and share(text, "program and libraries") > 1


def test_nine_in_ten_objects_of_a_class_are_freed(preload, program):
    with resting(program("holes"), env=preload.env) as (process, _):
        text = said("explain", process.pid)
        check_metadata(process.pid, text)
    (bytes_, part, objects_of, live, _), *rest = HOLE.findall(text)
    assert (objects_of, float(part) > 90) == ("320", True)
    assert abs(int(live) - 40000) < 100
    assert size(bytes_) > 0.5 * 400000 * 320, "a page holds twelve, so that few pages have none that lives"
    assert sum(float(h[1]) for h in rest) < 10
    assert share(text, "free objects in runs in use") > 50


WAITS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    enum { BLOCKS = 200, SIZE = 1 << 20 };
    static char *block[BLOCKS];
    for (int i = 0; i < BLOCKS; i++) block[i] = memset(malloc(SIZE), 1, SIZE);
    for (int i = 0; i < BLOCKS; i++) free(block[i]);
    puts("there"); fflush(stdout); getchar();
}
"""


def test_what_waits_to_go_back_and_what_would_make_it(preload, program):
    with resting(program("waits", text=WAITS), env=lane_env(preload, HZ3_BACKGROUND="0", HZ3_DECAY="60s")) as (process, _):
        text = said("explain", process.pid)
        check_metadata(process.pid, text)
    assert share(text, "waiting to go back") > 80
    assert re.search(r"^HZ3_RETAIN=\d+M ", text, re.M)
    assert "60000 ms after it was freed" in text


def test_threads_magazines_and_what_is_in_flight(preload, program):
    with resting(program("rests"), env=lane_env(preload, HZ3_BACKGROUND="0")) as (process, _):
        text = said("explain", process.pid)
        check_metadata(process.pid, text)
    assert share(text, "in flight between threads") > 20 and share(text, "threads' magazines") > 0
    assert re.search(r" %  stacks \(", text)
    advice = re.findall(r"^(?=\S).*HZ3_\w+.*\.$", text, re.M)
    assert 1 <= len(advice) <= 3 and {o for line in advice for o in re.findall(r"HZ3_(\w+)", line)} <= OPTIONS


@pytest.mark.parametrize("changes", [0, 2, 3])
def test_what_changes_while_it_is_read_is_read_again_or_told(preload, program, monkeypatch, changes):
    readings, true = [], Process.resident

    def resident_of(process):
        readings.append(true(process))
        return readings[-1] * (2 if len(readings) <= changes else 1)

    with resting(program("holes"), env=preload.env) as (running, _), Process(running.pid) as process:
        monkeypatch.setattr(Process, "resident", resident_of)
        found = explain.read(process)
    assert len(readings) == min(changes + 1, 3)
    assert (found.miss() > 0.02 * found.rss) == (changes == 3) == any("changed while" in note for note in found.notes)


ONLY_READS = """
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    enum { SIZE = 200 << 20 };
    volatile char *p = calloc(1, SIZE);
    for (int i = 0; i < SIZE; i += 4096) (void)p[i];
    puts("there"); fflush(stdout); getchar();
}
"""


def test_what_was_only_read_is_not_resident(preload, program):
    with resting(program("reads", text=ONLY_READS), env=preload.env) as (process, _):
        text = said("explain", process.pid)
    assert size(SUM.search(text)[1]) < 20 << 20 and abs(float(SUM.search(text)[2]) - 100) < 2


# Only reads large objects, and writes small ones.
PARTS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    for (int i = 0; i < 60; i++) (void)*(volatile char *)malloc(60000);
    for (int i = 0; i < 20000; i++) memset(malloc(320), 1, 320);
    puts("there"); fflush(stdout); getchar();
}
"""
# Frees objects of 320 bytes, 150 in a row, and so whole pages of runs, which are of 64 KiB.
GAPS = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    enum { OBJECTS = 300000, SIZE = 320 };
    static char *objects[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) objects[i] = memset(malloc(SIZE), 1, SIZE);
    for (int i = 0; i < OBJECTS; i++) if (i % 200 >= 50) free(objects[i]);
    puts("there"); fflush(stdout); getchar();
}
"""
# Fills a thread's magazines of many classes.
CACHES = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(void) {
    static char *objects[200];
    for (int round = 0; round < 6; round++)
        for (int size = 2000; size < 20000; size += 500) {
            for (int i = 0; i < 200; i++) objects[i] = memset(malloc(size), 1, size);
            for (int i = 0; i < 200; i++) free(objects[i]);
        }
    puts("there"); fflush(stdout); getchar();
}
"""
PROGRAMS = {"waits": WAITS, "gaps": GAPS, "few": GAPS.replace("300000", "60000"), "caches": CACHES, "rests": None, "holes": None}


def explained(library, path, env, enough=lambda _: True):
    """What is said once it is enough; at the latest after 10 s."""
    with resting(path, env={**os.environ, "LD_PRELOAD": str(library), **env}) as (process, _):
        end = time.monotonic() + 10
        while not enough(text := said("explain", process.pid)) and time.monotonic() < end:
            time.sleep(0.1)
        return text


def advised(text):
    """{sentence: bytes}"""
    found = re.findall(r"^((?:HZ3_|A shorter|No option).*) \(([\d.]+ \w+)\)\.?$", text, re.M)
    return {words: size(number) for words, number in found}


def acts(program, name, env, sentence, what, *following):
    """Each of these takes most of the row away that the sentence is about."""
    library, path = ROOT / "libhakozuna_hz3_scale.so", program(name, text=PROGRAMS[name])
    before = explained(library, path, env)
    (words,) = [words for words in advised(before) if re.match(sentence, words)]

    def helped(after):
        return row(before, what) - row(after, what) > 0.4 * advised(before)[words] and words not in advised(after)

    for options in following or (dict(re.findall(r"(HZ3_\w+)=(\w+)", words)),):
        after = explained(library, path, {**env, **options}, helped)
        assert helped(after), after
    return before


LONG, ALONE = {"HZ3_DECAY": "60s"}, {"HZ3_BACKGROUND": "0"}


@pytest.mark.parametrize("name, env, sentence, what, following", [
    ("waits", {**LONG, **ALONE}, r"HZ3_RETAIN=\w+ gives back", "waiting to go back", []),
    ("waits", LONG, r"HZ3_RETAIN=\w+ or a shorter HZ3_DECAY", "waiting to go back",
     [{"HZ3_RETAIN": "100M"}, {"HZ3_DECAY": "50ms"}]),
    ("gaps", LONG, r"A shorter HZ3_DECAY", "free objects in runs in use", [{"HZ3_DECAY": "50ms"}]),
    ("caches", {}, r"HZ3_CACHE_TOTAL=\w+ bounds", "threads' magazines", []),
    ("rests", ALONE, r"HZ3_TRANSFER_CACHE=\w+ keeps", "in flight between threads", []),
])
def test_what_is_advised_acts(program, name, env, sentence, what, following):
    acts(program, name, env, sentence, what, *following)


@pytest.mark.skipif("never" in re.findall(r"\[(\w+)\]", HUGE_PAGES.read_text() if HUGE_PAGES.exists() else "[never]"),
                    reason="the system makes no huge pages")
def test_huge_pages_that_were_only_read_are_not_resident(preload, program, tmp_path):
    env = leaves(tmp_path, preload, HZ3_THP="always", HZ3_BACKGROUND="0", HZ3_DECAY="60s")
    with resting(program("parts", text=PARTS), env=env) as (process, _):
        outside = said("explain", process.pid)
        process.communicate(b"x")
    assert abs(float(SUM.search(outside)[2]) - 100) < 0.2
    agree(left(tmp_path, process), outside)


@pytest.mark.skipif("never" in re.findall(r"\[(\w+)\]", HUGE_PAGES.read_text() if HUGE_PAGES.exists() else "[never]"),
                    reason="the system makes no huge pages")
@pytest.mark.xfail(reason="in a program with one thread the frees break most huge pages before anybody asks", strict=False)
def test_huge_pages_are_told_and_advised_against(program):
    text = acts(program, "few", {"HZ3_THP": "always"}, "HZ3_THP=never lets", "free, in huge pages")
    assert re.search(r"^\d+\.\d MiB of hz3's memory are in huge pages\.$", text, re.M)
    assert abs(float(SUM.search(text)[2]) - 100) < 2


def test_where_no_option_helps_that_is_said(program):
    library, path = ROOT / "libhakozuna_hz3_scale.so", program("holes")
    for options in {}, {"HZ3_DECAY": "10ms", "HZ3_RETAIN": "0", "HZ3_SOFT_LIMIT": "1M", "HZ3_TRANSFER_CACHE": "64K"}:
        (words, number), = advised(explained(library, path, options, lambda text: len(advised(text)) == 1)).items()
        assert words.startswith("No option gives back what is free in pages") and number > 100 << 20
    text = explained(library, program("rests"), {**ALONE, "HZ3_TRANSFER_CACHE": "64K"})
    assert "HZ3_TRANSFER_CACHE" not in text


def test_every_option_that_may_be_advised_exists():
    named = set(re.findall(r"HZ3_(\w+)=?", (ROOT / "look/explain.py").read_text()))
    assert named and named <= OPTIONS


@pytest.mark.parametrize("lane", ["classic", "memory", "r90", "secure"])
def test_other_lanes_are_explained_too(lane, program):
    env = {**os.environ, "LD_PRELOAD": str(ROOT / f"libhakozuna_hz3_{lane}.so")}
    with resting(program("holes"), env=env) as (process, _):
        text = said("explain", process.pid)
        check_metadata(process.pid, text)
    size = "352" if lane == "secure" else "320"  # lane secure adds a canary
    assert HOLE.search(text)[3] == size and abs(float(SUM.search(text)[2]) - 100) < 2


def test_a_child_of_fork_is_explained(preload):
    forks = ["/usr/bin/env", "python3", "-c", "import os, time\nx = [bytes(300) for _ in range(200000)]\n"
             "child = os.fork()\nprint(child or '', flush=True) if child else None\ntime.sleep(60)"]
    with resting(*forks, env=preload.env, start_new_session=True) as (process, line):
        try:
            assert abs(float(SUM.search(said("explain", int(line)))[2]) - 100) < 2
        finally:
            os.killpg(process.pid, 9)


ROWS = ["live objects", "live large blocks", "heaps of the program's own", "free objects in runs in use",
        "objects never handed out", "threads' magazines", "in flight between threads", "waiting to go back",
        "free, in huge pages", "metadata", "stacks", "program and libraries", "shared memory", "other mappings", "sum"]
TENTH = (1 << 20) // 20  # half of the reader's last digit, a tenth of a MiB


def row(text, what):
    found = re.search(rf"^ *([\d.]+ \w+) +[\d.]+ %  {what}(?: \(|$)", text, re.M)
    return size(found[1]) if found else 0


def leaves(tmp_path, preload, **options):
    """The environment of a program that leaves a snapshot."""
    return lane_env(preload, HZ3_STATS=f"explain:{tmp_path}/of-%p", **options)


def left(tmp_path, process):
    return said("explain", tmp_path / f"of-{process.pid}.memory")


def agree(snapshot, outside):
    for name in ROWS:
        most = TENTH + 0.02 * row(outside, "sum")
        assert abs(row(snapshot, name) - row(outside, name)) < most, f"{name}\n{snapshot}\n{outside}"
    parts = [row(snapshot, name) for name in ROWS[:-1]]
    assert abs(sum(parts) - row(snapshot, "sum")) < 0.001 * row(snapshot, "sum") + len(parts) * TENTH


PYTHON = """
import ctypes, random
random.seed(1)
kept = [bytes(random.randrange(2000)) for _ in range(100000)]
kept = [x for x in kept if random.random() < .3]
print("there", flush=True)
input()
ctypes.CDLL(None).malloc_stats()
print("told", flush=True)
input()
"""


def test_a_line_break_in_the_name_of_the_program(preload, program, tmp_path):
    odd = tmp_path / "a\nb"
    shutil.copy(program("nothing", text="#include <stdlib.h>\nint main(void) { free(malloc(1)); }"), odd)
    with subprocess.Popen([odd], env=leaves(tmp_path, preload)) as process:
        process.wait()
    assert row(left(tmp_path, process), "sum") > 0


def test_a_snapshot_says_the_same_of_python(preload, tmp_path):
    env = leaves(tmp_path, preload, PYTHONMALLOC="malloc", **ALONE, **LONG)  # nothing goes back meanwhile
    with resting(sys.executable, "-c", PYTHON, env=env) as (process, _):
        outside = said("explain", process.pid)
        process.stdin.write(b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == b"told\n"
        now = left(tmp_path, process)
        process.communicate(b"\n")
    agree(now, outside)
    assert row(now, "sum") > 60 << 20 and row(left(tmp_path, process), "live objects") < row(now, "live objects") / 2


@pytest.mark.parametrize("lane", ["scale", "classic", "memory", "secure"])
def test_a_program_full_of_holes_leaves_the_same(lane, program, tmp_path):
    env = {**os.environ, "LD_PRELOAD": str(ROOT / f"libhakozuna_hz3_{lane}.so"), "HZ3_STATS": f"explain:{tmp_path}/of-%p",
           "HZ3_BACKGROUND": "0"}
    with resting(program("holes"), env=env) as (process, _):
        outside = said("explain", process.pid)
        process.communicate()
    snapshot = left(tmp_path, process)
    agree(snapshot, outside)
    assert HOLE.findall(snapshot)[0][2:] == HOLE.findall(outside)[0][2:]
    assert advised(snapshot).keys() == advised(outside).keys()


def test_what_was_only_read_and_what_is_in_flight_are_the_same_in_a_snapshot(preload, program, tmp_path):
    for name, text in ("reads", ONLY_READS), ("rests", None), ("waits", WAITS):
        env = leaves(tmp_path, preload, HZ3_BACKGROUND="0", HZ3_DECAY="60s")
        with resting(program(name, text=text), env=env) as (process, _):
            outside = said("explain", process.pid)
            process.communicate(b"x")
        snapshot = left(tmp_path, process)
        agree(snapshot, outside)
        assert bool(re.search(r"\bHZ3_RETAIN=\d+M ", snapshot)) == (name == "waits")


def test_what_is_no_snapshot_is_refused(preload, program, tmp_path):
    with resting(program("holes"), env=leaves(tmp_path, preload)) as (process, _):
        process.communicate()
    whole = (tmp_path / f"of-{process.pid}.memory").read_bytes()
    lines = b"\n".join(whole.split(b"\n", 5)[:5]) + b"\n"
    for name, data in (
        ("empty", b""), ("text", b"a\nb c\nd\ne\n\nf"), ("cut", whole[:-5]), ("head", whole[:1000]), ("lines", lines),
        ("mappings", lines + struct.pack("=QQQ", SMAPS, 0, 0)),
    ):  # fmt: skip
        file = tmp_path / f"{name}.memory"
        file.write_bytes(data)
        assert f"{file} is no snapshot of a process on hz3, or not a whole one" in refused("explain", file)
    assert "No such file" in refused("explain", tmp_path / "none")


HEAPS = 60000 * 320 + 20 * 500000  # bytes, of heaps.c


def test_heaps_of_the_programs_own_have_a_row(preload, program, tmp_path):
    with resting(program("heaps"), env=leaves(tmp_path, preload, HZ3_BACKGROUND="0")) as (process, line):
        outside, read = said("explain", process.pid), json.loads(said("stats", "--json", process.pid))
        process.communicate(b"x")
    agree(left(tmp_path, process), outside)
    own = json.loads(line)
    assert HEAPS <= row(outside, "heaps of the program's own") + TENTH < 1.05 * HEAPS
    assert {name: own[name] for name in ("allocated", "active", "in_heaps")} == {
        name: read[name] for name in ("allocated", "active", "in_heaps")}
    live = (30000 + 60000) * 320 + 20 * 500000
    assert HEAPS < own["in_heaps"] < 1.1 * HEAPS and live < own["allocated"] < 1.05 * live
    assert next(c["live"] for c in read["classes"] if c["size"] == 320) in range(60000, 60100)


def test_closing_the_pipe_early_is_no_error(preload, program):
    with resting(program("holes"), env=preload.env) as (process, _):
        done = subprocess.run(f"{ROOT}/bin/hz3 explain {process.pid} | head -c 1", shell=True, capture_output=True)
    assert done.stderr == b""
