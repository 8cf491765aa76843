"""A run of `hz3 peers`, and the tables made from it.  The report shows them as HTML, docs/results/peers.md as
Markdown."""

import shlex
from dataclasses import dataclass
from itertools import takewhile

from lab import Json, machine, programs
from lab.ahead import FASTER, KINDS, LANE, SMALLER, Reason, furthest, leads, why
from lab.interval import covers
from lab.judge import short_cells
from lab.palette import Palette
from lab.peers import LIMIT, older
from lab.samples import Samples
from lab.show import SHORT, duration, human
from lab.versus import (
    CALLS,
    FIGURES,
    LATENCIES,
    MEMORY,
    OVERFLOW_NOTE,
    OVERFLOWED,
    SHARES,
    SPEED,
    Figure,
    compare,
    marked,
    multiple,
)

ANSWERS = {  # the figures that answer a program's question, if these are not speed and peak RSS
    "bench_phase_change": "overhead_ratio growth_ratio",
    "bench_growing": "overhead_ratio",
    "bench_changing": "overhead_ratio",
    "bench_burst_idle": "full_kib end_kib end_share",
    "bench_fragment_idle": "full_kib end_kib end_share",
    "bench_thread_churn": "end_kib",
    "bench_handover": "again_ratio",
    "bench_many_threads": "per_thread_kib left_share",
    "bench_false_sharing": "sharing_threads",
    "bench_startup": "main_kib first_malloc_kib",
}
OF_REAL = "cpu_s wall_s after_kib"  # the same for real programs


@dataclass(frozen=True)
class Table:
    title: str
    note: str
    head: list[str]
    rows: list[list[str]]
    prose: bool = False  # its cells have several lines of text


