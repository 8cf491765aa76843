"""The data that the documentation is made from: the findings of each complete run of an experiment, and the figures
that tables and pictures of the newest comparisons with the peers show.  As JSON it is a hundredth of the samples' size.

Only the printed part of findings is kept, with as few digits as print the same.  What is not kept is nan.
"""

import hashlib
import json
import math
import shlex
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from lab import Json, LabError, machine
from lab.comparison import Comparison
from lab.experiment import MEMORY as FIGURES
from lab.experiment import Experiment, Gate, from_table
from lab.judge import Effect, Finding, GateVerdict, Holds, Verdict, judge, log_ratio, percent, short_cells, signed
from lab.plan import Arm, Cell, Plan
from lab.programs import BESIDE
from lab.samples import Round, Samples
from lab.show import SHORT, blocks_to_settle, spread_said
from lab.versus import LATENCIES, MEMORY, SPEED, marked

NOT_KEPT = math.nan


def basis(asked: Experiment, fresh: bool = True) -> str:
    """A digest of all that a verdict depends on, except samples.  fresh: as Plan.fresh."""
    parts = [asked.baseline, *asked.variants, *asked.cases, *asked.gates]
    text = json.dumps([*map(given, parts), asked.figure, asked.same_within, *(["fresh"] if fresh else [])])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def given(part: Any) -> Json:
    """The fields that do not have their default, so that fields which are added later change no digest."""
    return {key: value for key, value in asdict(part).items() if value not in (None, {}, "")}


@dataclass(frozen=True)
class Judged:
    """A complete run of an experiment, as the ledger shows it."""

    path: Path  # of its samples in results/, even if they are not there
    name: str
    machine: Json
    blocks: int
    most: int  # the most blocks of any cell; it exceeds `blocks` if blocks were added
    scale: float
    figure: str
    basis: str
    verdicts: list[Verdict]
    short: dict[str, float]  # the seconds of cells whose median run is mostly noise
    given_up: dict[str, int]  # the blocks of cells whose every attempt the host spoilt

    @property
    def key(self) -> tuple[object, ...]:
        return self.name, machine.identity(self.machine)

    @property
    def is_brief(self) -> bool:
        """Whether only the words of its verdicts are kept."""
        return not any(verdict.findings for verdict in self.verdicts)

    def brief(self) -> "Judged":
        words = [Verdict(verdict.variant, verdict.word, [], []) for verdict in self.verdicts]
        return replace(self, verdicts=words, short={}, given_up={})


def judged(run: Samples) -> Judged:
    plan, asked = run.plan, from_table(run.plan.experiment)
    most = max(map(run.planned, plan.cells), default=0)
    facts = plan.name, run.machine, plan.blocks, most, plan.scale, asked.figure, basis(asked, plan.fresh)
    given_up = {cell: robbed for cell in plan.timed() if (robbed := run.robbed(cell))}
    try:
        return Judged(run.path, *facts, judge(run), short_cells(run), given_up)
    except LabError as error:
        raise LabError(f"{run.path}: {error}") from None


DIGITS = 6  # significant digits of real programs' times


def number(value: Any) -> Any:
    """Removes the .0 of whole numbers, except of -0.0, which would lose its sign."""
    whole = isinstance(value, float) and value.is_integer() and str(value) != "-0.0"
    return int(value) if whole else value


def real(value: Any) -> Any:
    return float(value) if isinstance(value, int) else value


def shortest(value: float, said: Callable[[float], str]) -> float:
    """Rounds to as few digits as print the same.  A rounded value stays the same."""
    for digits in range(18):
        half = 0.5 * 10.0**-digits
        for near in (value, value - half, value + half):
            if said(short := round(near, digits)) == said(value):
                return short
    return value


def _printed(per_cent: float) -> str:
    """The printed effect.  It is empty for -100 %, which has no logarithm, so that -99.97 % is not rounded to it."""
    return signed(log_ratio(per_cent)) if per_cent > -100 else ""


def _printed_both_ways(per_cent: float) -> str:
    return signed(log_ratio(per_cent)) + signed(-log_ratio(per_cent))


