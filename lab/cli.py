"""The verbs of the lab, as bin/hz3 calls them."""

import secrets
import signal
import sys
import tomllib
from pathlib import Path

import click

from lab import ROOT, LabError, build, experiment, judge, machine, measure, registry, samples, session, show
from lab.plan import Plan

RESULTS = ROOT / "experiments/results"
AA_BLOCKS = 6


@click.group()
def main() -> None:
    """The lab of hz3; docs/benchmarking.md explains it."""


def conduct(plan: Plan, folder: Path, resume: bool, taker: session.Measure) -> samples.Samples:
    """Runs the plan, or what is left of the newest run of it."""
    facts = machine.describe()
    show.environment(facts)
    if resume:
        run = samples.Samples.load(samples.newest_path(folder))
        plan.check_same_as(run.plan)
        if not machine.same(facts, run.machine):
            raise LabError("cannot resume: the run began on another machine")
        if not session.remaining(run):
            raise LabError(f"nothing to resume: {run.path.name} is complete")
        run.resume(facts)
    else:
        run = samples.Samples.create(samples.new_path(folder), plan, facts)
    with show.Watch(run) as watch:
        session.run(run, taker, watch)
    show.console.print(f"every sample is in {run.path}")
    return run


@main.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--scale", default=1.0, type=click.FloatRange(0, min_open=True), help="times the iterations of each case")
@click.option("--blocks", type=click.IntRange(1), help="instead of the number in the file")
@click.option("--resume", is_flag=True, help="go on with the newest run, which was interrupted")
def ab(file: Path, scale: float, blocks: int | None, resume: bool) -> None:
    """Build the variants of an experiment, measure and judge them."""
    flags, asked = registry.read(), experiment.read(file)
    experiment.check(asked, flags)
    plan = build.plan_experiment(asked, tomllib.loads(file.read_text()), build.Builder(flags, say=show.console.print),
                                 scale, blocks or asked.blocks, AA_BLOCKS, secrets.randbits(32))
    run = conduct(plan, RESULTS / file.stem, resume, measure.Bench())
    show.verdicts(run, judge.judge(run))


def run() -> None:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        main(standalone_mode=False, prog_name="hz3")
    except LabError as error:
        sys.exit(f"hz3: {error}")
    except click.ClickException as error:
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        print("\nhz3: interrupted; what was measured is kept, --resume goes on", file=sys.stderr)
        sys.exit(130)
