"""hz3 stats: the statistics of a running process."""

from typing import Any

from look import LookError, shown
from look.figures import Class, figures_of
from look.process import Process

MEANING = {  # docs/use/statistics.md has more
    "allocated": "live objects and blocks",
    "cached": "free objects that wait for the next malloc",
    "stashed": "of these: in owner stashes",
    "in_transfer_cache": "of these: in the transfer cache",
    "active": "runs and large blocks",
    "in_heaps": "of these: in heaps of the program's own",
    "resident": "active and dirty; untouched pages count",
    "mapped": "address space of active and free spans",
    "retained": "free ranges of it",
    "dirty": "of these: what a purge would give back",
    "metadata": "tables and magazines, mapped",
    "purged": "given back to the system so far",
}


def human(size: int) -> str:
    for unit, shift in (("GiB", 30), ("MiB", 20), ("KiB", 10)):
        if size >= 1 << shift:
            return f"{size / (1 << shift):.1f} {unit}"
    return f"{size} B"


def table(heads: list[str], rows: list[list[str]]) -> str:
    """Right-aligned columns."""
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:>{width}}" for cell, width in zip(row, widths, strict=True)) for row in (heads, *rows)
    )


def by_class(c: Class) -> dict[str, int]:
    """A class's row: numbers of objects, and an object's size in bytes."""
    live, cached = c.live(), c.all_cached()
    return {"size": c.size, "runs": c.runs, "live": live, "cached": cached, "free": max(0, c.capacity - live - cached)}


def read(process: Process) -> dict[str, Any]:
    figures = figures_of(process)
    return {
        "pid": process.pid,
        "program": process.name,
        "version": figures.layout.version,
        "lane": figures.layout.lane,
        "threads": len(figures.thread_at),
        **figures.totals(),
        "refills": figures.refills(),
        "classes": [by_class(c) for c in figures.used_classes()],
    }


def threads_of(process: Process) -> str:
    """A row for each thread: what it allocated and freed, and the difference."""
    rows = []
    for thread in figures_of(process).threads():
        try:
            name = shown(process.text(f"task/{thread['tid']}/comm").rstrip("\n"))
        except LookError:
            name = "?"  # it has ended, or is of another PID namespace
        allocated, freed = thread["allocated"], thread["freed"]
        rows.append([str(thread["tid"]), str(allocated), str(freed), str(allocated - freed), name])
    return table(["thread", "allocated", "freed", "difference", "name"], rows)


def as_json(stats: dict[str, Any]) -> str:
    import json  # takes a while to load

    return json.dumps(stats)


def as_text(stats: dict[str, Any]) -> str:
    lines = [
        f"{stats['program']} ({stats['pid']}) on hz3 {stats['version']}, lane {stats['lane']}; threads: {stats['threads']}",
        "",
    ]
    lines += [f"{name:<18}{human(stats[name]):>10}  {meaning}" for name, meaning in MEANING.items() if name in stats]
    lines += [
        "",
        "refills by source, magazines away: " + " ".join(f"{name}={n}" for name, n in stats["refills"].items()),
        "",
    ]
    rows = [[str(c[name]) for name in ("size", "runs", "live", "cached", "free")] for c in stats["classes"]]
    return "\n".join(lines) + "\n" + table(["size", "runs", "live", "cached", "free objects"], rows)
