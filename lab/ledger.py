"""Makes docs/results/verdicts.md from experiments/*.toml and the summary of their results."""

import re
import statistics
from pathlib import Path

from lab import Json, machine
from lab.experiment import MEMORY, Experiment, files, read
from lab.judge import NOISY, SHORTEST, Finding, log_ratio, percent, signed
from lab.results import Results, day, run_of, weightiest
from lab.show import SETTLES, floor_of, remarks
from lab.summary import Judged, basis
from lab.until import OPEN
from lab.versus import OVERFLOW_NOTE, OVERFLOWED

WORST = -99.9  # per cent; what prints as -100 has no logarithm
HEAD = f"""# Verdicts

Made by `hz3 ledger` from `experiments/*.toml` and `results/summary.json`; not to be edited by hand.
[lab.md](../lab.md#the-lab) explains how a verdict is reached. Changes are given as "better by": positive is faster, or
smaller. What is better by -50 % has half the speed, or takes twice the memory; by +100 %, twice the speed, or half the
memory. In brackets is the interval that is judged: it covers 97.5 % at the first look at a run, and more later. A
change within the noise floor does not count. max/min is the ratio of a library's largest to its smallest figure, if it
exceeds {NOISY}. For open findings and gates the table has
the number of blocks that{SETTLES}, 4 times of 5. NO DIFFERENCE means that an improvement was required, no gate is open,
and no case is better or worse: each is within the required improvement, or within the experiment's margin. GO UNLIKELY
means that no gate has failed, and that one will hardly be shown to hold by any number of blocks that there is time for.
Where a row has objects that are touched and others that are not, the touched ones decide, as programs touch what they
allocate: the table has the geometric means of both. Days are those on which a run had the verdict that is shown, of those
on which there was a run: earlier days had older builds, and often other cases and gates.
{OVERFLOW_NOTE}

"""


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


def amount(run: Judged) -> str:
    """How much was measured, and whether the machine was busy."""
    doubt = f", {machine.load_said(run.machine)}" if machine.busy(run.machine) else ""
    blocks = f"{run.blocks} to {run.most}" if run.most > run.blocks else str(run.blocks)
    return f"{blocks} blocks, {run.scale:g} of the iterations{doubt}"


def measured_as(run: Judged, history: str = "") -> str:
    """The line about a run.  `history`: where the samples are, if they are no longer in results/."""
    facts, here = run.machine, f"[every sample](../../results/{run.path.parent.name}/{run.path.name})"
    where = f"every sample: `git show {history}`" if history else here
    return f"{day(run.path)}, {machine.name(facts)}, Linux {facts['kernel']}; {amount(run)}; {where}"


def result(run: Judged, experiment: Experiment, history: str = "") -> list[str]:
    lines = [f"{measured_as(run, history)}.", ""]
    if run.basis != basis(experiment):
        older = "The file has changed since, or libraries kept their places in memory."
        lines += [f"**{older} Builds, cases and gates are those from when the run began.**", ""]
    lines += [
        f"| variant | case | work order | {run.figure} | noise floor | peak RSS | RSS at the end |",
        "|---|---|---|---|---|---|---|",
    ]
    for verdict in run.verdicts:
        by_case: dict[str, dict[str, Finding]] = {}
        for finding in verdict.findings:
            by_case.setdefault(finding.case, {})[finding.figure] = finding
        for case, found in by_case.items():
            main = found[run.figure]
            memory = (cell(found[figure]) for figure in MEMORY)
            change = their_change(experiment, case, verdict.variant)
            mark = f" {OVERFLOWED}" * (main.overflowed > 0)
            row = (verdict.variant, case + mark, change, cell(main), floor_of(main), *memory)
            lines.append(f"| {' | '.join(row)} |")
    if run.short:
        cells = ", ".join(f"{cell} ({median:.2g} s)" for cell, median in run.short.items())
        lines += ["", f"No time decides, since the median run took less than {SHORTEST} s: {cells}."]
    if run.given_up:
        blocks = ", ".join(f"{count} of {cell}" for cell, count in run.given_up.items())
        lines += ["", f"The host spoilt each attempt at these blocks, which decide nothing: {blocks}."]
    for verdict in run.verdicts:
        said = f" (the work order: {theirs(experiment, verdict.variant)})" if experiment.original else ""
        lines += ["", f"{verdict.variant}: **{verdict.word}**{said}", ""]
        lines += [f"- {gate.holds.value}: {gate.gate}: {gate.reason}" for gate in verdict.gates]
    return lines


