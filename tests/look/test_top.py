"""hz3 top: what an 80-column screen shows of one process and of several, the keys, and how it ends."""

import curses
import os
import pty
import re
import select
import subprocess
import sys

import pytest
from look_at import HZ3, WITH_OURS, refused, resting

from look import LookError
from look.cli import gather, gather_some
from look.top import LISTED, Top, cpu, rates, read

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]


def looking(reading):
    top = Top(reading)
    top.look()
    top.look()
    return top


def column(top, i, height=200):
    """Of the classes that the screen shows."""
    rows = [line.split() for line in top.lines(80, height) if re.match(r" *\d+ ", line)]
    return [int(row[i]) for row in rows]


def test_a_process_on_eighty_columns(preload, program):
    with resting(program("rests"), env={**preload.env, "HZ3_BACKGROUND": "0"}) as (process, _):
        top = looking(lambda: [gather(process.pid, read)])
    lines = top.lines(80, 24)
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert f"rests ({process.pid}) on hz3 " in text and f"lane {preload.lane}; threads: 4" in text
    assert re.search(r"^CPU \d+ %   RSS \S+ \w+   PSS \S+ \w+   live \S+ \w+   free ", lines[1])
    for words in ("in runs in use", "waiting", "threads' caches", "in flight", "in a second: "):
        assert words in " ".join(text.split())
    assert "free bytes" in lines[7] and "q quit" in lines[-1]
    assert len(column(top, 0)) > 20
    assert all(len(top.lines(*size)) <= size[1] for size in ((1, 1), (80, 3), (300, 100)))


def test_keys_order_the_classes_and_scroll_and_the_last_one_ends_it(preload, program):
    with resting(program("rests"), env=preload.env) as (process, _):
        now = gather(process.pid, read)
    top = looking(lambda: [now])
    assert top.press(ord("s"))
    sizes = column(top, 0)
    assert sizes == sorted(sizes) == [c["size"] for c in now["classes"]]
    assert top.press(curses.KEY_DOWN) and top.press(curses.KEY_NPAGE)
    assert column(top, 0, 20) == sizes[11 : 11 + 11]
    assert top.press(curses.KEY_UP) and column(top, 0, 20) == sizes[10 : 10 + 11]
    assert all(top.press(curses.KEY_NPAGE) for _ in range(50)) and column(top, 0, 20) == sizes[-11:]
    live = {c["size"]: c["live"] * c["size"] for c in now["classes"]}
    assert top.press(ord("l"))
    shown = [live[size] for size in column(top, 0)]
    assert shown == sorted(shown, reverse=True)
    assert not top.press(ord("q"))


def test_rates_are_of_a_second(preload, program):
    with resting(program("rests"), env=preload.env) as (process, _):
        now = gather(process.pid, read)
    refills = {**now["refills"], "fresh_run": now["refills"]["fresh_run"] + 90, "overflow": now["refills"]["overflow"] + 6}
    later = {**now, "purged": now["purged"] + (6 << 20), "refills": refills, "cpu_s": now["cpu_s"] + 1.5}
    other = {**later, "pid": 1}
    for before, after in (([now], [later]), ([now, other], [later, other]), ([now], [later, other])):
        assert rates(before, after, 3.0) == (
            "in a second: 2.0 MiB given back to the system; 30 mallocs found nothing at hand (30 in new runs);"
            " 2 frees found no room"
        )
    assert cpu([now], [later, other], 3.0) == {process.pid: "50 %"}
    assert rates([], [later], 3.0) == "" and cpu([], [later], 3.0) == {}


