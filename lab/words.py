"""Words for the names that lists of cells, programs and figures have."""

from collections.abc import Callable
from typing import Any

from lab import headline, overview
from lab.comparison import Comparison

LISTS = {
    "peers-cells-programs": "Real programs",
    "peers-cells-orders": "Programs of the work orders",
    "peers-cells-matrix": "Threads that free each other's objects, and one that frees its own",
    "peers-cells-patterns": "Other patterns of allocation",
    "peers-cells-waves": "Waves of objects of one size",
    "peers-cells-successors": "Short-lived threads that replace what the one before left",
    "peers-cells-memory": "Where memory goes",
    "peers-cells-latency": "How long single calls take",
    "peers-cells-scaling": "From 1 to 64 threads",
}
FIGURES = {
    "ops_per_s": "speed",
    "peak_kib": "peak memory",
    "end_kib": "memory at the end",
    "full_kib": "memory with all objects live",
    "end_share": "share of the peak that is left at the end",
    "overhead_ratio": "memory for each live byte",
    "growth_ratio": "memory of the last phase for that of the first",
    "again_ratio": "memory after the third thread for that after the first (1: all was used again)",
    "per_thread_kib": "memory for each thread",
    "left_share": "share of it that is left when the threads have ended",
    "sharing_threads": "threads that share a line with another",
    "main_kib": "memory of a process that reaches main",
    "first_malloc_kib": "what the first malloc adds",
    "cpu_s": "CPU time",
    "wall_s": "time from start to end",
    "after_kib": "memory after the load",
}


def size(value: float) -> str:
    for unit, shift in (("MiB", 20), ("KiB", 10)):
        if value >= 1 << shift:
            return (
                f"{value / (1 << shift):g} {unit}"
                if value % (1 << shift) == 0
                else f"{value / (1 << shift):.1f} {unit}"
            )
    return f"{value:g} bytes"


def count(value: float, one: str, many: str = "") -> str:
    return f"{value:g} {one if value == 1 else many or one + 's'}"


TOUCHED = {"none": "not written", "first": "first byte written", "all": "all written"}
PARAMETERS: dict[str, Callable[[Any], str]] = {  # of one that is not here its name and value are said
    "threads": lambda n: count(n, "thread"),
    "remote_pct": lambda n: f"{n:g} % by others" if n else "none by others",
    "producers": lambda n: count(n, "producer"),
    "consumers": lambda n: count(n, "consumer"),
    "makers": lambda n: f"{n:g} that allocate",
    "freers": lambda n: f"{n:g} that free",
    "stages": lambda n: count(n, "stage"),
    "min": lambda n: f"from {size(n)}",
    "max": lambda n: f"up to {size(n)}",
    "touch": lambda word: TOUCHED.get(word, "both ends written"),
    "dist": lambda word: "sizes as in programs" if word == "app" else "all sizes alike",
    "matched": lambda n: "threads wait for each other" if n else "",
    "owner": lambda word: {"dead": "the first thread has ended", "sleep": "the first thread sleeps"}.get(
        word, "nobody takes over"
    ),
    "kind": lambda word: f"{word} sharing",
}
TOLD_BY_OTHERS = ("bench", "iters", "rounds", "batches", "trees", "ring_slots", "latency")


def program(comparison: Comparison, cell: str) -> str:
    """What the cell's program does; these words follow "where"."""
    if comparison.real:
        return headline.WORDS[headline.program(comparison, cell)]
    name = overview.program(overview.group(comparison, cell))
    return overview.PROGRAMS.get(name, f"{name} runs")


def differing(comparison: Comparison, cells: list[str], but: str = "") -> dict[str, str]:
    """For each cell of one program what sets it apart from the others, but for one parameter."""
    asked = {cell: comparison.parameters(cell) for cell in cells}
    keys = [
        key
        for key in dict.fromkeys(key for of in asked.values() for key in of)
        if key not in (*TOLD_BY_OTHERS, but) and len({str(of.get(key)) for of in asked.values()}) > 1
    ]

    def said(key: str, value: object) -> str:
        return (
            PARAMETERS[key](value)
            if key in PARAMETERS
            else f"{key} {value:g}"
            if isinstance(value, float)
            else f"{key} {value}"
        )

    parts = {cell: [said(key, of[key]) for key in keys if key in of] for cell, of in asked.items()}
    return {cell: ", ".join(filter(None, of)) for cell, of in parts.items()}


def by_program(comparison: Comparison, cells: list[str]) -> dict[str, list[str]]:
    """The cells of each program, by what the program does."""
    found: dict[str, list[str]] = {}
    for cell in cells:
        found.setdefault(program(comparison, cell), []).append(cell)
    return found


def tests(comparison: Comparison) -> dict[str, str]:
    """The cells in words, each with words of its own."""
    found = {}
    for does, cells in by_program(comparison, [*comparison.cells, *comparison.timed]).items():
        for cell, apart in differing(comparison, cells).items():
            found[cell] = f"{does}: {apart}" if apart else does
    return found if comparison.real else {cell: said[0].upper() + said[1:] for cell, said in found.items()}


def figure(name: str) -> str:
    return FIGURES.get(name, name)
