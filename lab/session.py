"""All runs of a plan: a warm-up, the A/A blocks, then blocks in which every arm of a cell runs once, in random order.  The
two copies of a baseline run first and last: what drifts meanwhile changes their mean as it changes what is between them.

A block passes through all cells, so that each cell is spread over the whole session.
"""

import random
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import lru_cache

from lab import ROOT, Json, LabError, Unfit, machine
from lab.plan import BASELINE, COPY, Arm, Cell, Plan
from lab.samples import REPEATS, Round, Samples

PATIENCE = 5.0  # seconds that a sample waits for processors that the host moved apart

Measure = Callable[[str, Arm, Cell], Json]
Progress = Callable[[Round, str], None]  # called before each run


def rounds(plan: Plan, more: dict[str, list[int]] | None = None) -> Iterator[tuple[Round, list[str]]]:
    """Every round with the order of its arms.  The seed determines the order.  `more` has added blocks of cells."""
    planned = {cell: plan.blocks_of(cell) + sum((more or {}).get(cell, ())) for cell in plan.cells}
    arms = {phase: {cell: tuple(plan.arms_of(phase, cell)) for cell in plan.cells} for phase in ("warmup", "aa", "ab")}
    counted = frozenset(plan.cells.keys() - plan.timed())
    for phase, blocks in (("warmup", 1), ("aa", plan.aa_blocks), ("ab", max(planned.values(), default=0))):
        for block in range(blocks):
            over = frozenset(cell for cell in planned if block >= planned[cell])
            for round_ in _block(plan.seed, phase, block, tuple(plan.cells), over if phase == "ab" else counted):
                yield round_, _order(plan.seed, round_, arms[phase][round_.cell])


@lru_cache(maxsize=10_000)  # who looks after each block asks for all of them again
def _block(seed: int, phase: str, block: int, cells: tuple[str, ...], left_out: frozenset[str]) -> list[Round]:
    chance = random.Random(f"{seed}/{phase}/{block}")
    return [Round(phase, block, cell) for cell in chance.sample(cells, len(cells)) if cell not in left_out]


@lru_cache(maxsize=100_000)
def _order(seed: int, round_: Round, arms: tuple[str, ...]) -> list[str]:
    chance = random.Random(f"{seed}/{round_.phase}/{round_.block}/{round_.cell}")
    order = chance.sample(arms, len(arms))
    if not {BASELINE, COPY} <= {*arms}:
        return order
    first, last = (arm for arm in order if arm in (BASELINE, COPY))
    return [first, *(arm for arm in order if arm not in (first, last)), last]


def remaining(samples: Samples) -> list[tuple[Round, list[str]]]:
    return [(r, arms) for r, arms in rounds(samples.plan, samples.more) if samples.complete(r) is None]


def run(samples: Samples, measure: Measure, progress: Progress = lambda round_, arm: None) -> None:
    """Runs what remains.  A round that the host spoils ends at once, and is repeated at the end (Samples.complete)."""
    while left := remaining(samples):
        for round_, arms in left:
            _run_round(samples, measure, progress, round_, arms)


def _run_round(samples: Samples, measure: Measure, progress: Progress, round_: Round, arms: list[str]) -> None:
    """A sample that the host spoils is tried again before the round ends, since few rounds would pass whole."""
    attempt = len(samples.attempts[round_])
    for position, arm in enumerate(arms):
        if arm not in samples.arms_of(round_):
            continue
        for _ in range(1 + REPEATS):
            progress(round_, arm)
            _take(samples, measure, round_, arm, {"attempt": attempt, "position": position})
            if (round_, attempt) not in samples.spoilt:
                break
            if arm not in samples.arms_of(round_):
                return
        else:
            return


def _line_as_usual(samples: Samples, round_: Round) -> float:
    """How long a line takes, once it takes no longer than usual."""
    longest, ends = samples.longest_line_ns(round_), time.monotonic() + PATIENCE
    while (line := machine.line_ns()) > longest and time.monotonic() < ends:
        pass  # a reading takes 20 ms
    return line


def _take(samples: Samples, measure: Measure, round_: Round, arm: str, place: Json) -> None:
    """Takes a sample.  In a comparison, a peer that fails is recorded as giving no result in this cell."""
    plan, began = samples.plan, time.monotonic()
    line = _line_as_usual(samples, round_)
    started, load, ticks = datetime.now(UTC), machine.load(), machine.ticks()
    try:
        figures = measure(arm, plan.arms[arm], plan.cells[round_.cell])
    except LabError as error:
        if plan.kind == "ab" or plan.arms[arm].config or isinstance(error, Unfit):
            raise
        samples.give_up(round_.cell, arm, str(error).replace(f"{ROOT}/", ""))
        return
    when = {
        "at": started.isoformat(timespec="milliseconds"),
        "load": load,
        "took": round(time.monotonic() - began, 3),
        "stolen": round(machine.stolen_since(ticks, machine.ticks()), 4),
        "line_ns": [line, machine.line_ns()],
    }
    samples.add(
        {
            "phase": round_.phase,
            "block": round_.block,
            "cell": round_.cell,
            "arm": arm,
            **place,
            **when,
            "figures": figures,
        }
    )
