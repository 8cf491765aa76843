"""hz3 top: what an 80-column screen shows, the keys, and how it ends."""

import curses
import os
import pty
import re
import select
import subprocess
import sys

import pytest
from look_at import HZ3, WITH_OURS, refused, resting

from look import stats
from look.cli import gather
from look.top import Top, rates

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]


def looking(read):
    top = Top(read)
    top.look()
    top.look()
    return top


def column(top, i, height=200):
    """Of the classes that the screen shows."""
    rows = [line.split() for line in top.lines(80, height) if re.match(r" *\d+ ", line)]
    return [int(row[i]) for row in rows]


def test_a_process_on_eighty_columns(preload, program):
    with resting(program("rests"), env={**preload.env, "HZ3_BACKGROUND": "0"}) as (process, _):
        top = looking(lambda: gather(process.pid, stats.read))
    lines = top.lines(80, 24)
    assert len(lines) == 24 and max(map(len, lines)) <= 80
    text = "\n".join(lines)
    assert f"rests ({process.pid}) on hz3 " in text and f"lane {preload.lane}; threads: 4" in text
    for words in ("live ", "free in runs", "waiting", "threads' caches", "in flight", "in a second: "):
        assert words in text
    assert "free bytes" in lines[6] and "q quit" in lines[-1]
    assert len(column(top, 0)) > 20
    assert all(len(top.lines(*size)) <= size[1] for size in ((1, 1), (80, 3), (300, 100)))


def test_keys_order_the_classes_and_scroll_and_the_last_one_ends_it(preload, program):
    with resting(program("rests"), env=preload.env) as (process, _):
        read = gather(process.pid, stats.read)
    top = looking(lambda: read)
    assert top.press(ord("s"))
    sizes = column(top, 0)
    assert sizes == sorted(sizes) == [c["size"] for c in read["classes"]]
    assert top.press(curses.KEY_DOWN) and top.press(curses.KEY_NPAGE)
    assert column(top, 0, 20) == sizes[11 : 11 + 12]
    assert top.press(curses.KEY_UP) and column(top, 0, 20) == sizes[10 : 10 + 12]
    assert all(top.press(curses.KEY_NPAGE) for _ in range(50)) and column(top, 0, 20) == sizes[-12:]
    live = {c["size"]: c["live"] * c["size"] for c in read["classes"]}
    assert top.press(ord("l"))
    shown = [live[size] for size in column(top, 0)]
    assert shown == sorted(shown, reverse=True)
    assert not top.press(ord("q"))


def test_rates_are_of_a_second(preload, program):
    with resting(program("rests"), env=preload.env) as (process, _):
        read = gather(process.pid, stats.read)
    refills = {**read["refills"], "fresh_run": read["refills"]["fresh_run"] + 90}
    later = {**read, "purged": read["purged"] + (6 << 20), "refills": refills}
    assert rates(read, later, 3.0) == "in a second: 2.0 MiB given back; refills and magazines away: fresh_run 30"
    assert rates(None, later, 3.0) == ""


def test_there_is_no_process_or_no_terminal(preload):
    with subprocess.Popen(["true"]) as gone:
        pass
    assert refused("top", gone.pid) == f"hz3: there is no process {gone.pid}\n"
    with resting(*RESTS, env=preload.env) as (process, _):
        assert refused("top", process.pid) == "hz3: top needs a terminal; hz3 stats prints the figures once\n"


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
