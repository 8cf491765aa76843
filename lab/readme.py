"""Makes from the newest comparisons: the figures in the README, docs/results/programs.md with pictures and a table for
each size of machine, and docs/results/peers.md.  Also makes conformance.md."""

from collections import defaultdict
from pathlib import Path
from statistics import geometric_mean

from lab import LabError, conform, headline, machine, slowest
from lab.ahead import reasons
from lab.comparison import Comparison, left_out, overflow_note, short_runs
from lab.overview import OF_LIKE_SPEED, Groups, Overview, against, compared, group, panels, usual, worst
from lab.page import markdown, page, points
from lab.palette import Palette
from lab.plots import Panel, grid, spread
from lab.report import scaling_panels
from lab.results import read_json
from lab.samples import Samples
from lab.versus import MEMORY, OVERFLOWED, SPEED, marked

LANES = ("scale", "r90")
SCALING = "peers-cells-scaling"  # the list whose cells differ in the number of threads
BEGIN, END = "<!-- figures: hz3 report --readme -->\n", "<!-- /figures -->\n"
RESULTS = Path("docs/results")
PICTURE = "overview"
HEAD = f"""# By program

Made by `hz3 report --readme`, not to be edited by hand. [README.md](README.md) says what is measured, and
[peers.md](peers.md) has each test, each allocator, and where another one is ahead.

Speed is a multiple of the speed of the fastest other allocator (*peer*) in each test (*cell*). Peak RSS is a multiple
of that of the smallest peer that is at most {OF_LIKE_SPEED} times slower or faster. The number after "of" counts the
cells that have such a peer and touch their objects. Cells that do not touch them have no RSS here, since hz3 never
touches such objects either, and would seem smaller than it is in programs. Means are geometric. T is the number of
threads. R=0 means that each thread frees its own objects, R>0 that another thread frees half or nine tenths of them.
"""


def against_peers(comparisons: list[Comparison]) -> tuple[Groups, Groups]:
    """Speed and memory ratios for each group of cells and each lane."""
    found: dict[str, Groups] = {f: defaultdict(lambda: {lane: [] for lane in LANES}) for f in (SPEED, MEMORY)}
    for comparison, cell in ((c, cell) for c in comparisons for cell in c.cells):
        for lane in LANES:
            for figure, ratio in against(comparison, cell, lane):
                found[figure][group(comparison, cell)][lane].append(ratio)
    return found[SPEED], found[MEMORY]


def programs(speeds: Groups, memories: Groups, overflowed: set[str]) -> str:
    """A table with a row for each program."""
    head, rows = ["program", "cells"], []
    for lane in LANES:
        head += [f"{lane}: speed", "worst cell", "peak RSS", "worst cell"]
    for name, by_lane in speeds.items():
        row = [name + f" {OVERFLOWED}" * (name in overflowed), str(max(map(len, by_lane.values())))]
        for lane, speed in by_lane.items():
            memory = memories[name][lane]
            for values, furthest, of in ((speed, min, ""), (memory, max, f" of {len(memory)}")):
                row += [f"{geometric_mean(values):.2f}x{of}", f"{furthest(values):.2f}x"] if values else ["-", "-"]
        rows.append(row)
    note = overflow_note(rows).strip()
    return markdown(head, rows) + f"\n{note}\n" * bool(note)


def section(comparisons: list[Comparison], groups: tuple[Groups, Groups]) -> str:
    places = "; ".join(dict.fromkeys(machine.name(c.run.machine) for c in comparisons))
    blocks = ", ".join(
        f"{c.blocks_said()} of {c.run.plan.name.removeprefix('peers-')} at {100 * c.run.plan.scale:g} % length"
        + f" ({machine.load_said(c.run.machine)})" * machine.busy(c.run.machine)
        for c in comparisons
    )
    overflowed = {group(c, cell) for c in comparisons for cell in c.cells if marked(c.run, cell) != cell}
    return f"## {places}\n\n{blocks}.{short_runs(comparisons)}\n\n{programs(*groups, overflowed)}"


def drawn(folder: Path, name: str, label: str, drawings: list[Panel], height: float, at: str = "") -> str:
    """Writes the picture, and returns the line that shows it.  `at`: the folder, as seen from the page."""
    (folder / f"{name}.svg").write_text(grid(drawings, height, label, columns=1, width=8.5))
    return f"![{label}]({at}{name}.svg)\n"


