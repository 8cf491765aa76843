"""docs/verdicts.md, made from experiments/*.toml and their results."""

import re
from collections.abc import Iterable
from pathlib import Path

from lab import LabError, machine
from lab.experiment import MEMORY, Experiment, files, from_table, read
from lab.judge import NOISY, Finding, Verdict, judge
from lab.peers import PUBLISHED
from lab.samples import Samples
from lab.session import remaining
from lab.show import SETTLES, SHORT, floor_of, remarks, short_cells, signed
from lab.versus import OVERFLOW_NOTE, OVERFLOWED

LEAST_BLOCKS, LEAST_WEIGHT = 2, 0.5  # of a comparison; the weight of 2 blocks with a quarter of the iterations

HEAD = f"""# Verdicts

Made by `hz3 ledger` from `experiments/*.toml` and the samples in `experiments/results`; not to be edited by hand.
[benchmarking.md](benchmarking.md#the-lab) says how a verdict comes about. A change is "better by": positive is faster,
or smaller. What is better by -50 % has half the speed, or takes twice the memory; by +100 %, twice the speed, or half
the memory. In brackets is the interval that covers 95 %. Nothing within the noise floor counts. max/min is the largest
to the smallest figure of one library, where above {NOISY}. What is open, itself or at a gate, has with it how many
blocks{SETTLES}, 4 times of 5. {OVERFLOW_NOTE}

"""


def weight(run: Samples) -> float:
    """What a trial has less of."""
    return run.plan.scale * run.plan.blocks


def counts(run: Samples) -> bool:
    """A complete run; of comparisons one that is no trial, and leaves out nobody whom all that are published have."""
    plan = run.plan
    trial = plan.blocks < LEAST_BLOCKS or weight(run) < LEAST_WEIGHT
    if plan.kind == "peers" and (trial or PUBLISHED - plan.arms.keys() - plan.missing.keys()):
        return False
    return not remaining(run)


def basis(asked: Experiment) -> tuple:
    """All that a verdict depends on, but samples."""
    return asked.baseline, asked.variants, asked.cases, asked.gates, asked.figure, asked.same_within


def published(files: Iterable[Path], asked: Experiment | None = None) -> list[Samples]:
    return weightiest(map(Samples.load, sorted(files)), asked)


def weightiest(every: Iterable[Samples], asked: Experiment | None = None) -> list[Samples]:
    """Of every name and machine the weightiest run, and of several the newest, but first those of what is asked now; of
    comparisons the newest, whatever its weight, since each is of the code of its day."""

    def rank(run: Samples) -> tuple[bool, float]:
        return bool(asked) and basis(from_table(run.plan.experiment)) == basis(asked), weight(run)

    runs = {}
    for run in filter(counts, every):
        key = run.plan.kind, run.plan.name, machine.identity(run.machine)
        if key not in runs or run.plan.kind == "peers" or rank(run) >= rank(runs[key]):
            runs[key] = run
    return list(runs.values())


def theirs(experiment: Experiment, variant: str) -> str:
    if not experiment.original:
        return "-"
    verdict = experiment.original.verdict
    return (verdict.get(variant, "") if isinstance(verdict, dict) else verdict) or "not measured"


def their_change(experiment: Experiment, case: str, variant: str) -> str:
    figures = experiment.original.figures if experiment.original else ()
    return next((f"{f.change:+g} %" for f in figures if (f.case, f.variant) == (case, variant)), "")


def cell(finding: Finding) -> str:
    effect = finding.effect
    said = f"{finding.verdict} {signed(effect.gain)} [{signed(effect.low)}, {signed(effect.high)}]"
    return "; ".join((said, *remarks(finding))).removesuffix(SETTLES)


def measured_as(run: Samples) -> str:
    plan, facts, file = run.plan, run.machine, run.path
    doubt = f", {machine.load_said(facts)}" if machine.busy(facts) else ""
    return (
        f"{file.stem[:4]}-{file.stem[4:6]}-{file.stem[6:8]}, {machine.name(facts)}, Linux {facts['kernel']}; "
        f"{plan.blocks} blocks, {plan.scale:g} of the iterations{doubt}; "
        f"[every sample](../experiments/results/{file.parent.name}/{file.name})"
    )


