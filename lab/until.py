"""`hz3 ab --until decided`: adds blocks to cells with open gates, until every gate is decided or the budget ends.

Cells that need the fewest blocks come first, so that a budget decides as many gates as possible.  At each look a cell
gets half as many blocks more as it has or, if that is more, what it needs, but at most as many as it has.  So there are
few looks, each of which makes the next interval wider (median_interval), and at most about twice the blocks needed.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from lab import Json
from lab.experiment import Experiment, Gate, from_table
from lab.judge import NEVER, Finding, Holds, Verdict, judge, log_ratio
from lab.samples import Samples

DECIDED = "decided"


@dataclass(frozen=True)
class Need:
    """The number of blocks that a cell lacks, by the gate that needs the most."""

    cell: str
    blocks: int


def short_of(finding: Finding, gate: Gate, margin: float) -> int:
    """The blocks that are still needed to decide the gate in this case, by the effect so far.  It is decided if the
    threshold is cleared or, if the gate asks for an improvement, if there is no difference, whichever is sooner."""
    effect = finding.effect
    least = log_ratio(gate.at_least or 0.0)
    wide = max(margin, least)
    ways = [effect.runs_to_settle(least)]
    if least >= 0 and abs(effect.gain) < wide:
        ways.append(effect.runs_to_settle(math.copysign(wide, effect.gain)))
    return max(1, min(ways) - effect.pairs)


def open_cases(run: Samples, asked: Experiment, verdict: Verdict) -> dict[str, int]:
    """The cells in which a gate of the variant is open, and the number of blocks that each lacks."""
    margin, found = log_ratio(asked.same_within), dict[str, int]()
    for gate, holds in ((answer.gate, answer.holds) for answer in verdict.gates):
        if holds is not Holds.UNDECIDED:
            continue
        for cell in (name for name, cell in run.plan.cells.items() if cell.group == gate.group):
            if gate.is_relative:
                (finding,) = (f for f in verdict.findings if (f.case, f.figure) == (cell, gate.figure))
                blocks = short_of(finding, gate, margin) if is_open(finding, gate) else 0
            else:
                blocks = run.planned(cell)  # the need of a level gate cannot be estimated
            found[cell] = max(found.get(cell, 0), blocks)
    return {cell: blocks for cell, blocks in found.items() if blocks}


def is_open(finding: Finding, gate: Gate) -> bool:
    if gate.at_least is None:
        return finding.verdict == "INCONCLUSIVE"
    return finding.effect.at_least(log_ratio(gate.at_least)) is Holds.UNDECIDED


def needs(run: Samples) -> list[Need]:
    """The cells' needs, the smallest first, without cells that no number of blocks would decide."""
    asked, found = from_table(run.plan.experiment), dict[str, int]()
    for verdict in judge(run):
        for cell, blocks in open_cases(run, asked, verdict).items():
            found[cell] = max(found.get(cell, 0), blocks)
    ordered = sorted(found.items(), key=lambda item: item[1])
    return [Need(cell, blocks) for cell, blocks in ordered if blocks + run.planned(cell) < NEVER]


def step(run: Samples, need: Need) -> int:
    has = run.planned(need.cell)
    return min(has, max(need.blocks, math.ceil(has / 2)))


def decide(
    run: Samples, measure: Callable[[], None], budget: float, clock: Callable[[], float] = time.monotonic
) -> Json:
    """Measures until no gate is open, or the next step would exceed the budget in seconds.  Returns what is left
    open."""
    end, took = clock() + budget, {cell: block_seconds(run, cell) for cell in run.plan.cells}
    while open_ := needs(run):
        left = end - clock()
        payable = [(need, min(step(run, need), int(left / took[need.cell]))) for need in open_]
        chosen = next(((need, blocks) for need, blocks in payable if 2 * blocks >= step(run, need)), None)
        if not chosen:
            break
        need, blocks = chosen
        began = clock()
        run.extend(need.cell, blocks)
        measure()
        took[need.cell] = max((clock() - began) / blocks, 1e-9)
    return {need.cell: need.blocks for need in needs(run)}


def block_seconds(run: Samples, cell: str) -> float:
    """The measured seconds of a block.  It takes longer; the first step shows how long."""
    blocks = run.blocks(cell, "ab")
    measured: float = sum(figures.get("seconds", 0.0) for block in blocks for figures in block.values())
    return max(measured / max(1, len(blocks)), 1e-9)
