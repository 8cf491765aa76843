"""The lab's subcommands, which bin/hz3 calls."""

import math
import re
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from lab import (
    ROOT,
    Json,
    LabError,
    NotServed,
    archive,
    build,
    experiment,
    handovers,
    instructions,
    judge,
    ledger,
    machine,
    measure,
    pack,
    peers,
    planning,
    programs,
    registry,
    replay,
    results,
    samples,
    session,
    show,
    until,
)
from lab.ahead import LANE
from lab.plan import FROM_BUILDING, Plan

RESULTS, COMPARED = results.FOLDER, ROOT / "build/compare"
BLOCKS = 7  # the default for comparisons
BEGIN = 10  # blocks with which a run begins that gets more until it is decided


class Factor(click.FloatRange):
    """A finite number above 0."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        number = float(super().convert(value, param, ctx))
        return number if math.isfinite(number) else self.fail(f"{value!r} is not a number.", param, ctx)


scaling = click.option(
    "--scale", default=1.0, type=Factor(0, min_open=True), help="times the iterations of each case or cell"
)
choosing = click.option("--only", multiple=True, metavar="NAME", help="this lane, peer or library (NAME=PATH)")


@click.group(context_settings={"show_default": True})
def main() -> None:
    """The lab of hz3; docs/lab.md explains it."""


def check_needed(options: tuple[str, ...], what: str) -> None:
    """Refuses options that were given and do nothing, since what they need was not."""
    context = click.get_current_context()
    given = [f"--{name}" for name in options if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        raise click.UsageError(f"{', '.join(given)}: only with {what}")


class Duration(click.ParamType[float]):
    """Parses 90s, 60m or 2h into seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        asked = re.fullmatch(r"(\d+)([smh])", str(value))
        if not asked or not int(asked[1]):
            self.fail(f"{value!r} is not a duration, as 90s, 60m or 2h are.", param, ctx)
        return float(int(asked[1]) * {"s": 1, "m": 60, "h": 3600}[asked[2]])


def conduct(
    plan: Plan, folder: Path, resume: bool, taker: session.Measure, budget: float = 0, limit: float = math.inf
) -> samples.Samples:
    """Runs the plan, or resumes its newest run.  With a budget, adds blocks until it is decided.  An experiment goes on
    with the run of the same build on this machine: whoever looks again pays for it (Samples.looks).  Raises TimeIsUp
    if the limit, in seconds, is over before the blocks are complete that the plan begins with."""
    facts, end = machine.describe(), time.monotonic() + limit
    show.environment(facts)
    known = samples.of_same_build(folder, plan, facts) if plan.kind == "ab" and not resume else None
    if known:
        path = archive.expand(known)
        show.console.print(f"the same build was measured here before: goes on with {path.name}")
    else:
        path = samples.newest_path(folder) if resume else samples.new_path(folder)
    with samples.alone(path):
        if known:
            run = samples.Samples.load(path)
        else:
            run = resumable(path, plan, facts) if resume else samples.Samples.create(path, plan, facts)
        if resume or known:
            run.resume(facts)
        if known and not budget and not session.remaining(run):
            for cell in run.plan.timed():
                run.extend(cell, plan.blocks)

        def measure_all(last: float = math.inf) -> None:
            with show.Watch(run) as watch:

                def progress(round_: samples.Round, arm: str) -> None:
                    if time.monotonic() > last:
                        raise until.TimeIsUp
                    if (round_.phase, round_.block) == ("aa", 0):
                        judge.check_figures(run)
                    watch(round_, arm)

                session.run(run, taker, progress)

        try:
            measure_all(math.inf if run.more else end)
            void_if_lost(run)
            if budget and not run.void:
                show.left_open(adder(plan)(run, measure_all, min(budget, end - time.monotonic())))
        except KeyboardInterrupt:
            raise click.Abort(f"what was measured is kept, --resume goes on: {path}") from None
        except NotServed as error:
            run.declare_void(str(error).replace(f"{ROOT}/", ""))
            if folder.parent != COMPARED:
                results.keep(run, folder.parent)
            raise
        if folder.parent == COMPARED:
            run.path = archive.compress(path)
        else:
            results.keep(run, folder.parent)
    show.console.print(f"every sample is in {run.path}")
    if run.void:
        raise LabError(f"{run.path.name} decides nothing: {run.void}")
    return run


