"""Makes one self-contained HTML file from the results."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
from markupsafe import Markup

from lab import LabError, plots
from lab.ahead import Reason, reasons
from lab.build import Say
from lab.comparison import Comparison, Table, measured, tables, title
from lab.handovers import kept
from lab.judge import Verdict, judge
from lab.plots import grid
from lab.results import best, counts, files, newest, readable, run_of
from lab.samples import Samples
from lab.show import signed, steps
from lab.versus import MEMORY, SPEED, Figure

PAGE = jinja2.Environment(
    loader=jinja2.PackageLoader("lab"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
).get_template("report.html")

NO_PICTURE = Markup()


@dataclass(frozen=True)
class Block:
    """A part of a section.  Its fields are shown one below the other; empty ones are left out."""

    title: str = ""
    text: str = ""
    word: str = ""  # the verdict, beside the text
    note: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    prose: bool = False
    picture: Markup = NO_PICTURE


def of_table(made: Table) -> Block:
    return Block(title=made.title, note=made.note, head=made.head, rows=made.rows, prose=made.prose)


def drawn(panels: list[plots.Panel], height: float, alt: str, title: str = "") -> Block:
    return Block(title=title, picture=Markup(grid(panels, height, alt)))


def speed_panels(comparison: Comparison) -> dict[str, list[plots.Panel]]:
    """Speed panels by benchmark program."""
    panels = defaultdict(list)
    for cell in comparison.cells:
        if speed := comparison.figures(cell, SPEED):
            unit = (1.0, "runs per second of CPU time") if comparison.real else (1e6, "M ops/s")
            draw = plots.intervals(speed, comparison.palette, *unit)
            panels[comparison.run.plan.cells[cell].group].append((cell, draw))
    return panels


def pareto_panels(comparison: Comparison) -> list[plots.Panel]:
    return [
        (cell, plots.pareto(speed, comparison.figures(cell, MEMORY), comparison.palette))
        for cell in comparison.cells
        if (speed := comparison.figures(cell, SPEED)) and not comparison.real
    ]


def scaling_panels(comparison: Comparison) -> list[plots.Panel]:
    families: dict[str, dict[int, dict[str, Figure]]] = defaultdict(dict)
    for cell in comparison.cells:
        parameters = comparison.parameters(cell)
        if "threads" in parameters and (speed := comparison.figures(cell, SPEED)):
            others = {k: v for k, v in parameters.items() if k not in ("threads", "iters", "question")}
            name = " ".join(f"{k}={v:g}" if isinstance(v, float) else str(v) for k, v in others.items())
            families[name.removeprefix("bench_")][int(parameters["threads"])] = speed
    return [(name, plots.scaling(family, comparison.palette)) for name, family in families.items() if len(family) > 1]


def time_panels(comparison: Comparison) -> list[plots.Panel]:
    panels = []
    for cell in comparison.cells:
        series = {}
        for arm, text in comparison.texts(cell, "rss_over_time").items():
            pairs = (point.split(":") for point in text.split(","))
            series[arm] = [(float(ms), float(kib)) for ms, kib in pairs]
        if series:
            panels.append((cell, plots.over_time(series, comparison.palette)))
    return panels


def percentile_panels(comparison: Comparison) -> list[plots.Panel]:
    return [
        (f"{call}: {cell}", plots.percentiles(comparison.percentiles(cell, call), comparison.palette))
        for cell in comparison.timed
        for call in ("malloc", "free")
    ]


def comparison_section(comparison: Comparison, known: list[Reason]) -> list[Block]:
    blocks = [
        Block(note=measured(comparison.run, comparison.blocks)),
        *map(of_table, tables(comparison, known, kept(comparison.run.plan))),
    ]
    for program, panels in speed_panels(comparison).items():
        height = 0.9 + 0.2 * len(comparison.arms)
        blocks.append(drawn(panels, height, f"ops/s of {program}", f"Speed: {program}"))
    for what, panels in (
        ("Speed against memory", pareto_panels(comparison)),
        ("Scaling over threads", scaling_panels(comparison)),
        ("RSS over time", time_panels(comparison)),
        ("How long single calls take", percentile_panels(comparison)),
    ):
        if panels:
            blocks.append(drawn(panels, 3.4, what, what))
    return blocks


def experiment_section(run: Samples, verdicts: list[Verdict]) -> list[Block]:
    blocks = [Block(title(run), run.plan.experiment["question"], note=measured(run, run.plan.blocks))]
    for verdict in verdicts:
        figure = verdict.findings[0].figure
        findings = [finding for finding in verdict.findings if finding.figure == figure]
        panels = [(f"{verdict.variant}: {figure}", plots.forest(findings))]
        gates = [[gate.holds.value, str(gate.gate), gate.reason] for gate in verdict.gates]
        others = [[f.case, f.figure, signed(f.effect.gain), f.verdict] for f in verdict.findings if f.figure != figure]
        blocks += [
            Block(text=f"{verdict.variant}:", word=verdict.word, head=["holds", "gate", "where"], rows=gates),
            drawn(panels, 0.9 + 0.3 * len(findings), f"{run.plan.name}, {verdict.variant}"),
            Block(head=["case", "memory", "better by", ""], rows=others),
        ]
    return blocks


def published(folder: Path, say: Say) -> list[Samples]:
    """From the samples in the folder: the newest comparison of each list, and the newest run of each experiment."""
    paths = steps("reading", files(folder), run_of, say)
    runs = [run for run in readable(paths, say) if counts(run)]
    compared = newest(run for run in runs if run.plan.kind == "peers")
    return compared + best((run for run in runs if run.plan.kind == "ab"), lambda run: run.plan.name)


def report(folder: Path, say: Say) -> str:
    runs = published(folder, say)
    if not runs:
        raise LabError(f"nothing to report: no samples in {folder}")
    known = reasons()
    sections: dict[str, list[Block]] = defaultdict(list)
    for run in steps("drawing", runs, title, say):
        if run.plan.kind == "ab":
            sections["Experiments"] += experiment_section(run, judge(run))
        else:
            sections[title(run)] += comparison_section(Comparison(run), known)
    return PAGE.render(sections=dict(sections))