def _finding_to_json(finding: Finding, main: str) -> list[Any]:
    """Only the main figure has a noise floor, which is None if it is infinite."""
    effect = finding.effect
    numbers = [shortest(percent(value), _printed) for value in (effect.gain, effect.low, effect.high)]
    floor = None if math.isinf(effect.floor) else shortest(percent(effect.floor), _printed_both_ways)
    spread = shortest(finding.range_ratio, spread_said) if spread_said(finding.range_ratio) else 0
    more = [spread, finding.runs_needed if blocks_to_settle(finding) else 0, finding.overflowed]
    while more and not more[-1]:
        more.pop()
    return [finding.verdict, *map(number, [*numbers, *([floor] if finding.figure == main else []), *more])]


def _finding_from_json(case: str, variant: str, figure: str, run: Json, table: list[Any]) -> Finding:
    word, gain, low, high, *more = table
    floor = more.pop(0) if figure == run["figure"] else NOT_KEPT
    ends = math.inf if floor is None else log_ratio(floor)
    pairs = run["blocks"] - run.get("given_up", {}).get(case, 0)
    effect = Effect(log_ratio(gain), log_ratio(low), log_ratio(high), NOT_KEPT, NOT_KEPT, ends, pairs)
    spread, needed, overflowed = [*more, 0, 0, 0][:3]
    return Finding(
        case, "", variant, figure, effect, word, (NOT_KEPT, NOT_KEPT), float(spread), needed or None, overflowed
    )


def judged_to_json(run: Judged) -> Json:
    facts: Json = {"name": run.name, "blocks": run.blocks, "scale": run.scale, "figure": run.figure, "basis": run.basis}
    if run.most > run.blocks:
        facts["most"] = run.most
    if run.short:
        facts["short"] = run.short
    if run.given_up:
        facts["given_up"] = run.given_up
    if not run.is_brief:
        facts["gates"] = [given(gate.gate) for gate in run.verdicts[0].gates]
    return {**facts, "verdicts": [_verdict_to_json(verdict, run.figure) for verdict in run.verdicts]}


def _verdict_to_json(verdict: Verdict, main: str) -> Json:
    table: Json = {"variant": verdict.variant, "word": verdict.word}
    if verdict.findings:
        table["gates"] = [[gate.holds.value, gate.reason] for gate in verdict.gates]
        table["cases"] = {finding.case: {} for finding in verdict.findings}
        for finding in verdict.findings:
            if finding.figure in (main, *FIGURES):
                table["cases"][finding.case][finding.figure] = _finding_to_json(finding, main)
    return table


def judged_from_json(path: Path, facts: Json, table: Json) -> Judged:
    gates = [Gate(**gate) for gate in table.get("gates", [])]

    def verdict(found: Json) -> Verdict:
        answers = [
            GateVerdict(gate, Holds(holds), reason)
            for gate, (holds, reason) in zip(gates, found.get("gates", []), strict=True)
        ]
        findings = [
            _finding_from_json(case, found["variant"], figure, table, numbers)
            for case, of in found.get("cases", {}).items()
            for figure, numbers in of.items()
        ]
        return Verdict(found["variant"], found["word"], answers, findings)

    known = {key: table[key] for key in ("name", "blocks", "scale", "figure", "basis")}
    verdicts = list(map(verdict, table["verdicts"]))
    more = {"most": table.get("most", table["blocks"]), **{key: table.get(key, {}) for key in ("short", "given_up")}}
    return Judged(path=path, machine=facts, verdicts=verdicts, **known, **more)


def _command(cell: str) -> str:
    """The command of a cell whose name was made from it."""
    return f"bench_{cell}"


def figures_shown(comparison: Comparison, cell: str) -> list[str]:
    """The figures of a cell that any table or picture in the documentation needs."""
    if cell in comparison.timed:
        return ["seconds", *(figure for figures in LATENCIES.values() for figure in figures)]
    short = ["seconds"] * (cell in short_cells(comparison.run, SHORT))
    overflowed = ["overflow"] * (marked(comparison.run, cell) != cell)
    speed = [] if comparison.real else [SPEED]  # of a real program it is 1 / cpu_s
    beside = [BESIDE] * bool(comparison.run.plan.beside)
    return list(dict.fromkeys([*short, *speed, MEMORY, *comparison.answers(cell), *beside, *overflowed]))


