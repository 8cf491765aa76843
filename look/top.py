"""hz3 top: the statistics of a process, updated each second, on a screen made with textual."""

import time
from collections.abc import Callable
from typing import Any, ClassVar

from rich.text import Text
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.widgets import DataTable, Footer, Static

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


class Top(App[None]):
    CSS = "Static { height: auto; padding: 0 1; } #rates { height: 3; color: $text-muted; } DataTable { height: 1fr; }"
    BINDINGS: ClassVar[list[BindingType]] = [
        ("q", "quit", "quit"),
        ("f", "order('free bytes')", "by free bytes"),
        ("l", "order('live bytes')", "by live bytes"),
        ("s", "order('size')", "by size"),
    ]

    def __init__(self, read: Callable[[], Stats], every: float = 1.0):
        super().__init__()
        self._read, self._every = read, every
        self._before: Stats | None = None
        self._at, self._order = 0.0, "free bytes"
        self.error: LookError | None = None
        # These are kept, not looked up by name, as a timer may fire while the screen is removed.
        self._summary, self._rates = Static(markup=False), Static(id="rates", markup=False)
        self._table: DataTable[Text] = DataTable(cursor_type="none")

    def compose(self) -> ComposeResult:
        yield self._summary
        yield self._rates
        yield self._table
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        for name, width in COLUMNS.items():
            self._table.add_column(Text(name, justify="right"), width=width)
        self.look()
        self.set_interval(self._every, self.look)

    def action_order(self, column: str) -> None:
        self._order = column
        if self._before:
            self._show_classes(self._before)

    def look(self) -> None:
        try:
            now = self._read()
        except LookError as error:
            self.error = error
            self.exit(return_code=1)
            return
        at = time.monotonic()
        self._summary.update(Text(summary(now)))
        self._rates.update(Text(rates(self._before, now, at - self._at)))
        self._show_classes(now)
        self._before, self._at = now, at

    def _show_classes(self, stats: Stats) -> None:
        rows = [
            {**c, "live bytes": c["live"] * c["size"], "free bytes": c["free"] * c["size"]} for c in stats["classes"]
        ]
        rows.sort(key=lambda row: row[self._order], reverse=self._order != "size")
        self._table.clear()
        for row in rows:
            cells = (human(row[name]) if name.endswith("bytes") else str(row[name]) for name in COLUMNS)
            self._table.add_row(*(Text(cell, justify="right") for cell in cells))