def test_several_processes_are_a_list_and_their_sum(preload, program):
    with resting(program("rests"), env=preload.env) as (one, _), resting(program("holes"), env=preload.env) as (two, _):
        now = [gather(pid, read) for pid in (one.pid, two.pid)]
    top = looking(lambda: now)
    lines = top.lines(80, 200)
    assert max(map(len, lines)) <= 80 and lines[0].startswith("2 processes on hz3 ") and "threads: 5;" in lines[0]
    largest = sorted(now, key=lambda of: -of["rss"])
    assert [line.split()[:2] for line in lines[8:10]] == [[str(of["pid"]), of["program"]] for of in largest]
    runs = sum(c["runs"] for of in now for c in of["classes"] if c["size"] == 320)
    assert [line.split()[1] for line in lines if line.startswith("   320 ")] == [str(runs)]
    many = [{**now[0], "pid": pid, "rss": pid << 20} for pid in range(1, LISTED + 5)]
    lines = looking(lambda: many).lines(80, 24)
    assert "and 4 smaller ones" in lines and lines[8].split()[0] == str(LISTED + 4) and "q quit" in lines[-1]


def test_of_several_it_shows_those_that_are_left(preload):
    with resting(*RESTS, env=preload.env) as (one, _), resting(*RESTS, env=preload.env) as (two, _):
        pids = [one.pid, two.pid]
        two.kill()
        two.wait()
        assert [one["pid"] for one in gather_some(pids, read)[0]] == [one.pid]
        one.kill()
        one.wait()
        with pytest.raises(LookError, match=f"^there is no process {one.pid}$"):
            gather_some(pids, read)


def test_there_is_no_process_or_no_terminal(preload):
    with subprocess.Popen(["true"]) as gone:
        pass
    assert refused("top", gone.pid) == f"hz3: there is no process {gone.pid}\n"
    with resting(*RESTS, env=preload.env) as (process, _):
        for command in [HZ3], ["sh", "-c", 'exec "$0" "$@" <&-', HZ3]:
            done = subprocess.run([*command, "top", str(process.pid)], capture_output=True, text=True, env=WITH_OURS)
            told = "hz3: top needs a terminal; hz3 stats prints the figures once\n"
            assert (done.returncode, done.stdout, done.stderr) == (1, "", told)


def test_a_terminal_that_cannot_be_drawn_on_is_told(preload):
    with resting(*RESTS, env=preload.env) as (process, _):
        done, said = in_terminal(process, "none-such", lambda ours: b"")
    assert done == 1 and said.startswith(b"hz3: top cannot draw on a terminal of type 'none-such': ")
    assert said.count(b"\n") == 1


def read_until(ours, words):
    """Reads from a terminal until these words come, or until no process has it open any more."""
    seen = b""
    while words not in seen:
        assert select.select([ours], [], [], 20)[0], seen
        try:
            seen += os.read(ours, 65536)
        except OSError:  # EIO
            break
    return seen


def in_terminal(process, kind, play):
    """The exit status of top, and what play(our end of the terminal) returns and top says after it."""
    ours, theirs = pty.openpty()
    env = {**WITH_OURS, "TERM": kind, "COLUMNS": "80", "LINES": "24"}
    with subprocess.Popen([HZ3, "top", str(process.pid)], env=env, stdin=theirs, stdout=theirs, stderr=theirs) as top:
        os.close(theirs)
        said = play(ours) + read_until(ours, b"no such words")
        os.close(ours)
        return top.wait(timeout=20), said


@pytest.mark.parametrize("kind", ["xterm-256color", "vt100"])
def test_in_a_terminal_it_ends_with_the_process(preload, kind):
    with resting(*RESTS, env=preload.env) as (process, _):
        def play(ours):
            seen = read_until(ours, b"free bytes")
            process.kill()
            process.wait()
            return seen

        done, said = in_terminal(process, kind, play)
    assert done == 1
    assert f"hz3: process {process.pid} ended before it was read".encode() in said or b"there is no process" in said


def test_in_a_terminal_q_ends_it_and_a_name_writes_nothing_else(preload):
    rests = [sys.executable, "-c", "open('/proc/self/comm', 'w').write('x\\x1b[1m'); print('there', flush=True); input()"]

    def play(ours):
        seen = read_until(ours, b"free bytes")
        os.write(ours, b"q")
        return seen

    with resting(*rests, env=preload.env) as (process, _):
        done, said = in_terminal(process, "xterm", play)
    assert done == 0 and f"x\\x1b[1m ({process.pid}) on hz3".encode() in said and b"hz3: " not in said
