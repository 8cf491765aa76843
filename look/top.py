"""hz3 top: the statistics of processes, updated each second, on a screen of curses, which comes with Python."""

import curses
import os
import textwrap
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from look import LookError, stats
from look.process import Process
from look.stats import human

CLASSES = {"size": 6, "runs": 7, "live": 10, "live bytes": 10, "cached": 9, "free": 10, "free bytes": 10}
PROCESSES = {
    "PID": 7,
    "program": 15,
    "CPU": 6,
    "RSS": 10,
    "PSS": 10,
    "live": 10,
    "free": 10,
}  # 80 columns with their gaps
LISTED = 8  # processes on the screen, the largest
ORDERS = {"f": "free bytes", "l": "live bytes", "s": "size"}  # by key
FOOTER = "  ".join(["q quit", *(f"{key} by {order}" for key, order in ORDERS.items()), "arrows scroll"])
FOUND = {  # where a malloc found an object whose thread had none at hand, in words
    "swap": "in the thread's spare",
    "owner_stash": "freed by other threads",
    "stolen": "freed by other threads",
    "transfer": "left by other threads",
    "held_run": "in runs in use",
    "central": "in runs in use",
    "fresh_run": "in new runs",
}
AWAY = ("overflow", "retired")  # where a free found no room at hand
Stats = dict[str, Any]


def read(process: Process) -> Stats:
    """The statistics, and what the kernel says of the process."""
    of_kernel = {"rss": process.resident(), "pss": process.proportional(), "cpu_s": process.cpu_seconds()}
    return {**stats.read(process), **of_kernel}


def free_in_runs(now: Stats) -> int:
    return sum(int(c["free"] * c["size"]) for c in now["classes"])


def free(now: Stats) -> int:
    return int(now["cached"] + now["dirty"]) + free_in_runs(now)


def cpu(before: list[Stats], now: list[Stats], seconds: float) -> dict[int, str]:
    """By process, in per cent of a processor."""
    earlier = {one["pid"]: one["cpu_s"] for one in before}
    known = [one for one in now if seconds > 0 and one["pid"] in earlier]
    return {one["pid"]: f"{100 * (one['cpu_s'] - earlier[one['pid']]) / seconds:.0f} %" for one in known}


def rates(before: list[Stats], now: list[Stats], seconds: float) -> str:
    """The rates per second since the last reading, of the processes that are in both."""
    earlier = {one["pid"]: one for one in before}
    pairs = [(earlier[one["pid"]], one) for one in now if one["pid"] in earlier]
    if not pairs or seconds <= 0:
        return ""
    found, slow_frees = Counter[str](), 0.0
    for old, new in pairs:
        for name, n in new["refills"].items():
            rate = (n - old["refills"].get(name, 0)) / seconds
            if name in AWAY:
                slow_frees += rate
            else:
                found[FOUND[name]] += rate
    purged = human(round(sum(new["purged"] - old["purged"] for old, new in pairs) / seconds))
    places = ", ".join(f"{rate:.0f} {place}" for place, rate in found.most_common() if rate >= 1)
    mallocs = f"{found.total():.0f} mallocs found nothing at hand{f' ({places})' if places else ''}"
    return f"in a second: {purged} given back to the system; {mallocs}; {slow_frees:.0f} frees found no room"


def summary(now: list[Stats], percent: dict[int, str]) -> list[str]:
    """Of one process, or of all together."""

    def total(*figures: str) -> int:
        return sum(one.get(figure, 0) for one in now for figure in figures)

    def each(name: str) -> str:
        return ", ".join(sorted({str(one[name]) for one in now}))

    who = f"{now[0]['program']} ({now[0]['pid']})" if len(now) == 1 else f"{len(now)} processes"
    in_flight = total("stashed", "in_transfer_cache")
    used = [f"CPU {percent[now[0]['pid']]}"] if len(now) == 1 and percent else []
    used += [f"RSS {human(total('rss'))}", f"PSS {human(total('pss'))}", f"live {human(total('allocated'))}"]
    used.append(f"free {human(sum(map(free, now)))}")
    parts = {
        "in runs in use": sum(map(free_in_runs, now)),
        "in threads' caches": max(0, total("cached") - in_flight),
        "in flight between threads": in_flight,
        "waiting to go back": total("dirty"),
    }
    return [
        f"{who} on hz3 {each('version')}, lane {each('lane')}; threads: {total('threads')};"
        f" hz3's own tables: {human(total('metadata'))}",
        "   ".join(used),
        "free: " + ", ".join(f"{human(size)} {where}" for where, size in parts.items()),
    ]