def section(
    experiment: Experiment, shown: list[Judged], others: list[Judged], history: dict[str, str], void: list[Json]
) -> list[str]:
    original = experiment.original
    lines = [f"## {experiment.name}", "", experiment.question, ""]
    if original:
        lines += [f"The work order ({experiment.work_order}): {original.said}", ""]
    for run in shown:
        lines += [*result(run, experiment, history.get(run_of(run.path), "")), ""]
    if others:
        lines += [f"Every {'other ' if shown else ''}complete run, each by the file of its day:", ""]
        for run in others:
            words = "; ".join(f"{verdict.variant}: {verdict.word}" for verdict in run.verdicts)
            lines.append(f"- {measured_as(run, history.get(run_of(run.path), ''))}. {words}")
        lines.append("")
    if void:
        lines += ["Runs that are kept and decide nothing:", ""]
        lines += [f"- {line['date']}, {machine.name(line['machine'])}: {line['void']}" for line in void] + [""]
    if not shown and not others:
        lines += ["Not yet run. To hold for a GO:", "", *(f"- {gate}" for gate in experiment.gates), ""]
    return [*lines, f"Why: {experiment.why or 'not yet known.'}", ""]


def order(file: Path) -> tuple[bool, list[int], str]:
    """The work orders' boxes by number first, then other experiments by name."""
    numbers = re.findall(r"\d+", file.stem)
    return not numbers, [int(number) for number in numbers], file.stem


def by_touch(shown: list[Judged], variant: str, touch: str) -> str:
    """The geometric means of speed and peak RSS over the cases whose objects are touched like this, of each run."""

    def findings(run: Judged) -> list[Finding]:
        own = (f for verdict in run.verdicts if verdict.variant == variant for f in verdict.findings)
        return [f for f in own if f.case.endswith(f" touch {touch}")]

    def mean(run: Judged, figure: str) -> float:
        printed = (round(percent(f.effect.gain), 1) for f in findings(run) if f.figure == figure)
        return statistics.mean(log_ratio(max(of, WORST)) for of in printed)

    having = filter(findings, shown)
    said = (f"speed {signed(mean(run, run.figure))}, peak {signed(mean(run, MEMORY[0]))}" for run in having)
    return "; ".join(said) or "-"


def ours(shown: list[Judged], variant: str) -> str:
    words = [verdict.word for run in shown for verdict in run.verdicts if verdict.variant == variant]
    return ", ".join(dict.fromkeys(words)) or "not yet run"


def days(complete: list[Judged], shown: list[Judged], variant: str) -> str:
    """On how many days a run had the verdict that is shown, of those on which there was a run."""

    def verdicts(runs: list[Judged]) -> set[tuple[str, str]]:
        return {(day(run.path), verdict.word) for run in runs for verdict in run.verdicts if verdict.variant == variant}

    words, every = {word for _, word in verdicts(shown)} - {OPEN}, verdicts(complete)
    if len(words) != 1:  # open, or another verdict on each machine
        return "-"
    return f"{len({on for on, word in every if word in words})} of {len({on for on, _ in every})}"


def ledger(folder: Path, results: Results) -> str:
    """The page on the experiments in the folder."""
    lines = [
        "| experiment | variant | work order | here | days | objects touched | objects not touched |",
        "|---|---|---|---|---|---|---|",
    ]
    history = {run: line["history"] for run, line in results.index.items() if "history" in line}
    sections = []
    for file in sorted(files(folder), key=order):
        experiment, complete = read(file), results.experiments.get(file.stem, [])
        shown = weightiest(complete, experiment)
        full = [run for run in shown if not run.is_brief]
        others = [run for run in complete if run not in full]
        anchor = experiment.name.lower().replace(" ", "-")
        for name in (variant.name for variant in experiment.variants):
            touches = " | ".join(by_touch(shown, name, touch) for touch in ("ends", "none"))
            verdicts = f"{theirs(experiment, name)} | {ours(shown, name)} | {days(complete, shown, name)} | {touches}"
            lines.append(f"| [{experiment.name}](#{anchor}) | {name} | {verdicts} |")
        void = [line for run, line in results.index.items() if "void" in line and run.startswith(f"{file.stem}/")]
        sections += section(experiment, full, others, history, void)
    return HEAD + "\n".join([*lines, "", *sections])