def result(run: Samples, verdicts: list[Verdict], experiment: Experiment) -> list[str]:
    measured = from_table(run.plan.experiment)
    lines = [f"{measured_as(run)}.", ""]
    if basis(measured) != basis(experiment):
        lines += ["**The file has changed since. Builds, cases and gates are those it had when the run began.**", ""]
    lines += [
        f"| variant | case | work order | {measured.figure} | noise floor | peak RSS | RSS at the end |",
        "|---|---|---|---|---|---|---|",
    ]
    for verdict in verdicts:
        by_case: dict[str, dict[str, Finding]] = {}
        for finding in verdict.findings:
            by_case.setdefault(finding.case, {})[finding.figure] = finding
        for case, found in by_case.items():
            main = found[measured.figure]
            memory = (cell(found[figure]) for figure in MEMORY)
            change = their_change(experiment, case, verdict.variant)
            mark = f" {OVERFLOWED}" * (main.overflowed > 0)
            row = (verdict.variant, case + mark, change, cell(main), floor_of(main), *memory)
            lines.append(f"| {' | '.join(row)} |")
    if short := short_cells(run):
        cells = ", ".join(f"{cell} ({median:.2g} s)" for cell, median in short.items())
        lines += ["", f"Mostly noise, since the median run took less than {SHORT} s: {cells}."]
    for verdict in verdicts:
        said = f" (the work order: {theirs(experiment, verdict.variant)})" if experiment.original else ""
        lines += ["", f"{verdict.variant}: **{verdict.word}**{said}", ""]
        lines += [f"- {gate.holds.value}: {gate.gate}: {gate.reason}" for gate in verdict.gates]
    return lines


Judged = list[tuple[Samples, list[Verdict]]]


def section(experiment: Experiment, judged: Judged, others: Judged) -> list[str]:
    original = experiment.original
    lines = [f"## {experiment.name}", "", experiment.question, ""]
    if original:
        lines += [f"The work order ({experiment.work_order}): {original.said}", ""]
    for run, verdicts in judged:
        lines += [*result(run, verdicts, experiment), ""]
    if others:
        lines += ["Every other complete run, each by the file of its day:", ""]
        for run, verdicts in others:
            lines.append(f"- {measured_as(run)}. {'; '.join(f'{v.variant}: {v.word}' for v in verdicts)}")
        lines.append("")
    if not judged:
        lines += ["Not yet run. To hold for a GO:", "", *(f"- {gate}" for gate in experiment.gates), ""]
    return [*lines, f"Why: {experiment.why or 'not yet known.'}", ""]


def order(file: Path) -> tuple:
    """Boxes of the work orders by their number, then our own."""
    numbers = re.findall(r"\d+", file.stem)
    return not numbers, [int(number) for number in numbers], file.stem


def ours(judged: Judged, variant: str) -> str:
    words = [v.word for _, verdicts in judged for v in verdicts if v.variant == variant]
    return ", ".join(words) or "not yet run"


def judged_of(runs: list[Samples]) -> Judged:
    judged = []
    for run in runs:
        try:
            judged.append((run, judge(run)))
        except LabError as error:
            raise LabError(f"{run.path.name} of {run.plan.name}: {error}") from None
    return judged


def ledger(folder: Path) -> str:
    summary = ["| experiment | variant | work order | here |", "|---|---|---|---|"]
    sections = []
    for file in sorted(files(folder), key=order):
        experiment, results = read(file), sorted((folder / "results" / file.stem).glob("*.jsonl"))
        complete = list(filter(counts, map(Samples.load, results)))
        shown = weightiest(complete, experiment)
        judged, others = judged_of(shown), judged_of([run for run in complete if run not in shown])
        anchor = experiment.name.lower().replace(" ", "-")
        for name in (variant.name for variant in experiment.variants):
            verdicts = f"{theirs(experiment, name)} | {ours(judged, name)}"
            summary.append(f"| [{experiment.name}](#{anchor}) | {name} | {verdicts} |")
        sections += section(experiment, judged, others)
    return HEAD + "\n".join([*summary, "", *sections])
