"""hz3 ps: which processes are on hz3, and hz3 explain of several: their sum ends in the sum of their RSS."""

import os
import re
import subprocess
import sys
import time
from contextlib import ExitStack

import pytest
from look_at import HZ3, WITH_OURS, cpu_of_children, hz3, refused, resting, said

from look import LookError, process, prometheus, ps, stats
from look.cli import gather, on_hz3
from look.process import Process, descendants, numbers

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]
LINE = re.compile(r" *(\d+) +([\d.]+ \w+) +([\d.]+ \w+|-) +([\d.]+ \w+|-)  (\S+) *(.*)")
# Writes 60 MiB, which its two children share with it; one writes 20 MiB more.
FORKS = """
import os, time
size = 300 # a name, since the compiler would make one constant of b"x" * 300
kept = [b"x" * size for _ in range(200000)]
for mib in 0, 20:
    if not (child := os.fork()):
        more = [b"y" * size for _ in range(mib * 3495)]
        print("there", flush=True)
        time.sleep(60)
time.sleep(60)
"""


def cpu_of_this(act):
    before = time.process_time()
    act()
    return time.process_time() - before


def first_of_ps():
    with subprocess.Popen([HZ3, "ps"], env=WITH_OURS, stdout=subprocess.PIPE, text=True) as asked:
        assert asked.stdout.readline().split()[0] == "PID"
        asked.kill()


def test_answers_take_a_moment(redis):
    """To the first line some ten times the user and system time in which Python starts; a scrape of one process once that."""

    def taken():
        yield cpu_of_children(lambda: subprocess.run([sys.executable, "-E", "-c", ""], check=True))
        yield cpu_of_children(lambda: said("explain", redis))
        yield cpu_of_children(first_of_ps)
        yield cpu_of_this(lambda: prometheus.text(gather(redis, stats.read)))

    start, explain, first, scrape = map(sum, zip(*(taken() for _ in range(10)), strict=True))
    assert explain <= 16 * start and first <= 10 * start and scrape <= 1.2 * start


def size(text):
    number, unit = text.split()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}[unit]


def listed():
    head, *lines = said("ps").splitlines()
    assert head.split() == ["PID", "RSS", "live", "free", "program", "advice"]
    found = [LINE.fullmatch(line) for line in lines]
    assert all(found), lines
    return {int(m[1]): m for m in found}


def test_the_processes_on_hz3_with_what_is_live_and_free_and_advice(preload, program):
    with resting(program("holes"), env=preload.env) as (holes, _), resting(*RESTS) as (other, _):
        found = listed()
    assert other.pid not in found
    of = found[holes.pid]
    live, free, rss = (size(of[i]) for i in (3, 4, 2))
    assert of[5] == "holes" and 12 << 20 < live < 14 << 20, "it keeps 40000 objects of 320 bytes"
    assert live + free < rss and free > 100 << 20
    assert of[6].startswith("No option gives back what is free in pages")


def test_the_largest_comes_first_and_what_cannot_be_read_says_why(preload, program, monkeypatch):
    with resting(program("holes"), env=preload.env) as (large, _), resting(*RESTS, env=preload.env) as (small, _):

        def nobody_may(pid):
            raise LookError(f"process {pid} is not to be read")

        _head, *lines = ps.lines([small.pid, large.pid], nobody_may)
    assert [int(LINE.fullmatch(line)[1]) for line in lines] == [large.pid, small.pid]
    for pid, line in zip((large.pid, small.pid), lines, strict=True):
        assert line.endswith(f"process {pid} is not to be read")


def test_without_proc(monkeypatch):
    def none(path):
        raise FileNotFoundError(2, "No such file or directory")

    for listed in none, lambda path: []:  # an empty folder, where it is not mounted
        monkeypatch.setattr(os, "listdir", listed)
        for act in numbers, lambda: descendants(1), lambda: list(on_hz3()), lambda: Process(4194305):
            with pytest.raises(LookError, match="^/proc cannot be read"):
                act()


