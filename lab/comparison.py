"""A run of `hz3 peers`, and the tables made of it; the report shows them as HTML, docs/peers.md as Markdown."""

from dataclasses import dataclass
from itertools import takewhile

from lab import machine
from lab.peers import LIMIT
from lab.plots import Palette
from lab.samples import Samples
from lab.show import human
from lab.versus import FIGURES, Figure, compare

SPEED, MEMORY = "ops_per_s", "peak_kib"


@dataclass(frozen=True)
class Table:
    title: str
    note: str
    head: list[str]
    rows: list[list[str]]
    prose: bool = False  # its cells are long


class Comparison:
    """A run of `hz3 peers`, ready to be drawn."""

    def __init__(self, run: Samples):
        self.run = run
        self.arms = list(run.plan.arms)
        lanes = [name for name, arm in run.plan.arms.items() if arm.config]
        self.lanes, self.peers = lanes, [name for name in self.arms if name not in lanes and name != LIMIT]
        self.palette = Palette(lanes, self.peers)
        self.cells = [cell for cell in run.plan.cells if run.blocks(cell, "ab")]

    def figures(self, cell: str, figure: str) -> dict[str, Figure]:
        """Of each arm; empty where the cell's program does not measure it."""
        blocks = self.run.blocks(cell, "ab")
        has = all(isinstance(figures.get(figure), float) for block in blocks for figures in block.values())
        return compare(self.run, cell, figure, "") if has else {}

    def fastest(self, speed: dict[str, Figure]) -> str | None:
        return max((peer for peer in self.peers if peer in speed), key=lambda peer: speed[peer].median, default=None)

    def texts(self, cell: str, figure: str) -> dict[str, str]:
        """Of each arm that has it, from the block of median peak RSS."""
        blocks, found = self.run.blocks(cell, "ab"), {}
        for arm in blocks[0]:
            ordered = sorted(blocks, key=lambda block: block[arm].get(MEMORY, 0))
            if isinstance(text := ordered[len(ordered) // 2][arm].get(figure), str):
                found[arm] = text
        return found

    def parameters(self, cell: str) -> dict[str, object]:
        """What the program was asked for, which stands before its first figure."""
        line = next(iter(self.run.blocks(cell, "ab")[0].values()))
        return dict(takewhile(lambda word: word[0] != "seconds" and not word[0].endswith(FIGURES), line.items()))


def where(run: Samples, more: str) -> str:
    facts = run.machine
    words = f"{machine.name(facts)}; Linux {facts['kernel']}; load when it began {facts['load']:.1f}"
    return f"{words}; {more}, {run.plan.scale:g} of the iterations; {run.path.name}"


def measured(comparison: Comparison) -> str:
    """Where, and how often."""
    run = comparison.run
    least = min((len(run.blocks(cell, "ab")) for cell in comparison.cells), default=0)
    return where(run, f"{least} blocks of each cell")


def versions(comparison: Comparison) -> Table:
    plan = comparison.run.plan
    rows = [
        [name, arm.said_version, (arm.sha256 or "")[:12], " ".join(f"{k}={v}" for k, v in arm.env.items())]
        for name, arm in plan.arms.items()
    ]
    rows += [[name, "cannot be had", reason, ""] for name, reason in plan.missing.items()]
    return Table("Who was measured", "", ["allocator", "version", "SHA-256", "environment"], rows)


def summary(comparison: Comparison) -> Table:
    """For each cell: each lane as a multiple of the fastest peer, as a share of the limit, and its RSS."""
    head, rows = ["cell", "fastest peer", "its speed"], []
    for lane in comparison.lanes:
        head += [f"{lane}: speed", "of the limit", "peak RSS"]
    for cell in comparison.cells:
        speed, memory = comparison.figures(cell, SPEED), comparison.figures(cell, MEMORY)
        best = comparison.fastest(speed)
        if not best:
            continue
        versus = compare(comparison.run, cell, SPEED, best)
        row = [cell, best, human(SPEED, speed[best].median)]
        for lane in comparison.lanes:
            row.append("{:.2f}x [{:.2f} {:.2f}]".format(*versus[lane].ratio))
            row.append(f"{100 * speed[lane].median / speed[LIMIT].median:.0f} %" if LIMIT in speed else "-")
            row.append(f"{memory[lane].median / memory[best].median:.2f}x")
        rows.append(row)
    note = "In brackets is the interval that covers 95 %. RSS is relative to that of the same peer."
    return Table("Against the fastest peer", note, head, rows)


def unable(comparison: Comparison) -> Table:
    rows = [[cell, arm, reason] for (cell, arm), reason in comparison.run.unable.items()]
    return Table("Who gave no result", "", ["cell", "allocator", "why"], rows)
