"""Makes a plan that can be run, from an experiment or a list of cells, and builds everything it needs."""

import shlex
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from lab import (
    ROOT,
    LabError,
    build,
    experiment,
    instructions,
    measure,
    peers,
    programs,
    registry,
    replay,
    session,
    show,
)
from lab.plan import BASELINE, COPY, Arm, Cell, Plan

AA_BLOCKS = 6
PRECISE = "precise"  # until real programs' intervals are narrow: see precise.py
Check = Callable[[Plan], None]  # called with a plan before anything is built for it


def commit(root: Path = ROOT) -> str:
    """The value of Plan.commit."""
    argv = ["git", "-C", str(root), "describe", "--always", "--exclude=*", "--abbrev=40", "--dirty"]
    try:
        return subprocess.run(argv, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def of_experiment(
    file: Path, scale: float, blocks: int | None, say: build.Say, check: Check = lambda plan: None, until: str = ""
) -> Plan:
    known, (asked, table) = registry.read(), experiment.written(file)
    experiment.check(asked, known)
    build.check_relations((asked.baseline, *asked.variants), known)
    cells = {case.name: Cell(case.argv(scale), case.group, case.env) for case in asked.timed()}
    cells |= {f"{case.name}, counted": case.counted() for case in asked.counted()}
    if asked.counted():
        instructions.check_valgrind()
    asked_for = blocks or asked.blocks
    plan = Plan("ab", asked.name, {}, cells, asked_for, aa_blocks=AA_BLOCKS, scale=scale, experiment=table, until=until)
    check(plan)
    builder = build.Builder(known, say=say)
    arms = {BASELINE: builder.variant(asked.baseline)}
    arms[COPY] = replace(builder.copy(arms[BASELINE]), env=asked.baseline.env)
    arms |= {variant.name: builder.variant(variant) for variant in asked.variants}
    programs = builder.benches(sorted({case.program for case in asked.cases}))
    return replace(plan, arms=arms, programs=programs, commit=commit())


def of_cells(
    file: Path | None,
    only: tuple[str, ...],
    scale: float,
    blocks: int,
    say: build.Say,
    check: Check = lambda plan: None,
    until: str = "",
) -> Plan:
    """A plan for lanes, peers and the limit on the cells of a file, or without cells.  Each arm is proved to serve.
    until: "precise", of real programs only."""
    builder = build.Builder(registry.read(), say=say)
    cells = peers.cells(file, scale) if file else {}
    real, names = programs.are_real(cells), sorted({cell.argv[0] for cell in cells.values()})
    digests = programs.check(cells) if real else {}
    if not real:
        if until:
            raise LabError("--until precise is for real programs: bench/cells-programs.txt")
        experiment.check_programs(names)
    beside = peers.REFERENCE if until else ""
    name = f"peers-{file.stem}" if file else "peers"
    plan = Plan("peers", name, {}, cells, blocks, scale=scale, until=until, beside=beside)
    check(plan)
    digests = digests or builder.benches(names)
    arms, missing = peers.arms(builder, only)
    if real:
        leave_out_limit(arms, missing)
    arms, missing = _that_take(arms, missing, measure.Command(builder.tools()), say)
    if beside and beside not in arms:
        raise LabError(f"all run beside {beside}, which --only leaves out")
    return replace(plan, arms=arms, programs=digests, missing=missing, commit=commit())


def leave_out_limit(arms: dict[str, Arm], missing: dict[str, str]) -> None:
    """The limit is no allocator for programs."""
    arms.pop(peers.LIMIT, None)
    missing.pop(peers.LIMIT, None)


def _that_take(
    arms: dict[str, Arm], missing: dict[str, str], prove: session.Measure, say: build.Say
) -> tuple[dict[str, Arm], dict[str, str]]:
    """Returns the arms that serve, and the others with the reason.  hz3's own have to serve."""
    failing = {}
    for name, arm in show.steps("proving", list(arms.items()), lambda one: one[0], say):
        try:
            prove(name, arm, Cell(["true"]))
        except LabError as error:
            if arm.config:
                raise
            failing[name] = str(error).replace(f"{ROOT}/", "")
    return {name: arm for name, arm in arms.items() if name not in failing}, missing | failing


INSTALLED = ("scale", "fast", "memory")


def of_command(
    command: list[str], only: tuple[str, ...], blocks: int, say: build.Say, check: Check = lambda plan: None
) -> tuple[Plan, measure.Command]:
    """A plan for the lanes that are built, and the peers, on any program."""
    program = shutil.which(command[0])
    if not program:
        raise LabError(f"'{command[0]}' was not found, or cannot be executed")
    plan = Plan("compare", Path(program).name, {}, {shlex.join(command): Cell(command)}, blocks)
    check(plan)
    builder = build.Builder(registry.read(), say=say)
    taker = measure.Command(builder.tools(), program=Path(program))
    return _compared(replace(plan, programs={plan.name: taker.sha256}), builder, only, taker, say), taker


def of_trace(
    player: replay.Player, only: tuple[str, ...], blocks: int, say: build.Say, check: Check = lambda plan: None
) -> Plan:
    """A plan for the same arms on a trace."""
    trace = player.trace
    cells = {f"replay {trace.name}": Cell([str(trace)])}
    plan = Plan("compare", f"replay-{trace.name}", {}, cells, blocks, programs={trace.name: player.sha256})
    check(plan)
    builder = build.Builder(registry.read(), say=say)
    return _compared(plan, builder, only, measure.Command(builder.tools()), say)


def _compared(
    plan: Plan, builder: build.Builder, only: tuple[str, ...], prove: session.Measure, say: build.Say
) -> Plan:
    arms, missing = peers.arms(builder, only, INSTALLED)
    leave_out_limit(arms, missing)
    arms, missing = _that_take(arms, missing, prove, say)
    return replace(plan, arms=arms, missing=missing, commit=commit())