def timed(value: Any) -> Any:
    """Rounds a time to the precision of a clock: DIGITS digits, where a 0 before the point counts as one."""
    return number(round(float(f"{value:.{DIGITS}g}"), DIGITS - 1) if isinstance(value, float) else value)


TEXTS = ("rss_over_time",)  # figures that pictures show of one block


def _cell_to_json(comparison: Comparison, name: str) -> Json:
    run, cell = comparison.run, comparison.run.plan.cells[name]
    command = shlex.join(cell.argv)
    table: Json = {} if command == _command(name) else {"argv": command}
    if reasons := {arm: reason for (of, arm), reason in run.unable.items() if of == name}:
        table["unable"] = reasons
    if blocks := run.blocks(name, "ab"):
        asked = comparison.parameters(name)
        table["asked"] = {key: number(value) for key, value in asked.items() if key not in ("question", "iters")}
        short = timed if comparison.real else number
        columns = {
            figure: [[short(block[arm].get(figure)) for block in blocks] for arm in blocks[0]]
            for figure in figures_shown(comparison, name)
        }
        if texts := {text: of_arms for text in TEXTS if (of_arms := comparison.texts(name, text))}:
            table["texts"] = texts
        table["figures"] = {
            figure: of_arms
            for figure, of_arms in columns.items()
            if any(value is not None for column in of_arms for value in column)
        }
    return table


def comparison_to_json(run: Samples) -> Json:
    plan, comparison = run.plan, Comparison(run)
    arms = {
        name: given(replace(arm, file=None, sha256=(arm.sha256 or "")[:12], config=arm.config.partition(" ")[0]))
        for name, arm in plan.arms.items()
    }
    cells = {cell: _cell_to_json(comparison, cell) for cell in plan.cells}
    facts = {"name": plan.name, "blocks": plan.blocks, "scale": plan.scale, "missing": plan.missing}
    facts |= {key: value for key in ("beside", "fresh") if (value := getattr(plan, key))}
    return {**facts, "arms": arms, "cells": cells}


def comparison_from_json(path: Path, facts: Json, table: Json) -> Samples:
    """Makes samples that have only the figures that are shown."""
    argvs = {name: shlex.split(cell.get("argv", _command(name))) for name, cell in table["cells"].items()}
    cells = {name: Cell(argv, argv[0]) for name, argv in argvs.items()}
    arms = {name: Arm(**arm) for name, arm in table["arms"].items()}
    known = {key: table[key] for key in ("blocks", "scale", "missing")}
    known |= {"beside": table.get("beside", ""), "fresh": table.get("fresh", False)}
    run = Samples(path, Plan("peers", table["name"], arms, cells, seed=0, **known), facts)
    for name, cell in table["cells"].items():
        run.unable |= {(name, arm): reason for arm, reason in cell.get("unable", {}).items()}
        asked = {key: real(value) for key, value in cell.get("asked", {}).items()}
        if (more := blocks_of(cell) - run.plan.blocks) > 0:
            run.more[name] = [more]
        for block in range(blocks_of(cell)):
            attempt = {}
            for column, arm in enumerate(run.arms_of(Round("ab", block, name))):
                found = {figure: real(of_arms[column][block]) for figure, of_arms in cell["figures"].items()}
                if cpu_s := found.get("cpu_s"):
                    found[SPEED] = 1 / cpu_s
                texts = {text: of_arms[arm] for text, of_arms in cell.get("texts", {}).items() if arm in of_arms}
                attempt[arm] = asked | {figure: value for figure, value in found.items() if value is not None} | texts
            run.attempts[Round("ab", block, name)] = [attempt]
    return run


def blocks_of(cell: Json) -> int:
    """The number of blocks, or 0 if no arm gave a result."""
    return len(next(iter(cell["figures"].values()))[0]) if "figures" in cell else 0
