"""The figures in the README: a small table and two pictures, from the newest comparison with the peers."""

import math
from pathlib import Path

from lab import LabError
from lab.comparison import Comparison
from lab.plots import grid, ratios
from lab.report import newest
from lab.versus import MEMORY, SPEED, compare

LANE = "scale"
OF_LIKE_SPEED = 1.5  # whose RSS is compared: peers that are at most so many times slower or faster
BEGIN, END = "<!-- figures: hz3 report --readme -->\n", "<!-- /figures -->\n"
Ratio = tuple[float, float, float]  # median and 95 % interval


def against_peers(comparison: Comparison) -> tuple[dict[str, Ratio], dict[str, Ratio]]:
    """Of each cell: our speed over the fastest peer's; our peak RSS over the smallest peer's of like speed."""
    speeds, memories = {}, {}
    for cell in comparison.cells:
        speed, memory = comparison.figures(cell, SPEED), comparison.figures(cell, MEMORY)
        fastest = comparison.fastest(speed)
        if LANE not in speed or not fastest:
            continue
        speeds[cell] = compare(comparison.run, cell, SPEED, fastest)[LANE].ratio
        peers = [peer for peer in comparison.peers if peer in speed]
        like = [p for p in peers if abs(math.log(speed[p].median / speed[LANE].median)) <= math.log(OF_LIKE_SPEED)]
        if like:
            smallest = min(like, key=lambda peer: memory[peer].median)
            memories[cell] = compare(comparison.run, cell, MEMORY, smallest)[LANE].ratio
    return speeds, memories


def mean(ratios_: list[float]) -> str:
    return f"{math.exp(sum(map(math.log, ratios_)) / len(ratios_)):.2f}x" if ratios_ else "-"


def table(comparison: Comparison, speeds: dict[str, Ratio], memories: dict[str, Ratio]) -> str:
    lines = [
        "| program | cells | speed, fastest peer = 1 | its worst cell | peak RSS, smallest peer of like speed = 1 |",
        "|---|---|---|---|---|",
    ]
    groups = {cell: comparison.run.plan.cells[cell].group for cell in speeds}
    for group in dict.fromkeys(groups.values()):
        mine = [cell for cell, of in groups.items() if of == group]
        speed = [speeds[cell][0] for cell in mine]
        memory = mean([memories[cell][0] for cell in mine if cell in memories])
        lines.append(f"| {group} | {len(mine)} | {mean(speed)} | {min(speed):.2f}x | {memory} |")
    return "\n".join(lines) + "\n"


def write(results: Path, root: Path) -> None:
    text = (root / "README.md").read_text()
    if BEGIN not in text or END not in text:
        raise LabError(f"README.md has no place for the figures, between {BEGIN.strip()} and {END.strip()}")
    runs = [run for run in newest(results) if run.plan.kind == "peers"]
    if not runs:
        raise LabError("no comparison with the peers yet: hz3 peers bench/cells-matrix.txt")
    comparison = Comparison(max(runs, key=lambda run: run.path.name))
    speeds, memories = against_peers(comparison)
    for name, rows, label in (
        ("speed", speeds, "times the speed of the fastest peer"),
        ("memory", memories, "times the peak RSS of the smallest peer of like speed"),
    ):
        picture = grid([(f"lane {LANE}", ratios(rows, label))], 1 + 0.22 * len(rows), label, columns=1)
        (root / f"docs/{name}.svg").write_text(picture)
    facts = comparison.run.machine
    said = f"{facts['cpu']}, {facts['cpus_allowed']} CPUs, {comparison.run.plan.blocks} blocks; means are geometric.\n"
    pictures = "![speed against the fastest peer](docs/speed.svg)\n![memory](docs/memory.svg)\n"
    before, after = text.partition(BEGIN)[0], text.partition(END)[2]
    block = "\n".join((table(comparison, speeds, memories), said, pictures))
    (root / "README.md").write_text(f"{before}{BEGIN}\n{block}\n{END}{after}")