def void_if_lost(run: samples.Samples) -> None:
    """Without a sound block of each cell an experiment decides nothing.  A comparison leaves such a cell out."""
    lost = [] if run.void else run.lost()
    said = (
        f"the host spoilt each block: it took more than {100 * samples.STOLEN:g} % of the time, or moved the "
        f"processors: {', '.join(lost)}"
    )
    if lost and (run.plan.kind == "ab" or len(lost) == len(run.plan.cells)):
        run.declare_void(said)
    elif lost:
        click.echo(f"hz3: left out, as {said}", err=True)


def adder(plan: Plan) -> Callable[..., dict[str, int]]:
    """What adds blocks, and returns the needs that are left."""
    if plan.kind != "peers":
        return until.decide
    from lab import precise  # here, since matplotlib takes a second to load

    return precise.narrow


def resumable(path: Path, plan: Plan, facts: Json, but: tuple[str, ...] = ()) -> samples.Samples:
    run = samples.Samples.load(path)
    if run.void:
        raise LabError(f"cannot resume: {path.name} decides nothing: {run.void}")
    if path.suffix == archive.SUFFIX or not (session.remaining(run) or run.plan.until):  # until: stopped between looks
        raise LabError(f"nothing to resume: {path.name} is complete")
    plan.check_same_as(run.plan, but)
    if not machine.same(facts, run.machine):
        raise LabError("cannot resume: the run began on another machine")
    return run


def resuming(resume: bool, folder: Path, name: str = "") -> planning.Check:
    """Checks that there is a run to resume, as far as possible before anything is built."""

    def check(plan: Plan) -> None:
        if resume:
            path = samples.newest_path(folder / (name or plan.name))
            with samples.alone(path):
                resumable(path, plan, machine.describe(), FROM_BUILDING)

    return check


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@scaling
@click.option("--blocks", type=click.IntRange(1), help="the number of blocks (default: as in the file)")
@click.option("--until", "aim", type=click.Choice([until.DECIDED]), help="add blocks where a gate is still open")
@click.option("--budget", type=Duration(), help="the time for added blocks: 90s, 60m, 2h")
@click.option("--resume", is_flag=True, help="go on with the newest run, which was interrupted")
def ab(file: Path, scale: float, blocks: int | None, aim: str | None, budget: float | None, resume: bool) -> None:
    """Build the variants of an experiment, measure and judge them."""
    if bool(aim) != bool(budget):
        raise click.UsageError("--until and --budget need each other")
    check = resuming(resume, RESULTS, file.stem)
    plan = planning.of_experiment(file, scale, blocks, show.console.print, check, aim or "")
    run = conduct(plan, RESULTS / file.stem, resume, measure.Bench(plan.programs), budget or 0)
    show.verdicts(run, judge.judge(run))


def reference_of(plan: Plan, to: str | None) -> str:
    if not plan.arms:
        raise LabError("; ".join(["there is nothing to measure", *plan.missing.values()]))
    reference = to or ("glibc" if "glibc" in plan.arms else next(iter(plan.arms)))
    if reference not in plan.arms:
        raise LabError(f"--to: '{reference}' is not compared")
    return reference


def comparing(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        click.option("--blocks", default=BLOCKS, type=click.IntRange(1), help="runs of each library"),
        choosing,
        click.option("--to", metavar="NAME", help="the allocator to compare with (default: glibc)"),
        click.option("--resume", is_flag=True, help="go on with the newest run, which was interrupted"),
    ):
        command = option(command)
    return command