def spreads(folder: Path, speeds: Groups, memories: Groups) -> str:
    """Draws the table as pictures."""
    lines = ""
    for name, groups, label in (
        ("speed", speeds, "times the speed of the fastest peer"),
        ("memory", memories, "times the peak RSS of the smallest peer of like speed, objects touched"),
    ):
        panel = ("", spread(groups, Palette(LANES, ()), label))
        lines += drawn(folder, name, label, [panel], 1 + 0.35 * len(groups))
    return lines


def figures(overview: Overview, folder: Path, at: str = f"{RESULTS}/") -> str:
    """The text on small programs: a picture, a row for each kind, and where hz3 does worst.  `at`: the folder, as seen
    from the page."""
    label = "hz3 beside the best other allocator in each test"
    height = 1.2 + 0.35 * len(overview.rows[SPEED])
    picture = drawn(folder, PICTURE, label, panels(overview), height, at)
    return f"""Lane scale, the default, compared with {overview.peers} other allocators. In each test its speed is compared
with the fastest of them, and its peak memory with the smallest of those that are about as fast. "50 % slower" means
half the speed. The machines are shared ({"; ".join(overview.machines)}), so differences of a few per cent are noise.

{markdown(*compared(overview))}
It does worst in these programs:

{points(worst(overview))}
[What is measured]({at}README.md), [by program]({at}programs.md),
[every test]({at}peers.md).

{picture}"""


def by_machine(comparisons: list[Comparison]) -> list[list[Comparison]]:
    """The comparisons that have cells, by number of processors, the smallest first; with huge pages always, last."""
    found = defaultdict(list)
    for comparison in (comparison for comparison in comparisons if comparison.cells):
        place = comparison.run.machine
        found[machine.always_huge(place), place["cpus_allowed"]].append(comparison)
    return [some for _, some in sorted(found.items())]


def write(runs: list[Samples], root: Path) -> None:
    """Writes the README's figures and the pages from the newest comparisons."""
    text = (root / "README.md").read_text()
    if BEGIN not in text or END not in text:
        raise LabError(f"README.md has no place for the figures, between {BEGIN.strip()} and {END.strip()}")
    comparisons, folder = [Comparison(run) for run in runs], root / RESULTS
    real = [c for c in usual(comparisons) if c.real and c.cells]
    every = [(some, against_peers(some)) for some in by_machine([c for c in comparisons if not c.real])]
    found = [(some, groups) for some, groups in every if groups[0]]
    if not found:
        raise LabError("no comparison with the peers yet: hz3 peers bench/cells-matrix.txt")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "peers.md").write_text(page(comparisons, reasons()))
    if conform.RESULT.is_file():
        (folder / "conformance.md").write_text(conform.page(read_json(conform.RESULT)))
    (small, groups), *larger = found
    overview = Overview.of([comparison for some, _ in found for comparison in some])
    parts = [f"{HEAD}\n{left_out(comparisons)}".strip() + "\n"]
    if real:
        parts.append(figures(overview, folder, at=""))
        (folder / headline.PAGE).write_text(headline.page([c for c in comparisons if c.real and c.cells]))
    parts += [section(small, groups), spreads(folder, *groups), *(section(*one) for one in larger)]
    for comparison in [c for c in usual(comparisons) if c.run.plan.name == SCALING][-1:]:  # on the largest machine
        if panels_of := scaling_panels(comparison):
            parts.append(drawn(folder, "scaling", "speed over threads", panels_of, 3.4))
    (folder / "programs.md").write_text("\n".join(parts))
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    if real:
        panels_of, height = headline.panels(real[0])
        picture = drawn(folder, headline.PICTURE, headline.LABEL, panels_of, height, at=f"{RESULTS}/")
        calls = next((said for comparison in usual(comparisons) if (said := slowest.said(comparison))), "")
        block = headline.block(real[0], picture, f"{RESULTS}/", calls)
    else:
        block = figures(overview, folder)
    (root / "README.md").write_text(f"{before}{BEGIN}\n{block}\n{END}{after}")
