"""hz3 top, driven by textual's pilot: what an 80-column screen shows, the keys, and how it ends."""

import asyncio
import os
import pty
import select
import subprocess
import sys

from look_at import HZ3, WITH_OURS, refused, resting

from look import LookError, stats
from look.cli import gather
from look.top import Top, rates

RESTS = [sys.executable, "-c", "print('there', flush=True); input()"]


def screen(app):
    """The lines on the screen."""
    return ["".join(segment.text for segment in strip) for strip in app.screen._compositor.render_strips()]


def on_screen(read, *keys, size=(80, 24)):
    async def play():
        app = Top(read, every=0.05)
        async with app.run_test(size=size) as pilot:
            await pilot.pause(0.2)
            await pilot.press(*keys)
            await pilot.pause(0.2)
            return app, screen(app), app._table

    return asyncio.run(play())


def test_a_process_on_eighty_columns(preload, program):
    with resting(program("rests"), env={**preload.env, "HZ3_BACKGROUND": "0"}) as (process, _):
        _, lines, table = on_screen(lambda: gather(process.pid, stats.read))
    assert {len(line) for line in lines} == {80}
    text = "\n".join(lines)
    assert f"rests ({process.pid}) on hz3 " in text and f"lane {preload.lane}; threads: 4" in text
    for words in ("live ", "free in runs", "waiting", "threads' caches", "in flight", "in a second: "):
        assert words in text
    assert "free bytes" in text, "the last column is there"
    assert table.virtual_size.width <= 80 and table.row_count > 20


def test_keys_order_the_classes_and_the_last_one_ends_it(preload, program):
    with resting(program("rests"), env=preload.env) as (process, _):
        read = gather(process.pid, stats.read)
    _, _, table = on_screen(lambda: read, "s")
    sizes = [int(str(table.get_row_at(i)[0])) for i in range(table.row_count)]
    assert sizes == sorted(sizes)
    _, _, table = on_screen(lambda: read, "l")
    live = {c["size"]: c["live"] * c["size"] for c in read["classes"]}
    shown = [live[int(str(table.get_row_at(i)[0]))] for i in range(table.row_count)]
    assert shown == sorted(shown, reverse=True)
    app, _, _ = on_screen(lambda: read, "q")
    assert app.return_code == 0 and app.error is None


def test_rates_are_of_a_second(preload, program):
    with resting(program("rests"), env=preload.env) as (process, _):
        read = gather(process.pid, stats.read)
    refills = {**read["refills"], "fresh_run": read["refills"]["fresh_run"] + 90}
    later = {**read, "purged": read["purged"] + (6 << 20), "refills": refills}
    assert rates(read, later, 3.0) == "in a second: 2.0 MiB given back; refills and magazines away: fresh_run 30"
    assert rates(None, later, 3.0) == ""


def test_a_name_is_no_markup(preload):
    rests = [sys.executable, "-c", "open('/proc/self/comm', 'w').write('[red]x[/]\\x1b[1m'); print('there', flush=True); input()"]
    with resting(*rests, env=preload.env) as (process, _):
        _, lines, _ = on_screen(lambda: gather(process.pid, stats.read))
    assert any("[red]x[/]\\x1b[1m (" in line for line in lines)


def test_the_process_ends():
    def gone():
        raise LookError("process 1 ended before it was read")

    app, _, _ = on_screen(gone)
    assert str(app.error) == "process 1 ended before it was read" and app.return_code == 1


def test_there_is_no_process_or_no_terminal(preload):
    with subprocess.Popen(["true"]) as gone:
        pass
    assert refused("top", gone.pid) == f"hz3: there is no process {gone.pid}\n"
    with resting(*RESTS, env=preload.env) as (process, _):
        assert refused("top", process.pid) == "hz3: top needs a terminal; hz3 stats prints the figures once\n"


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


def test_in_a_terminal_it_ends_with_the_process(preload):
    with resting(*RESTS, env=preload.env) as (process, _):
        ours, theirs = pty.openpty()
        env = {**WITH_OURS, "TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        with subprocess.Popen([HZ3, "top", str(process.pid)], env=env, stdin=theirs, stdout=theirs, stderr=theirs) as top:
            os.close(theirs)
            read_until(ours, b"free bytes")
            process.kill()
            process.wait()
            said = read_until(ours, b"before it was read")
            os.close(ours)
            assert top.wait(timeout=20) == 1
    assert f"hz3: process {process.pid} ended before it was read".encode() in said or b"there is no process" in said