@main.command("peers")
@click.argument("cells", required=False, type=click.Path(path_type=Path))
@scaling
@click.option(
    "--until",
    "aim",
    type=click.Choice([planning.PRECISE]),
    help="of real programs: side by side, and blocks are added until the intervals are narrow",
)
@click.option("--budget", type=Duration(), help="the time for that: 90s, 60m, 2h")
@comparing
def peers_verb(
    cells: Path | None,
    scale: float,
    aim: str | None,
    budget: float | None,
    blocks: int,
    only: tuple[str, ...],
    to: str | None,
    resume: bool,
) -> None:
    """List the peers and prove that each serves malloc; with a file of CELLS, measure all on its commands."""
    if bool(aim) != bool(budget):
        raise click.UsageError("--until and --budget need each other")
    if not cells:
        check_needed(("scale", "blocks", "resume"), "CELLS")
    peers.check_reference(to, only)
    check = resuming(resume, RESULTS)
    plan = planning.of_cells(cells, only, scale, blocks, show.console.print, check, aim or "")
    reference = reference_of(plan, to)
    show.peers(plan)
    if cells:
        with taker_of(plan) as taker:
            show.comparison(conduct(plan, RESULTS / plan.name, resume, taker, budget or 0), reference)


def taker_of(plan: Plan) -> AbstractContextManager[session.Measure]:
    if plan.beside:
        return programs.side_by_side(plan.beside, plan.arms[plan.beside], plan.programs)
    real = programs.are_real(plan.cells)
    return programs.taker(digests=plan.programs) if real else nullcontext(measure.Bench(plan.programs))


@main.command("compare", context_settings={"ignore_unknown_options": True})
@comparing
@click.argument("command", nargs=-1, required=True, type=click.UNPROCESSED)
def compare_verb(command: tuple[str, ...], blocks: int, only: tuple[str, ...], to: str | None, resume: bool) -> None:
    """Run COMMAND on lanes scale, fast and memory and on every peer there is (Debian's, and after `make peers` more):
    wall time, CPU time and peak RSS."""
    if command[0].startswith("-"):
        raise click.NoSuchOption(command[0])
    peers.find()
    peers.check_reference(to, only, planning.INSTALLED)
    plan, taker = planning.of_command(list(command), only, blocks, show.console.print, resuming(resume, COMPARED))
    reference = reference_of(plan, to)
    show.peers(plan)
    run = conduct(plan, COMPARED / plan.name, resume, taker)
    show.comparison(run, reference)
    show.closing(run, reference)


@main.command("replay")
@click.argument("trace", type=click.Path(path_type=Path))
@click.option("--on", metavar="NAME,...", help="these lanes, peers and libraries (NAME=PATH); else as hz3 compare")
@comparing
def replay_verb(trace: Path, on: str | None, blocks: int, only: tuple[str, ...], to: str | None, resume: bool) -> None:
    """Replay TRACE, a recording of `hz3 record`, on lanes and peers: CPU time and peak of the heap.  Each replay takes
    as long as the program did."""
    peers.find()
    chosen = (*only, *filter(None, (on or "").split(",")))
    peers.check_reference(to, chosen, planning.INSTALLED)
    player, say = replay.Player(trace), show.console.print
    facts = player.facts(say)
    plan = planning.of_trace(player, chosen, blocks, say, resuming(resume, COMPARED))
    reference = reference_of(plan, to)
    show.peers(plan)
    run = conduct(plan, COMPARED / plan.name, resume, player)
    show.comparison(run, reference)
    say(replay.fidelity(run, facts), highlight=False, markup=False)
    show.closing(run, reference)


class Threads(click.ParamType[list[int]]):
    """Parses a list such as 2,8,16."""

    name = "numbers"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[int]:
        if not re.fullmatch(r"[1-9]\d{0,2}(,[1-9]\d{0,2})*", str(value)):
            self.fail(f"{value!r} is not a list of numbers of threads, as 2,8,16 is.", param, ctx)
        return [int(number) for number in str(value).split(",")]


@main.command("handovers")
@click.argument("file", type=click.Path(path_type=Path), default=ROOT / "bench/handovers.txt")
@click.option("--lane", default=LANE, help="the lane whose sources are instrumented")
@click.option("--threads", type=Threads(), default="2,8,16,32", help="values of T in the commands")
@click.option(
    "--keep", is_flag=True, help=f"FILE has cells of hz3 peers: count them in lane {LANE}, and keep the counts"
)
def handovers_verb(file: Path, lane: str, threads: list[int], keep: bool) -> None:
    """Count how often a line of memory is written by another thread than before, for each malloc."""
    reader = registry.read()
    reader.resolve(lane, {})
    if keep and lane != LANE:
        raise click.UsageError(f"--keep is for lane {LANE}")
    if keep:
        argvs = [cell.argv for cell in peers.cells(file).values()]
    else:
        argvs = [argv for _, _, argv in handovers.commands(file, threads)]
    build.Builder(reader).benches(sorted({argv[0] for argv in argvs}))
    counter = handovers.library(lane)
    if keep:
        handovers.keep(counter, file)
    else:
        show.console.print(handovers.table(counter, file, threads, f"lane {lane}"))


