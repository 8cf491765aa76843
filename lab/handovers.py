"""How often, per malloc, a line of memory is written by another thread than before.  It is counted, so there is no
noise.

lab/handovers.c counts, in a copy of hz3 that the compiler instruments.  docs/lab.md explains the columns.
"""

import re
import shlex
import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from rich.table import Table

from lab import ROOT, Json, LabError, build, measure, peers, planning, results, text_of
from lab.plan import Arm, Cell, Plan

KEPT = results.FOLDER / "handovers.json"  # what the last count of cells found, for docs/results/peers.md
SHARE, LEAST = 0.02, 1000  # of a cell's iterations: this share, but so many or all
CORES = 64  # for cells, heaps are as on a machine with so many
KINDS = ("states", "magazines", "bitmaps", "descriptors", "heads", "objects")
RUNS = 3
# If __tsan_init had its own name, hz3 would take the counter for ThreadSanitizer, and lay out memory accordingly.
INSTRUMENTED = "-fsanitize=thread -D__tsan_init=nobody -Wno-tsan --param tsan-instrument-func-entry-exit=0"


@dataclass(frozen=True)
class Count:
    """The counts of one run, per malloc."""

    written: dict[str, float]
    fetched: float

    @property
    def all_written(self) -> float:
        return sum(self.written.values())


def library(lane: str, root: Path = ROOT) -> Path:
    """Builds the lane with the counter in it."""
    place = root / "build/handovers" / lane
    without = ("-DHZ3_TESTS=OFF", "-DHZ3_BENCH=OFF", "-DHZ3_DEFS_EXTRA=-DHZ3_OVERRIDE=0")
    configure = ["cmake", "-S", str(root), "-B", str(place), f"-DHZ3_LANE={lane}", *without]
    build.execute([*configure, f"-DCMAKE_C_FLAGS={INSTRUMENTED}"], f"configuring lane {lane}")
    build.execute(["cmake", "--build", str(place), build.JOBS, "--target", "hz3_static"], f"building lane {lane}")
    to, includes = place / "libhandovers.so", [f"-I{root / 'src'}", f"-I{root / 'include'}", f"-I{place / 'generated'}"]
    whole = ["-Wl,--whole-archive", str(place / "libhz3.a"), "-Wl,--no-whole-archive", "-lpthread", "-ldl"]
    source = str(Path(__file__).with_name("handovers.c"))
    build.execute(
        ["cc", "-std=gnu11", "-O2", "-g", "-shared", "-fPIC", *includes, source, *whole, "-o", str(to)],
        "building the counter",
    )
    return to


def commands(file: Path, threads: list[int]) -> Iterator[tuple[str, int, list[str]]]:
    """For each line of the file and each number of threads: the line's name, the number, and the command."""
    lines = [line for line in (line.partition("#")[0].strip() for line in text_of(file).splitlines()) if line]
    if not lines:
        raise LabError(f"{file}: no commands")
    for line in lines:
        name = re.sub("^bench_", "", re.sub(r"{(\d+)}", r"\1/T", line))
        for number in threads:
            yield name, number, shlex.split(re.sub(r"{(?P<share>\d+)}|\bT(/(?P<by>\d+))?\b", part_of(number), line))


def part_of(threads: int) -> Callable[[re.Match[str]], str]:
    """The values of {600000}, T and T/2 for so many threads."""

    def part(found: re.Match[str]) -> str:
        if found["share"]:
            return str(max(1, int(found["share"]) // threads))
        by = int(found["by"] or 1)
        if not by or threads % by:
            raise LabError(f"{found[0]} is no whole number where T is {threads}")
        return str(threads // by)

    return part


def count(counter: Path, threads: int, argv: list[str]) -> Count:
    """Makes one run, with as many heaps as on a machine with a core for each thread."""
    env = measure.environment(Arm(), Cell(argv, env={"HZ3_HEAPS": str(max(4, 2 * threads))}), [counter], keep=())
    said = measure.execute([str(ROOT / "out" / argv[0]), *argv[1:]], env, shlex.join(argv)).stderr
    line = re.search(r"^handovers: (.*)$", said, re.MULTILINE)
    if not line:
        raise LabError(f"{shlex.join(argv)}: {said[-1000:]}")
    figures = {name: int(number) for name, number in measure.words(line[1]).items()}
    mallocs = figures["mallocs"]
    written = {kind: figures[f"written_{kind}"] / mallocs for kind in KINDS}
    return Count(written, sum(figures[f"fetched_{kind}"] for kind in KINDS) / mallocs)


def counts(counter: Path, threads: int, argv: list[str]) -> list[Count]:
    """Those of RUNS runs, the least first."""
    return sorted((count(counter, threads, argv) for _ in range(RUNS)), key=lambda one: one.all_written)


def all_kept() -> Json:
    """By the list of cells, the commit and the count of each cell."""
    return results.read_json(KEPT) if KEPT.is_file() else {}


def keep(counter: Path, file: Path) -> None:
    """Counts the cells of a file, and adds them to those that are kept.  The key is the cell without its braces."""
    scaled = zip(peers.cells(file), peers.cells(file, SHARE, LEAST).values(), strict=True)
    found = {cell: round(counts(counter, CORES, of.argv)[RUNS // 2].all_written, 2) for cell, of in scaled}
    results.write_json(KEPT, {**all_kept(), file.stem: {"commit": planning.commit(), "cells": found}}, 3)


def kept(plan: Plan) -> dict[str, float]:
    """The lines written by another thread, per malloc, of those of the plan's cells that were counted."""
    stem = plan.name.removeprefix("peers-")
    if stem not in (every := all_kept()):
        return {}
    counted, file = every[stem]["cells"], ROOT / "bench" / f"{stem}.txt"
    names = zip(peers.cells(file, plan.scale), peers.cells(file), strict=True)
    return {cell: counted[unscaled] for cell, unscaled in names if unscaled in counted}


def table(counter: Path, file: Path, threads: list[int], title: str) -> Table:
    """A row for each line of the file and each number of threads: the median of some runs, and their spread."""
    rows = Table(title=title)
    for column in ("lines written by another thread, per malloc", "T", *KINDS, "all", "spread", "read from another"):
        rows.add_column(column, justify="left" if column[0] == "l" else "right")
    for name, number, argv in commands(file, threads):
        least, middle, most = counts(counter, number, argv)
        spread = (most.all_written - least.all_written) / (middle.all_written or 1)
        fetched = statistics.median(one.fetched for one in (least, middle, most))
        figures = [*(middle.written[kind] for kind in KINDS), middle.all_written]
        rows.add_row(name, str(number), *(f"{figure:.3f}" for figure in figures), f"{spread:.1%}", f"{fetched:.3f}")
    return rows