def test_what_ends_meanwhile_is_left_out_and_nothing_is_refused(preload):
    with resting(*RESTS, env=preload.env) as (gone, _):
        pass

    def read(pid):
        raise LookError(f"there is no process {pid}")

    with pytest.raises(LookError, match="^no process on hz3 is this user's to read$"):
        list(ps.lines([gone.pid], read))


def family(pid):
    return [pid, *map(int, open(f"/proc/{pid}/task/{pid}/children").read().split())]


@pytest.fixture
def forked(preload):
    with resting(sys.executable, "-c", FORKS, env={**preload.env, "PYTHONMALLOC": "malloc"}, start_new_session=True) as (
        process,
        _,
    ):
        process.stdout.readline()
        try:
            yield process.pid
        finally:
            os.killpg(process.pid, 9)


def test_a_parent_and_its_children_are_one_sum(forked):
    pids = family(forked)
    assert len(pids) == 3 and process.descendants(forked) == pids
    text = said("explain", "--children", forked)
    assert re.match(r"3 processes: where ([\d.]+ MiB) of resident memory is \(PSS ([\d.]+ MiB)\)\n\n", text)
    rows = [re.fullmatch(r" *(\d+) +(\d\S+ \w+) +(\S+ \w+) +(\S+ \w+) +(\S+ \w+)  \S+", line) for line in text.splitlines()]
    rows = [row for row in rows if row]
    assert [int(row[1]) for row in rows] == pids
    with ExitStack() as stack:
        opened = [stack.enter_context(Process(pid)) for pid in pids]
        rss, pss = sum(p.resident() for p in opened), sum(p.proportional() for p in opened)
    said_rss, said_pss = map(size, re.search(r"where ([\d.]+ MiB) of .* \(PSS ([\d.]+ MiB)\)", text).groups())
    assert abs(said_rss - rss) < 0.02 * rss and abs(said_pss - pss) < 0.02 * rss
    assert said_pss < 0.6 * said_rss, "most of it is shared by three"
    assert " threads' magazines (of 3 threads)\n" in text, "each has one"
    total = size(re.search(r"^ *([\d.]+ MiB) +\S+ %  sum$", text, re.M)[1])
    assert abs(total - rss) < 0.02 * rss
    live = sum(size(row[4]) for row in rows)
    assert abs(live - sum(size(m) for m in re.findall(r"^ *(\S+ \w+) +\S+ %  live ", text, re.M))) < 1 << 20


def test_several_are_named_by_number_and_each_once(forked):
    pids = family(forked)
    text = said("explain", *pids[:2], pids[0])
    assert text.startswith("2 processes: where ")
    assert said("explain", pids[0]).startswith(f"python ({pids[0]}): where ".replace("python", Process(pids[0]).name))


def test_children_without_hz3_are_left_out_and_said(preload):
    """A program on hz3 that started one without it, and the other way round."""
    starts = "import subprocess\nprint(subprocess.Popen(['sleep', '60'], env={{{}}}).pid, flush=True)\ninput()"
    with resting(sys.executable, "-c", starts.format(""), env=preload.env, start_new_session=True) as (parent, line):
        text = said("explain", "--children", parent.pid)
        os.killpg(parent.pid, 9)
    assert f"Left out: process {int(line)} (sleep) runs without hz3." in text.splitlines()
    on_hz3 = f"'LD_PRELOAD': {str(preload.library)!r}"
    with resting(sys.executable, "-c", starts.format(on_hz3), start_new_session=True) as (parent, line):
        text = said("explain", "--children", parent.pid)
        assert " runs without hz3\n" in refused("explain", parent.pid)
        os.killpg(parent.pid, 9)
    assert text.startswith(f"sleep ({int(line)}): where ")


def test_of_several_one_that_cannot_be_read_is_refused(preload):
    with resting(*RESTS, env=preload.env) as (one, _), resting(*RESTS) as (other, _):
        assert f"process {other.pid} (" in refused("explain", one.pid, other.pid)
        assert " runs without hz3\n" in refused("explain", "--children", other.pid)
    assert hz3("explain").returncode == 2 and hz3("ps", "1").returncode == 2