@main.command("instructions")
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--group", "groups", multiple=True, help="cases of this group only (may be repeated)")
def instructions_verb(file: Path, groups: tuple[str, ...]) -> None:
    """Count how many instructions more each variant of an experiment takes for an operation."""
    asked = instructions.countable(experiment.read(file), groups)
    plan = planning.of_experiment(file, 1.0, None, show.console.print)
    show.console.print(instructions.table(asked, plan))


@main.command("pack")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@scaling
@click.option("--blocks", type=click.IntRange(1), help="the number of blocks (default: as in the file, or 7 for cells)")
@choosing
def pack_verb(folder: Path, files: tuple[Path, ...], scale: float, blocks: int | None, only: tuple[str, ...]) -> None:
    """Make a FOLDER that measures FILES, experiments (.toml) or cells, on another machine: there, python3 run.py."""
    pack.check_is_new(folder)
    if len({(file.suffix == ".toml", file.stem) for file in files}) < len(files):
        raise LabError("two of the files have the same name")
    if only and all(file.suffix == ".toml" for file in files):
        raise LabError("--only: experiments compare what they name")
    say = show.console.print
    plans = {}
    for file in files:
        if file.suffix == ".toml":
            plan = planning.of_experiment(file, scale, blocks, say)
            cells = {name: plan.cells[name] for name in plan.timed()}  # valgrind counts here, as it would there
            if not cells:
                raise LabError(f"{file}: its gates ask for instructions alone: hz3 ab counts them here")
            plans[file.stem] = replace(plan, cells=cells)
        else:
            plan = planning.of_cells(file, only, scale, blocks or BLOCKS, say)
            if programs.are_real(plan.cells):
                raise LabError(f"{file}: programs cannot be packed: they are installed where they run")
            show.peers(plan)
            plans[plan.name] = plan
    pack.pack(folder, plans)
    say(f"{folder} is ready: copy it, run python3 run.py in it, and merge what comes back")


@main.command("merge")
@click.argument("folder", type=click.Path(path_type=Path))
def merge_verb(folder: Path) -> None:
    """Add the results of a packed FOLDER to the others."""
    for file in pack.merge(folder, RESULTS):
        run = pack.pooled(file)
        if run.void or not session.remaining(run):
            void_if_lost(run)
            results.keep(run, RESULTS)
        show.console.print(f"merged {run.path.relative_to(RESULTS)}")
        show.short_runs(run)


@main.command("report")
@click.argument("file", type=click.Path(path_type=Path), default=ROOT / "build/report.html")
@click.option("--readme", is_flag=True, help="also renew docs/results/ and the figures in README.md")
def report_verb(file: Path, readme: bool) -> None:
    """Write one HTML FILE with all results that are kept (build/report.html)."""
    from lab import readme as figures  # here, since matplotlib takes a second to load
    from lab import report

    known = results.Results.read(RESULTS)
    if readme:
        figures.write(known.comparisons, ROOT)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(report.report(known, show.console.print))
    show.console.print(f"the report is in {file}")