class Comparison:
    """A run of `hz3 peers`, prepared for tables and pictures."""

    def __init__(self, run: Samples):
        self.run = run
        self.arms = list(run.plan.arms)
        lanes = [name for name, arm in run.plan.arms.items() if arm.config]
        self.lanes, self.peers = lanes, [name for name in self.arms if name not in lanes and name != LIMIT]
        self.palette = Palette(lanes, self.peers)
        measured = [cell for cell in run.plan.cells if run.blocks(cell, "ab")]
        # With --latency, reading the clock takes most of a call's time, so ops/s means nothing in such a cell.
        self.timed = [cell for cell in measured if self.parameters(cell).get("latency")]
        self.cells = [cell for cell in measured if cell not in self.timed]
        self.real = programs.are_real(run.plan.cells)
        self.counts = [len(run.blocks(cell, "ab")) for cell in measured]  # of each cell's sound blocks
        self.blocks = min(self.counts, default=0)

    def blocks_said(self) -> str:
        """ "3 blocks", or "1 to 3 blocks" where the host spoilt some of a cell."""
        most = max(self.counts, default=0)
        return f"{self.blocks} to " * (self.blocks < most) + f"{most} block{'s' * (most != 1)}"

    def figures(self, cell: str, figure: str) -> dict[str, Figure]:
        """A figure of each arm.  Empty if the cell's program does not measure it."""
        blocks = self.run.blocks(cell, "ab")
        has = all(isinstance(figures.get(figure), float) for block in blocks for figures in block.values())
        return compare(self.run, cell, figure, "") if has else {}

    def fastest(self, speed: dict[str, Figure]) -> str | None:
        return max((peer for peer in self.peers if peer in speed), key=lambda peer: speed[peer].median, default=None)

    def texts(self, cell: str, figure: str) -> dict[str, str]:
        """A text figure of each arm that has it, from the block with median peak RSS."""
        blocks, found = self.run.blocks(cell, "ab"), {}
        for arm in blocks[0]:
            ordered = sorted(blocks, key=lambda block: block[arm].get(MEMORY, 0))
            if isinstance(text := ordered[len(ordered) // 2][arm].get(figure), str):
                found[arm] = text
        return found

    def parameters(self, cell: str) -> Json:
        """The program's parameters, which come before its first figure."""
        line = next(iter(self.run.blocks(cell, "ab")[0].values()))
        return dict(takewhile(lambda word: word[0] != "seconds" and not word[0].endswith(FIGURES), line.items()))

    def touches(self, cell: str) -> bool:
        """Whether the cell's program writes to its objects.  Programs without the option do."""
        return self.parameters(cell).get("touch") != "none"

    def answers(self, cell: str) -> list[str]:
        return (OF_REAL if self.real else ANSWERS.get(self.run.plan.cells[cell].group, "")).split()

    def percentiles(self, cell: str, call: str) -> dict[str, list[float]]:
        """The latency in ns of each arm, at each of SHARES."""
        shares = [self.figures(cell, figure) for figure in LATENCIES[call]]
        return {arm: [figures[arm].median for figures in shares] for arm in shares[0]}


def title(run: Samples) -> str:
    """The run's title, with the machine, as runs on several machines have the same name."""
    return f"{run.plan.name} on {machine.name(run.machine)}, Linux {run.machine['kernel']}"


def measured(comparison: Comparison) -> str:
    run = comparison.run
    one_file = "" if run.plan.fresh else "; all runs of a library read one file, which may change its speed by a tenth"
    return (
        f"{comparison.blocks_said()}, {run.plan.scale:g} of the iterations; {machine.load_said(run.machine)}; "
        f"{run.path.name}{one_file}"
    )


def coverage(comparison: Comparison) -> int:
    """The least coverage of a median's interval in per cent.  One block has none."""
    return covers(min((blocks for blocks in comparison.counts if blocks > 1), default=1))


def without_interval(comparison: Comparison) -> str:
    """A sentence on the cells of which one block was sound, or nothing."""
    once = comparison.counts.count(1)
    return f" {once} of the cells were sound once: no interval, and nobody is ahead there." if once else ""


def short_runs(comparisons: list[Comparison]) -> str:
    """A sentence on the number of cells with too short runs, or nothing."""
    cells = sum(len(comparison.cells) for comparison in comparisons)
    short = [seconds for c in comparisons for cell, seconds in short_cells(c.run, SHORT).items() if cell in c.cells]
    said = f" In {len(short)} of {cells} cells the median run is shorter than {SHORT} s; the shortest takes "
    return f"{said}{min(short):.2g} s." if short else ""


def left_out(comparisons: list[Comparison]) -> str:
    names = older(comparison.run.plan for comparison in comparisons)
    return f"Peers left out, since there is a newer version of each: {', '.join(names)}." if names else ""


def versions(comparison: Comparison) -> Table:
    plan = comparison.run.plan
    rows = [
        [name, arm.said_version, (arm.sha256 or "")[:12], " ".join(f"{k}={v}" for k, v in arm.env.items())]
        for name, arm in plan.arms.items()
    ]
    rows += [[name, "cannot be had", reason, ""] for name, reason in plan.missing.items()]
    return Table("Who was measured", left_out([comparison]), ["allocator", "version", "SHA-256", "environment"], rows)


def summary(comparison: Comparison, handed_over: dict[str, float]) -> Table:
    """For each cell: each lane's speed over the fastest peer's and over the limit's, and its RSS; and the lines that
    threads hand over."""
    head, rows = ["cell", "fastest peer", "its speed", *(["lines"] if handed_over else [])], []
    for lane in comparison.lanes:
        head += [f"{lane}: speed", "of the limit", "peak RSS"]
    for cell in comparison.cells:
        speed, memory = comparison.figures(cell, SPEED), comparison.figures(cell, MEMORY)
        best = comparison.fastest(speed)
        if not best:
            continue
        versus = compare(comparison.run, cell, SPEED, best)
        row = [marked(comparison.run, cell), best, human(SPEED, speed[best].median)]
        if handed_over:
            row.append(f"{handed_over[cell]:.2f}" if cell in handed_over else "-")
        for lane in comparison.lanes:
            row.append(multiple(versus[lane].ratio))
            row.append(f"{100 * speed[lane].median / speed[LIMIT].median:.0f} %" if LIMIT in speed else "-")
            row.append(f"{memory[lane].median / memory[best].median:.2f}x")
        rows.append(row)
    covered = f"In brackets is the interval that covers at least {coverage(comparison)} %."
    note = f"{covered} RSS is relative to that of the same peer.{without_interval(comparison)}"
    if handed_over:
        note += (
            f" Lines: how often, per malloc, lane {LANE} writes a line that another thread wrote last (docs/lab.md)."
        )
    note += short_runs([comparison]) + overflow_note(rows)
    return Table("Against the fastest peer", note, head, rows)


def overflow_note(rows: list[list[str]]) -> str:
    return f" {OVERFLOW_NOTE}" if any(row[0].endswith(OVERFLOWED) for row in rows) else ""


def answers(comparison: Comparison) -> Table:
    """The figures of ANSWERS, without the limit, which is no reference for memory."""
    arms, rows = [*comparison.lanes, *comparison.peers], []
    for cell in comparison.cells:
        for figure in comparison.answers(cell):
            if found := comparison.figures(cell, figure):
                small = figure.endswith("_kib") and min(mine.median for mine in found.values()) < 1024
                said = {a: f"{f.median:.1f} KiB" if small else human(figure, f.median) for a, f in found.items()}
                rows.append([cell, figure, *(said.get(arm, "-") for arm in arms)])
    note = "Medians; less is better. docs/lab.md explains each figure."
    return Table("The programs' own figures", note, ["cell", "figure", *arms], rows)


def latencies(comparison: Comparison) -> Table:
    arms, rows = [*comparison.lanes, *comparison.peers], []
    for cell in comparison.timed:
        for call in CALLS:
            found = comparison.percentiles(cell, call)
            said = {arm: " / ".join(map(duration, values)) for arm, values in found.items()}
            rows.append([cell, call, *(said.get(arm, "-") for arm in arms)])
    shares = ", ".join(f"{100 * share:g} %" for share in SHARES.values())
    note = f"The time in which {shares} of the calls return, reading the clock included: medians of blocks."
    return Table("How long single calls take", note, ["cell", "call", *arms], rows)


def behind(comparison: Comparison, known: list[Reason]) -> Table:
    """One row for each cell in which a peer is ahead of LANE."""
    others = [lane for lane in comparison.lanes if lane != LANE]
    head, rows = ["cell", *(f"{word} than {LANE}" for word in KINDS.values()), "ahead of the other lanes", "why"], []
    cpus = comparison.run.machine["cpus_allowed"]
    for cell in comparison.cells:
        found = leads(comparison.run, cell, LANE, comparison.peers)
        if not found:
            continue
        mine = ["\n".join(str(lead) for lead in found if lead.kind == kind) or "-" for kind in KINDS]
        theirs = [f"{lane}: {furthest(leads(comparison.run, cell, lane, comparison.peers))}" for lane in others]
        command = shlex.join(comparison.run.plan.cells[cell].argv)
        rows.append([marked(comparison.run, cell), *mine, "\n".join(theirs), why(command, cpus, found, known)])
    if LANE in comparison.lanes and comparison.cells and not rows:
        rows.append(["none", *("-" for _ in head[1:])])
    note = (
        f"These are the cells in which a peer is more than {FASTER} % faster than lane {LANE}, with an interval (in "
        f"brackets, it covers at least {coverage(comparison)} %) that excludes 0; or not more than {FASTER} % slower, "
        f"with a peak RSS more than {SMALLER} % smaller. For other lanes the table has the number of peers that are "
        f"ahead in this sense, and how far the first of them is.{without_interval(comparison)}"
    )
    return Table("Where a peer is ahead, and why", note + overflow_note(rows), head, rows, prose=True)


def unable(comparison: Comparison) -> Table:
    rows = [[cell, arm, reason] for (cell, arm), reason in comparison.run.unable.items()]
    return Table("Who gave no result", "", ["cell", "allocator", "why"], rows)


def tables(comparison: Comparison, known: list[Reason], handed_over: dict[str, float]) -> list[Table]:
    made = [versions(comparison), summary(comparison, handed_over), answers(comparison), latencies(comparison)]
    made += [behind(comparison, known), unable(comparison)]
    return [table for table in made if table.rows]
