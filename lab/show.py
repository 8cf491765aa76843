"""Progress and verdicts in a terminal."""

import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

from lab import Json, machine
from lab.interval import covers
from lab.judge import (
    FEWEST,
    NEVER,
    NOISY,
    SHORTEST,
    Finding,
    Holds,
    Verdict,
    blocks_said,
    short_cells,
    signed,
)
from lab.plan import Plan
from lab.samples import Round, Samples
from lab.session import remaining, rounds
from lab.versus import MEMORY, OVERFLOW_NOTE, compare, figures_of, latencies_of, marked, multiple

COLOURS = {
    "GO": "green",
    "BETTER": "green",
    "NO-GO": "red",
    "NO DIFFERENCE": "cyan",
    "GO UNLIKELY": "magenta",
    "WORSE": "red",
    "SAME": "cyan",
    "INCONCLUSIVE": "yellow",
    Holds.YES: "green",
    Holds.SAME: "cyan",
    Holds.NO: "red",
    Holds.UNLIKELY: "magenta",
    Holds.UNDECIDED: "yellow",
}
SETTLES = " would settle it"
SHORT = 0.2  # seconds; there is a warning about shorter runs of a comparison
T = TypeVar("T")
console = Console(markup=False, emoji=False, width=None if sys.stdout.isatty() else 180)


class Watch:
    """Shows the progress of a session.  The time left is estimated from each cell's runs so far."""

    def __init__(self, samples: Samples):
        self.left: dict[str, int] = defaultdict(int)  # the runs left, by cell
        for round_, arms in remaining(samples):
            self.left[round_.cell] += len(arms)
        total, done = sum(len(arms) for _, arms in rounds(samples.plan, samples.more)), sum(self.left.values())
        self.took: dict[str, list[float]] = defaultdict(list)
        self.running: tuple[str, float] | None = None
        self.bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[time_left]}"),
            console=console,
        )
        self.task = self.bar.add_task("", total=total, completed=total - done, time_left="")

    def __enter__(self) -> "Watch":
        self.bar.start()
        return self

    def __exit__(self, failure: type | None, *_: object) -> None:
        if not failure:
            total = self.bar.tasks[self.task].total
            self.bar.update(self.task, completed=total, description="done", time_left="")
        self.bar.stop()

    def __call__(self, round_: Round, arm: str) -> None:
        now = time.monotonic()
        if self.running:
            self.took[self.running[0]].append(now - self.running[1])
            self.left[self.running[0]] -= 1
            self.bar.advance(self.task)
        self.running = (round_.cell, now)
        self.bar.update(
            self.task,
            time_left=self._time_left(),
            description=f"{round_.phase} {round_.block + 1}  {round_.cell}  {arm}",
        )

    def _time_left(self) -> str:
        if not self.took:
            return "time left: not known yet"
        typical = statistics.mean(t for times in self.took.values() for t in times)
        seconds = sum(
            runs * (statistics.mean(self.took[cell]) if cell in self.took else typical)
            for cell, runs in self.left.items()
        )
        return f"{int(seconds // 60)}:{int(seconds % 60):02d} left"


def steps(verb: str, items: Sequence[T], name: Callable[[T], str], say: Callable[[str], None]) -> Iterator[T]:
    """Yields each item, with a progress bar that names it.  Without a terminal the name is printed."""
    columns = TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(verb, total=len(items))
        for item in items:
            bar.update(task, description=f"{verb} {name(item)}")
            if not console.is_terminal:
                say(f"{verb} {name(item)}")
            yield item
            bar.advance(task)


def human(figure: str, value: float) -> str:
    """With its unit; shares, ratios and numbers have none."""
    if figure.endswith("_per_s"):
        return f"{value / 1e6:.2f} M/s" if value >= 1e5 else f"{value:.0f} /s" if value >= 100 else f"{value:.3g} /s"
    if figure.endswith("_kib"):
        return f"{value / 1024:.1f} MiB"
    if figure.endswith("_ns"):
        return duration(value)
    return f"{value:.4g} s" if figure.endswith(("_s", "seconds")) else f"{value:.4g}"


