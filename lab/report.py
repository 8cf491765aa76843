"""One HTML file with everything in it, from the results there are."""

import html
from collections import defaultdict
from pathlib import Path

from lab import LabError, plots
from lab.ahead import Reason, reasons
from lab.build import Say
from lab.comparison import Comparison, Table, measured, tables, title
from lab.judge import Verdict, judge
from lab.plots import grid
from lab.results import best, counts, files, newest, readable
from lab.samples import Samples
from lab.show import signed
from lab.versus import MEMORY, SPEED, Figure

STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 2rem; } h2 { margin-top: 3rem; border-bottom: 2px solid #c1121f; } h3 { margin-top: 2rem; }
nav a { margin-right: 1rem; } svg { width: 100%; height: auto; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums; }
th, td { padding: .2rem .6rem; text-align: right; border-bottom: 1px solid #ddd; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
.prose td { white-space: pre-line; min-width: 13rem; text-align: left; vertical-align: top; }
.prose td:first-child { min-width: 11rem; } .prose td:last-child { min-width: 16rem; } .prose th { text-align: left; }
.note { color: #666; font-size: .9rem; }
.GO, .BETTER { color: #1a7a6e; } .NO-GO, .WORSE { color: #c1121f; } .INCONCLUSIVE { color: #777; }
"""


PAGE = """<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><title>hz3, measured</title><meta name="viewport" content="width=device-width">
<style>{style}</style></head>
<body>
<h1>hz3, measured</h1>
<nav>{links}</nav>
{body}
</body>
</html>
"""


def note(text: str) -> str:
    return f'<p class="note">{html.escape(text)}</p>'


def table(head: list[str], rows: list[list[str]], style: str = "") -> str:
    def line(cells: list[str], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in cells) + "</tr>"

    lines = line(head, "th") + "".join(line(row, "td") for row in rows)
    return f'<div class="scroll"><table class="{style}">{lines}</table></div>'


def section(made: Table) -> list[str]:
    said = [note(made.note)] if made.note else []
    return [f"<h3>{html.escape(made.title)}</h3>", *said, table(made.head, made.rows, "prose" * made.prose)]


def speed_panels(comparison: Comparison) -> dict[str, list[plots.Panel]]:
    """By benchmark program."""
    panels = defaultdict(list)
    for cell in comparison.cells:
        if speed := comparison.figures(cell, SPEED):
            draw = plots.intervals(speed, comparison.palette, 1e6, "M ops/s")
            panels[comparison.run.plan.cells[cell].group].append((cell, draw))
    return panels


def pareto_panels(comparison: Comparison) -> list[plots.Panel]:
    return [
        (cell, plots.pareto(speed, comparison.figures(cell, MEMORY), comparison.palette))
        for cell in comparison.cells
        if (speed := comparison.figures(cell, SPEED))
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
            series[arm] = [tuple(float(n) for n in point.split(":")) for point in text.split(",")]
        if series:
            panels.append((cell, plots.over_time(series, comparison.palette)))
    return panels


def percentile_panels(comparison: Comparison) -> list[plots.Panel]:
    return [
        (f"{call}: {cell}", plots.percentiles(comparison.percentiles(cell, call), comparison.palette))
        for cell in comparison.timed
        for call in ("malloc", "free")
    ]


def comparison_section(comparison: Comparison, known: list[Reason]) -> list[str]:
    parts = [note(measured(comparison.run, comparison.blocks))]
    for made in tables(comparison, known):
        parts += section(made)
    for program, panels in speed_panels(comparison).items():
        height = 0.9 + 0.2 * len(comparison.arms)
        parts += [f"<h3>Speed: {html.escape(program)}</h3>", grid(panels, height, f"ops/s of {program}")]
    for what, panels in (
        ("Speed against memory", pareto_panels(comparison)),
        ("Scaling over threads", scaling_panels(comparison)),
        ("RSS over time", time_panels(comparison)),
        ("How long single calls take", percentile_panels(comparison)),
    ):
        if panels:
            parts += [f"<h3>{what}</h3>", grid(panels, 3.4, what)]
    return parts


def experiment_section(run: Samples, verdicts: list[Verdict]) -> list[str]:
    parts = [
        f"<h3>{html.escape(title(run))}</h3>",
        f"<p>{html.escape(run.plan.experiment['question'])}</p>",
        note(measured(run, run.plan.blocks)),
    ]
    for verdict in verdicts:
        figure = verdict.findings[0].figure
        findings = [finding for finding in verdict.findings if finding.figure == figure]
        parts.append(f'<p>{html.escape(verdict.variant)}: <strong class="{verdict.word}">{verdict.word}</strong></p>')
        rows = [[gate.holds.value, str(gate.gate), gate.reason] for gate in verdict.gates]
        parts.append(table(["holds", "gate", "where"], rows))
        panels = [(f"{verdict.variant}: {figure}", plots.forest(findings))]
        parts.append(grid(panels, 0.9 + 0.3 * len(findings), f"{run.plan.name}, {verdict.variant}"))
        rows = [[f.case, f.figure, signed(f.effect.gain), f.verdict] for f in verdict.findings if f.figure != figure]
        parts.append(table(["case", "memory", "better by", ""], rows))
    return parts


def published(folder: Path, say: Say) -> list[Samples]:
    """Of the samples that are here: the newest comparison of each list, the newest run of each experiment."""
    runs = [run for run in readable(files(folder), say) if counts(run)]
    compared = newest(run for run in runs if run.plan.kind == "peers")
    return compared + best((run for run in runs if run.plan.kind == "ab"), lambda run: run.plan.name)


def report(folder: Path, say: Say) -> str:
    runs = published(folder, say)
    if not runs:
        raise LabError(f"nothing to report: no samples in {folder}")
    sections, known = defaultdict(list), reasons()
    for run in runs:
        say(f"drawing {title(run)}")
        if run.plan.kind == "ab":
            sections["Experiments"] += experiment_section(run, judge(run))
        else:
            sections[title(run)] += comparison_section(Comparison(run), known)
    heads = [(f"section-{number}", html.escape(name)) for number, name in enumerate(sections)]
    links = "\n".join(f'<a href="#{place}">{name}</a>' for place, name in heads)
    body = "\n".join(
        "\n".join([f'<h2 id="{place}">{name}</h2>', *parts])
        for (place, name), parts in zip(heads, sections.values(), strict=True)
    )
    return PAGE.format(style=STYLE, links=links, body=body)