def by_class(now: list[Stats]) -> list[dict[str, int]]:
    found: dict[int, Counter[str]] = {}
    for c in (c for one in now for c in one["classes"]):
        found.setdefault(c["size"], Counter()).update({key: n for key, n in c.items() if key != "size"})
    return [
        {"size": size, **of, "live bytes": of["live"] * size, "free bytes": of["free"] * size}
        for size, of in found.items()
    ]


def cells(columns: dict[str, int], values: list[str]) -> str:
    """A line of a table."""
    found = zip(columns.items(), values, strict=True)
    return "  ".join(f"{value:<{n}.{n}}" if name == "program" else f"{value:>{n}}" for (name, n), value in found)


class Top:
    def __init__(self, read: Callable[[], list[Stats]], every: float = 1.0):
        self._read, self._every = read, every
        self._now: list[Stats] = []
        self._at, self._rates = 0.0, ""
        self._percent: dict[int, str] = {}
        self._order, self._first = "free bytes", 0  # the class on the first line

    def run(self) -> None:
        """Returns when the user ends it.  Raises LookError when no process can be read any more."""
        try:
            curses.wrapper(self._show)
        except curses.error as error:
            raise LookError(f"top cannot draw on a terminal of type '{os.environ.get('TERM', '')}': {error}") from None

    def look(self) -> None:
        now, at = self._read(), time.monotonic()
        self._rates = rates(self._now, now, at - self._at)
        self._percent = cpu(self._now, now, at - self._at)
        self._now, self._at = now, at

    def press(self, key: int) -> bool:
        """Whether it goes on."""
        letter = chr(key) if 0 <= key < 128 else ""
        if letter in ORDERS:
            self._order, self._first = ORDERS[letter], 0
        steps = {curses.KEY_DOWN: 1, curses.KEY_UP: -1, curses.KEY_NPAGE: 10, curses.KEY_PPAGE: -10}
        self._first += steps.get(key, 0)
        return letter != "q"

    def lines(self, width: int, height: int) -> list[str]:
        """The whole screen."""
        who, used, free_ = summary(self._now, self._percent)
        above = [who, used, *self._wrapped(free_, width, 2), *self._wrapped(self._rates, width, 3)]
        above += [*self._processes(), cells(CLASSES, list(CLASSES))]
        rows = self._classes()
        shown = max(0, height - len(above) - 1)
        self._first = max(0, min(self._first, len(rows) - shown))
        rows = rows[self._first :][:shown]
        return [line[:width] for line in (*above, *rows, *[""] * (shown - len(rows)), FOOTER)][:height]

    def _wrapped(self, text: str, width: int, lines: int) -> list[str]:
        return (textwrap.wrap(text, width) + [""] * lines)[:lines]

    def _processes(self) -> list[str]:
        """Nothing if there is one only, of which the summary is."""
        if len(self._now) == 1:
            return []
        largest = sorted(self._now, key=lambda one: -one["rss"])
        rows = [
            [str(one["pid"]), one["program"], self._percent.get(one["pid"], "")]
            + [human(size) for size in (one["rss"], one["pss"], one["allocated"], free(one))]
            for one in largest[:LISTED]
        ]
        return [*(cells(PROCESSES, row) for row in [list(PROCESSES), *rows]), *self._left_out(len(largest)), ""]

    def _left_out(self, processes: int) -> list[str]:
        return [f"and {processes - LISTED} smaller ones"] if processes > LISTED else []

    def _classes(self) -> list[str]:
        rows = sorted(by_class(self._now), key=lambda row: row[self._order], reverse=self._order != "size")
        return [
            cells(CLASSES, [human(row[name]) if name.endswith("bytes") else str(row[name]) for name in CLASSES])
            for row in rows
        ]

    def _show(self, screen: "curses.window") -> None:
        with suppress(curses.error):  # not every terminal can
            curses.curs_set(0)
        key = curses.ERR
        while self.press(key):
            if time.monotonic() - self._at >= self._every:
                self.look()
            height, width = screen.getmaxyx()
            screen.erase()
            for i, line in enumerate(self.lines(width, height)):
                with suppress(curses.error):  # of the last cell, behind which the cursor has no place
                    screen.addstr(i, 0, line, curses.A_REVERSE if i == height - 1 else curses.A_NORMAL)
            screen.refresh()
            screen.timeout(max(0, round(1000 * (self._at + self._every - time.monotonic()))))
            key = screen.getch()