def duration(ns: float) -> str:
    for unit, in_ns in (("ms", 1e6), ("µs", 1e3)):
        if ns >= in_ns:
            return f"{ns / in_ns:.3g} {unit}"
    return f"{ns:.0f} ns"


def floor_of(finding: Finding) -> str:
    """The noise floor in both directions.  It is one distance as a logarithm, but a loss has fewer per cent."""
    return f"{signed(-finding.effect.floor)} {signed(finding.effect.floor)}"


def blocks_to_settle(finding: Finding) -> str:
    """The text on how many blocks would settle a finding, if it needs more than it has."""
    if not finding.runs_needed or finding.runs_needed <= finding.effect.pairs:
        return ""
    return f"{blocks_said(finding.runs_needed)}{SETTLES}"


def spread_said(range_ratio: float) -> str:
    return f"max/min {range_ratio:.2f}" if range_ratio > NOISY else ""


def remarks(finding: Finding) -> list[str]:
    return list(filter(None, (spread_said(finding.range_ratio), blocks_to_settle(finding))))


def finding_row(finding: Finding) -> list[str]:
    effect, said = finding.effect, remarks(finding)
    if finding.overflowed:
        said.append(f"rings overflowed in {finding.overflowed} of {effect.pairs}")
    return [
        finding.case,
        finding.figure,
        *(human(finding.figure, m) for m in finding.medians),
        signed(effect.gain),
        f"{signed(effect.low)} to {signed(effect.high)}",
        floor_of(finding),
        finding.verdict,
        "; ".join(said),
    ]


def verdicts(samples: Samples, judged: list[Verdict]) -> None:
    for verdict in judged:
        covered = min((covers(f.effect.pairs, samples.looks(f.case)) for f in verdict.findings), default=0)
        table = Table(
            "case",
            "figure",
            "baseline",
            "variant",
            "better by",
            f"{covered} % interval",
            "noise floor",
            "",
            "",
            title=f"{samples.plan.name}: {verdict.variant}",
            title_justify="left",
        )
        for finding in verdict.findings:
            table.add_row(*finding_row(finding), style=COLOURS[finding.verdict])
        console.print(table)
        for gate in verdict.gates:
            console.print(f"  {gate.holds.value:13} {gate.gate}: {gate.reason}", style=COLOURS[gate.holds])
        said = f"{samples.plan.name}, {verdict.variant}: {verdict.word}\n"
        console.print(said, style=f"bold {COLOURS[verdict.word]}")
    most = max((f.effect.pairs for verdict in judged for f in verdict.findings), default=FEWEST)
    if most < FEWEST:
        console.print(f"{most} blocks are too few for any verdict: {FEWEST} is the least.")
    short_runs(samples)


def row(samples: Samples | None, judged: list[Verdict], name: str) -> None:
    """What the ledger's row is now, and what it would need."""
    if not samples or not judged:
        console.print(f"{name}: not measured", style="yellow")
        return
    words = "; ".join(f"{verdict.variant}: {verdict.word}" for verdict in judged)
    most = max(map(samples.planned, samples.plan.timed()), default=0)
    console.print(f"{name}, {most} blocks in {samples.seconds / 60:.0f} minutes: {words}", style="bold")
    for answer in (gate for verdict in judged if verdict.word == "INCONCLUSIVE" for gate in verdict.gates):
        if answer.holds is Holds.UNDECIDED:
            console.print(f"  {answer.gate}: {answer.reason}")


def left_open(needs: dict[str, int]) -> None:
    for cell, blocks in needs.items():
        more = "no number of blocks would decide it" if blocks >= NEVER else f"it needs about {blocks} blocks more"
        console.print(f"not decided: {cell}: {more}", style="yellow")


def short_runs(samples: Samples) -> None:
    shortest = SHORTEST if samples.plan.kind == "ab" else SHORT
    for cell, median in short_cells(samples, shortest).items():
        said = f"{cell}: the median run measured {median:.2g} s; less than {shortest} s is mostly noise, raise --scale"
        console.print(said, style="yellow")


