"""hz3 top: the statistics of a process, updated each second, on a screen of curses, which comes with Python."""

import curses
import os
import textwrap
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from look import LookError
from look.stats import human

COLUMNS = {
    "size": 6,
    "runs": 7,
    "live": 10,
    "live bytes": 10,
    "cached": 9,
    "free": 10,
    "free bytes": 10,
}  # 80 columns with their gaps
ORDERS = {"f": "free bytes", "l": "live bytes", "s": "size"}  # by key
FOOTER = "  ".join(["q quit", *(f"{key} by {order}" for key, order in ORDERS.items()), "arrows scroll"])
Stats = dict[str, Any]


def rates(before: Stats | None, now: Stats, seconds: float) -> str:
    """The rates per second since the last reading."""
    if before is None or seconds <= 0:
        return ""
    changes = {name: (n - before["refills"].get(name, 0)) / seconds for name, n in now["refills"].items()}
    shown = [f"{name} {rate:.0f}" for name, rate in sorted(changes.items(), key=lambda item: -item[1]) if rate >= 1]
    purged = human(round((now["purged"] - before["purged"]) / seconds))
    return f"in a second: {purged} given back; refills and magazines away: {', '.join(shown) or 'none'}"


def summary(stats: Stats) -> str:
    """Three lines."""

    def part(name: str, *figures: str) -> str:
        return f"{name} {human(sum(stats.get(figure, 0) for figure in figures))}"

    in_flight = ("stashed", "in_transfer_cache")
    rest = stats["cached"] - sum(stats.get(name, 0) for name in in_flight)
    free = sum(c["free"] * c["size"] for c in stats["classes"])
    return "\n".join(
        (
            f"{stats['program']} ({stats['pid']}) on hz3 {stats['version']}, lane {stats['lane']}; threads: {stats['threads']}",
            f"{part('live', 'allocated')}   free in runs {human(free)}   {part('waiting', 'dirty')}",
            f"threads' caches {human(max(0, rest))}   {part('in flight', *in_flight)}   {part('metadata', 'metadata')}",
        )
    )


class Top:
    def __init__(self, read: Callable[[], Stats], every: float = 1.0):
        self._read, self._every = read, every
        self._now: Stats | None = None
        self._at, self._rates = 0.0, ""
        self._order, self._first = "free bytes", 0  # the class on the first line

    def run(self) -> None:
        """Returns when the user ends it.  Raises LookError when the process cannot be read any more."""
        try:
            curses.wrapper(self._show)
        except curses.error as error:
            raise LookError(f"top cannot draw on a terminal of type '{os.environ.get('TERM', '')}': {error}") from None

    def look(self) -> None:
        now, at = self._read(), time.monotonic()
        self._rates = rates(self._now, now, at - self._at)
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
        assert self._now
        rates = (textwrap.wrap(self._rates, width) + [""] * 3)[:3]
        above = [*summary(self._now).split("\n"), *rates, "  ".join(f"{name:>{n}}" for name, n in COLUMNS.items())]
        rows = self._classes(self._now)
        shown = max(0, height - len(above) - 1)
        self._first = max(0, min(self._first, len(rows) - shown))
        rows = rows[self._first :][:shown]
        return [line[:width] for line in (*above, *rows, *[""] * (shown - len(rows)), FOOTER)][:height]

    def _classes(self, stats: Stats) -> list[str]:
        rows = [
            {**c, "live bytes": c["live"] * c["size"], "free bytes": c["free"] * c["size"]} for c in stats["classes"]
        ]
        rows.sort(key=lambda row: row[self._order], reverse=self._order != "size")
        return [
            "  ".join(
                f"{human(row[name]) if name.endswith('bytes') else row[name]:>{width}}"
                for name, width in COLUMNS.items()
            )
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