@main.command("conform")
@click.argument("libraries", nargs=-1, required=True, metavar="LIBRARY...")
@click.option("--rows", "patterns", multiple=True, metavar="PATTERN", help="only rows with names such as 'api.*'")
@click.option("--json", "file", type=click.Path(path_type=Path), help="also write the results to FILE")
@click.option("--page", type=click.Path(path_type=Path), help="also write a table of the rows 'invisible.*' to FILE")
def conform_verb(libraries: tuple[str, ...], patterns: tuple[str, ...], file: Path | None, page: Path | None) -> None:
    """Run the tests of API, errno, threads, fork, idle owners, limits and misuse on any allocator, and of what a
    program could notice of it but speed and memory (--rows 'invisible.*'): a LIBRARY by its path, glibc, or a lane or
    peer by its name.  Status 1: a row did not hold, or malloc was another allocator's; 2: a library cannot be tried;
    77: no row failed, but some were skipped."""
    from lab import closing, conform, invisible

    try:
        rows = conform.chosen(patterns)
        builder = build.Builder(registry.read(), say=show.console.print)
        arms = {name: conform.named(name, builder) for name in libraries}
        kit = conform.Kit()
    except LabError as error:
        click.echo(f"hz3: {error}", err=True)
        sys.exit(2)
    found: dict[str, list[conform.Outcome]] = {}
    for name, arm in arms.items():
        found[name] = []
        for outcome in kit.run(arm, rows):
            found[name].append(outcome)
            click.echo(conform.line(outcome))
        click.echo(conform.summary(name, found[name]))
    if file:
        results.write_json(file, conform.to_json(arms, found), 4)
    if page:
        page.write_text(invisible.page(arms, found))
    _, failed, skipped = conform.words([outcome for of in found.values() for outcome in of])
    sys.exit(closing.status(failed, skipped))


@main.command("goals")
@click.argument("file", type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
def goals_verb(file: Path, runs: tuple[Path, ...]) -> None:
    """Print as Markdown how far each lane is from the goals in FILE, by the samples in RUNS."""
    from lab import goals  # here, for the same reason

    loaded = [samples.Samples.load(run) for run in runs]
    click.echo(goals.table(goals.read(file), loaded) + goals.absent(loaded), nl=False)


@main.command("ledger")
@click.option(
    "--until", "aim", type=click.Choice([until.DECIDED]), help="first run each experiment until it is decided"
)
@click.option(
    "--minutes", type=click.IntRange(1), help="the time for each experiment, all its runs of this build together"
)
@click.option("--only", multiple=True, metavar="NAME", help="this experiment (may be repeated)")
@scaling
def ledger_verb(aim: str | None, minutes: int | None, only: tuple[str, ...], scale: float) -> None:
    """Update results/summary.json from the samples here, and write docs/results/verdicts.md from it.  With --until, run
    the experiments before that; the same command goes on where it was interrupted."""
    if bool(aim) != bool(minutes):
        raise click.UsageError("--until and --minutes need each other")
    if not aim:
        check_needed(("only", "scale"), "--until")
    files = sorted(experiment.files(results.EXPERIMENTS), key=ledger.order)
    if unknown := set(only) - {file.stem for file in files}:
        raise LabError(f"there is no experiment '{min(unknown)}'")
    chosen = [file for file in files if not only or file.stem in only] if minutes else []
    failed = [file for file in chosen if not decided_or_named(file, 60.0 * (minutes or 0), scale)]
    found = results.renew(RESULTS, show.console.print)
    (ROOT / "docs/results/verdicts.md").write_text(ledger.ledger(results.EXPERIMENTS, found))
    if failed:
        sys.exit(1)


def decided_or_named(file: Path, budget: float, scale: float) -> bool:
    """Runs an experiment until it is decided, or its budget is spent, and prints its verdicts.  Returns False if it could
    not be run."""
    say, folder = show.console.print, RESULTS / file.stem
    try:
        plan = planning.of_experiment(file, scale, BEGIN, say, until=until.DECIDED)
        known = samples.of_same_build(folder, plan, machine.describe())
        run = samples.Samples.load(known) if known else None
        left = budget - (run.seconds if run else 0)
        if left > 0 and not (run and not session.remaining(run) and not until.needs(run)):
            run = conduct(plan, folder, False, measure.Bench(plan.programs), left, left)
        show.row(run, judge.judge(run) if run and not session.remaining(run) else [], file.stem)
    except until.TimeIsUp:
        say(f"{file.stem}: the time is up before its blocks are complete; more --minutes goes on")
    except LabError as error:
        say(f"{file.stem}: {error}", style="red")
        return False
    return True


def run() -> None:
    measure.interrupt_on_every_end()
    try:
        main(standalone_mode=False, prog_name="hz3")
    except (LabError, OSError) as error:  # OSError: for example no permission, or no space
        sys.exit(f"hz3: {error}")
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort) as interrupt:
        print("\nhz3: interrupted", *(f"; {text}" for text in interrupt.args), sep="", file=sys.stderr)
        sys.exit(130)