def peers(plan: Plan) -> None:
    table = Table("who", "version", "library")
    for name, arm in plan.arms.items():
        table.add_row(name, arm.said_version, arm.file or "libc")
    for name, status in plan.missing.items():
        table.add_row(name, "cannot be had", status, style="red")
    console.print(table)


def compared(samples: Samples, cell: str, title: str, figures: dict[str, str], reference: str) -> Table:
    """A row for each arm.  figures: those of the columns, with their heads."""
    of_figures = {figure: compare(samples, cell, figure, reference) for figure in figures}
    heads = [head for said in figures.values() for head in (said, f"to {reference}")]
    table = Table("", *heads, title=title, title_justify="left")
    for arm in samples.arms_of(Round("ab", 0, cell)):
        mine = {figure: of_arm[arm] for figure, of_arm in of_figures.items()}
        table.add_row(arm, *(said for f, of in mine.items() for said in (human(f, of.median), multiple(of.ratio))))
    return table


def comparison(samples: Samples, reference: str) -> None:
    for cell in filter(lambda cell: samples.blocks(cell, "ab"), samples.plan.cells):
        names = {figure: figure for figure in figures_of(samples, cell)}
        console.print(compared(samples, cell, marked(samples, cell), names, reference))
        for call, figures in latencies_of(samples, cell).items():
            console.print(compared(samples, cell, f"{cell}: calls of {call} return within", figures, reference))
    if any(marked(samples, cell) != cell for cell in samples.plan.cells):
        console.print(OVERFLOW_NOTE, style="yellow")
    for (cell, arm), reason in samples.unable.items():
        console.print(f"no result of {arm} in {cell}: {reason}", style="red")
    short_runs(samples)


def least(samples: Samples, cell: str, figure: str, reference: str) -> str:
    """The text on which arm needs least, as far as the intervals tell, and at which peak."""
    ratios = {a: f.ratio for a, f in compare(samples, cell, figure, reference).items() if f.ratio and a != reference}
    what = {"cpu_s": "CPU time", "peak_kib": "peak memory"}[figure]
    if not ratios:
        return f"{what} is not compared"
    peaks = {arm: human(MEMORY, of.median) for arm, of in compare(samples, cell, MEMORY, reference).items()}
    less = [arm for arm, (_, _, high) in ratios.items() if high < 1]
    more = [arm for arm, (_, low, _) in ratios.items() if low > 1]
    like = [arm for arm in ratios if arm not in less + more]
    best = min(less or like or more, key=lambda arm: ratios[arm])
    needs = f"needs {multiple(ratios[best])}"
    if less:
        return f"least {what} on {best}: {multiple(ratios[best])} of {reference}'s, at a peak of {peaks[best]}"
    if not like:
        return f"least {what} on {reference}, at a peak of {peaks[reference]}: {best}, the next, {needs}"
    if not more:
        return f"in {what} none is told from {reference}: {best} {needs}"
    return f"in {what} {', '.join(like)} cannot be told from {reference}: {best} {needs}; {', '.join(more)} need more"


def closing(samples: Samples, reference: str) -> None:
    """Prints the sentence that sums a comparison up."""
    for cell in filter(lambda cell: samples.blocks(cell, "ab"), samples.plan.cells):
        said = "; ".join(least(samples, cell, figure, reference) for figure in ("cpu_s", "peak_kib"))
        runs = len(samples.blocks(cell, "ab"))
        console.print(f"hz3: {said} (medians, {covers(runs)} % intervals, {runs} runs each)", highlight=False)


def environment(facts: Json) -> None:
    console.print(
        f"{machine.name(facts)}; {facts['cores']} cores, {facts['sockets']} sockets, "
        f"{facts['last_level_caches']} last-level caches; Linux {facts['kernel']}; "
        f"governor {facts['governor']}; load {facts['load']:.1f}"
    )
    if machine.busy(facts):
        console.print("The machine is not idle: expect a high noise floor.", style="yellow")
