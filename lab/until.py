"""`hz3 ab --until decided`: adds blocks to cells with open gates, until every variant is decided or the budget ends.

A variant is decided if a gate fails, if it has become unlikely that one holds, or if none is open.  Needs that the fewest
blocks meet come first, so that a budget decides as many gates as possible.  At each look cells get half as many blocks
more as they have or, if that is more, what they need, but at most as many as they have.  So there are few looks, each of
which makes the next interval wider (interval.spent), and at most about twice the blocks needed.
"""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from lab.experiment import Experiment, Gate, from_table
from lab.judge import NEVER, Finding, GateVerdict, Holds, Verdict, judge, log_ratio
from lab.samples import Samples

DECIDED = "decided"


class TimeIsUp(Exception):
    """The budget ended before a run's blocks were complete."""


OPEN = "INCONCLUSIVE"  # the word of a verdict that more blocks may change


@dataclass(frozen=True)
class Need:
    """The number of blocks that a cell lacks, or each cell of a group that is judged as one."""

    cells: tuple[str, ...]
    blocks: int

    def __str__(self) -> str:
        return ", ".join(self.cells)


def short_of(finding: Finding, gate: Gate, margin: float) -> int:
    """The blocks that are still needed to decide the gate in this case, by the effect so far.  It is decided if the
    threshold is cleared or, if the gate asks for an improvement, if there is no difference, whichever is sooner."""
    effect = finding.effect
    if effect.doubt:
        return NEVER
    least = log_ratio(gate.at_least or 0.0)
    ways = [effect.runs_to_settle(least)]
    if least >= 0:
        ways.append(effect.to_no_difference(max(margin, least)))
    return max(1, min(ways) - effect.pairs)


def open_needs(run: Samples, asked: Experiment, verdict: Verdict) -> list[Need]:
    """What the open gates of the variant need."""
    found = []
    for answer in verdict.gates:
        if answer.holds is Holds.UNDECIDED and answer.gate.instructions is None:
            found += _of_gate(run, asked, verdict, answer)
    return found


def _of_gate(run: Samples, asked: Experiment, verdict: Verdict, answer: GateVerdict) -> list[Need]:
    gate = answer.gate
    cells = [cell for cell in run.plan.timed() if run.plan.cells[cell].group == gate.group]
    if gate.mean is not None:
        return [Need(tuple(cells), answer.short_of)]
    if not gate.is_relative:
        return [Need((cell,), run.planned(cell)) for cell in cells]  # the need of a level gate cannot be estimated
    findings = [f for f in verdict.findings if f.case in cells and f.figure == gate.figure and is_open(f, gate, asked)]
    return [Need((f.case,), short_of(f, gate, log_ratio(asked.margin(f.case)))) for f in findings]


def is_open(finding: Finding, gate: Gate, asked: Experiment) -> bool:
    if gate.at_least is None:
        return finding.effect.wins(log_ratio(asked.margin(finding.case))) is Holds.UNDECIDED
    return finding.effect.at_least(log_ratio(gate.at_least)) is Holds.UNDECIDED


def all_needs(run: Samples) -> list[Need]:
    """What the variants need that are not decided, the smallest first."""
    asked, found = from_table(run.plan.experiment), dict[tuple[str, ...], int]()
    for verdict in judge(run):
        for need in open_needs(run, asked, verdict) if verdict.word == OPEN else ():
            found[need.cells] = max(found.get(need.cells, 0), need.blocks)
    return [Need(cells, blocks) for cells, blocks in sorted(found.items(), key=lambda item: item[1])]


def needs(run: Samples) -> list[Need]:
    """The same without what no number of blocks would decide."""
    return [need for need in all_needs(run) if need.blocks + most(run, need) < NEVER]


def most(run: Samples, need: Need) -> int:
    return max(map(run.planned, need.cells))


def step(run: Samples, need: Need) -> int:
    has = most(run, need)
    return min(has, max(need.blocks, math.ceil(has / 2)))


def decide(
    run: Samples, measure: Callable[[], None], budget: float, clock: Callable[[], float] = time.monotonic
) -> dict[str, int]:
    """Measures until no gate is open, or the next step would exceed the budget in seconds.  Returns what is left
    open, with the blocks that it needs."""
    end = clock() + budget
    while open_ := needs(run):
        left, took = end - clock(), {cell: block_seconds(run, cell) for cell in run.plan.timed()}
        payable = [(need, min(step(run, need), int(left / sum(took[cell] for cell in need.cells)))) for need in open_]
        chosen = next(((need, blocks) for need, blocks in payable if 2 * blocks >= step(run, need)), None)
        if not chosen:
            break
        need, blocks = chosen
        wanted = most(run, need) + blocks
        for cell in need.cells:
            run.extend(cell, wanted - run.planned(cell))
        measure()
    return {str(need): need.blocks for need in all_needs(run)}


def block_seconds(run: Samples, cell: str) -> float:
    """What a block takes, with its repetitions."""
    return max(run.spent[cell] / max(1, len(run.blocks(cell, "ab"))), 1e-9)
