"""The figures in the README, from the newest comparisons: a small table for each size of machine, and pictures; and
docs/results/peers.md."""

from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean

import numpy as np

from lab import LabError, machine
from lab.ahead import reasons
from lab.comparison import Comparison, left_out, overflow_note, short_runs
from lab.page import markdown, page
from lab.plots import Palette, Panel, grid, spread
from lab.report import scaling_panels
from lab.samples import Samples
from lab.versus import MEMORY, OVERFLOWED, SPEED, marked, paired

LANES = ("scale", "r90")
OF_LIKE_SPEED = 1.5  # whose RSS is compared: peers that are at most so many times slower or faster
SCALING = "peers-cells-scaling"  # whose cells differ in the number of threads
BEGIN, END = "<!-- figures: hz3 report --readme -->\n", "<!-- /figures -->\n"
Groups = dict[str, dict[str, list[float]]]  # of each group of cells, of each lane: a ratio for each cell


def group(comparison: Comparison, cell: str) -> str:
    """The program; of the remote benchmark also the threads, and whether anything is remote."""
    asked = comparison.parameters(cell)
    if "remote_pct" not in asked:
        return comparison.run.plan.cells[cell].group.removeprefix("bench_")
    return f"mt_remote T={asked['threads']:g}, R{'>' if asked['remote_pct'] else '='}0"


def against_peers(comparisons: list[Comparison]) -> tuple[Groups, Groups]:
    """Our speed over the fastest peer's; our peak RSS over the smallest peer's of like speed, where there is one and
    objects are touched."""
    speeds, memories = (defaultdict(lambda: {lane: [] for lane in LANES}) for _ in range(2))
    for comparison, cell in ((comparison, cell) for comparison in comparisons for cell in comparison.cells):
        speed, memory = comparison.figures(cell, SPEED), comparison.figures(cell, MEMORY)
        fastest, name = comparison.fastest(speed), group(comparison, cell)
        for lane in (lane for lane in LANES if lane in speed and fastest):
            others = [peer for peer in comparison.peers if peer in speed]
            like = [p for p in others if 1 / OF_LIKE_SPEED <= speed[p].median / speed[lane].median <= OF_LIKE_SPEED]
            smallest = min(like, key=lambda peer: memory[peer].median, default="")
            to = smallest if comparison.touches(cell) else ""
            for groups, figure, peer in ((speeds, SPEED, fastest), (memories, MEMORY, to)):
                mine, ratios = groups[name][lane], paired(comparison.run, cell, figure, lane, peer)
                if ratios is not None:
                    mine.append(float(np.median(ratios)))
    return speeds, memories


def table(speeds: Groups, memories: Groups, overflowed: set[str]) -> str:
    head, rows = ["program", "cells"], []
    for lane in LANES:
        head += [f"{lane}: speed", "worst cell", "peak RSS", "worst cell"]
    for name, by_lane in speeds.items():
        row = [name + f" {OVERFLOWED}" * (name in overflowed), str(max(map(len, by_lane.values())))]
        for lane, speed in by_lane.items():
            memory = memories[name][lane]
            for values, worst, of in ((speed, min, ""), (memory, max, f" of {len(memory)}")):
                row += [f"{geometric_mean(values):.2f}x{of}", f"{worst(values):.2f}x"] if values else ["-", "-"]
        rows.append(row)
    note = overflow_note(rows).strip()
    return markdown(head, rows) + f"\n{note}\n" * bool(note)


def section(comparisons: list[Comparison], groups: tuple[Groups, Groups]) -> str:
    places = "; ".join(dict.fromkeys(machine.name(c.run.machine) for c in comparisons))
    blocks = ", ".join(
        f"{c.blocks} blocks of {c.run.plan.name.removeprefix('peers-')} at {100 * c.run.plan.scale:g} % length"
        + f" ({machine.load_said(c.run.machine)})" * machine.busy(c.run.machine)
        for c in comparisons
    )
    overflowed = {group(c, cell) for c in comparisons for cell in c.cells if marked(c.run, cell) != cell}
    return f"{places}; {blocks}.{short_runs(comparisons)}\n\n{table(*groups, overflowed)}"


def drawn(folder: Path, name: str, label: str, panels: list[Panel], height: float) -> str:
    """The line that shows the picture."""
    (folder / f"{name}.svg").write_text(grid(panels, height, label, columns=1, width=8.5))
    return f"![{label}](docs/results/{name}.svg)\n"


def spreads(folder: Path, speeds: Groups, memories: Groups) -> str:
    """A table as pictures."""
    lines = ""
    for name, groups, label in (
        ("speed", speeds, "times the speed of the fastest peer"),
        ("memory", memories, "times the peak RSS of the smallest peer of like speed, objects touched"),
    ):
        panel = ("", spread(groups, Palette(LANES, ()), label))
        lines += drawn(folder, name, label, [panel], 1 + 0.35 * len(groups))
    return lines


def write(runs: list[Samples], root: Path) -> None:
    """From the newest comparisons."""
    text = (root / "README.md").read_text()
    if BEGIN not in text or END not in text:
        raise LabError(f"README.md has no place for the figures, between {BEGIN.strip()} and {END.strip()}")
    of_cpus = defaultdict(list)
    for comparison in filter(lambda c: c.cells, comparisons := [Comparison(run) for run in runs]):
        of_cpus[comparison.run.machine["cpus_allowed"]].append(comparison)
    every = [(some, against_peers(some)) for _, some in sorted(of_cpus.items())]
    found = [(some, groups) for some, groups in every if groups[0]]
    if not found:
        raise LabError("no comparison with the peers yet: hz3 peers bench/cells-matrix.txt")
    (root / "docs/results/peers.md").write_text(page(comparisons, reasons()))
    said = f"""Speed is a multiple of that of the fastest peer in each cell; peak RSS, of that of the smallest peer that
is at most {OF_LIKE_SPEED} times slower or faster, "of" the cells that have such a peer and whose objects are touched:
untouched ones hz3 never brings in, so that it seems smaller there than a program would find it. Means are geometric.
Each cell, untouched or not, what programs that ask about memory answer, and where a peer is ahead and why, is in
[docs/results/peers.md](docs/results/peers.md). {left_out(comparisons)}
"""
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    (small, groups), *larger = found
    parts = [said, section(small, groups), spreads(root / "docs/results", *groups), *(section(*one) for one in larger)]
    for comparison in [c for c in comparisons if c.run.plan.name == SCALING][-1:]:  # on the largest machine
        parts.append(drawn(root / "docs/results", "scaling", "speed over threads", scaling_panels(comparison), 3.4))
    block = "\n".join(parts)
    (root / "README.md").write_text(f"{before}{BEGIN}\n{block}\n{END}{after}")
