"""Pictures of runs, as SVG text."""

import io
import math
import textwrap
from collections.abc import Callable, Sequence
from statistics import geometric_mean

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter

from lab.judge import Finding, percent
from lab.peers import LIMIT
from lab.versus import Figure

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "hz3",
        "font.family": "sans-serif",
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
    }
)
OURS = ("#c1121f", "#f77f00", "#9d0208", "#e85d04", "#d62828", "#ffba08")
OTHERS = (
    "#1d6fa5", "#2a9d8f", "#6a4c93", "#52796f", "#3d5a80", "#8d99ae", "#7f5539", "#4361ee", "#a7c957", "#577590",
    "#b5838d", "#0b525b",
)  # fmt: skip
VERDICT_COLOURS = {"BETTER": "#2a9d8f", "WORSE": "#c1121f", "SAME": "#1d6fa5", "INCONCLUSIVE": "#8d99ae"}
SHARES = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "p999": 0.999, "p9999": 0.9999}
COLUMNS, WIDTH = 2, 12.0  # inches
Panel = tuple[str, Callable[[Axes], None]]


def logarithmic(axis: Axis) -> None:
    """Ticks at 1, 2, 5 of each decade, or more if the range is small, as plain numbers."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(MaxNLocator(6) if high < 4 * low else LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(NullFormatter())


def legend(axis: Axes) -> None:
    """Puts the legend beside the picture, where it hides nothing."""
    axis.legend(frameon=False, fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))


class Palette:
    """An allocator has the same colour in every picture.  hz3's lanes have warm ones."""

    def __init__(self, lanes: Sequence[str], others: Sequence[str]):
        self.colours = {name: OURS[i % len(OURS)] for i, name in enumerate(lanes)}
        self.colours |= {name: OTHERS[i % len(OTHERS)] for i, name in enumerate(n for n in others if n != LIMIT)}
        self.colours[LIMIT] = "#222222"

    def __getitem__(self, arm: str) -> str:
        return self.colours[arm]


def grid(panels: list[Panel], height: float, alt: str, columns: int = COLUMNS, width: float = WIDTH) -> str:
    """Small multiples: each panel has a title and a function that draws it."""
    rows = math.ceil(len(panels) / columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(width, height * rows), squeeze=False)
    for axis, (title, draw) in zip(axes.flat, panels, strict=False):
        axis.set_title(textwrap.fill(title, 60))
        draw(axis)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Title": alt})
    pyplot.close(figure)
    svg = text.getvalue()
    return svg[svg.index("<svg") :]


def intervals(figures: dict[str, Figure], palette: Palette, unit: float, label: str) -> Callable[[Axes], None]:
    """A dot with its interval for each arm, the fastest on top, and a line for the limit."""
    arms = sorted((arm for arm in figures if arm != LIMIT), key=lambda arm: figures[arm].median)

    def draw(axis: Axes) -> None:
        for row, arm in enumerate(arms):
            figure = figures[arm]
            axis.plot([figure.low / unit, figure.high / unit], [row, row], color=palette[arm], linewidth=2.5)
            axis.plot(figure.median / unit, row, "o", color=palette[arm], markersize=6)
        if LIMIT in figures:
            limit = figures[LIMIT].median / unit
            axis.axvline(limit, color=palette[LIMIT], linestyle="--", linewidth=1)
            axis.annotate(LIMIT, (limit, 1), xycoords=("data", "axes fraction"), ha="right", va="bottom", fontsize=7)
        axis.set_yticks(range(len(arms)), arms)
        axis.set_ylim(-0.6, len(arms) - 0.4)
        axis.set_xlim(left=0)
        axis.set_xlabel(label)

    return draw


def spread(
    groups: dict[str, dict[str, list[float]]], palette: Palette, label: str, kind: str = "lane "
) -> Callable[[Axes], None]:
    """For each group and each lane (or other `kind`), a dot for each cell, and a diamond for their geometric mean; a
    line at 1."""

    def draw(axis: Axes) -> None:
        lanes = next(iter(groups.values()))
        for lane in lanes:
            axis.plot([], [], "D", color=palette[lane], label=f"{kind}{lane}")
        for row, by_lane in enumerate(reversed(groups.values())):
            for place, (lane, values) in enumerate(by_lane.items()):
                y = row + min(0.4, 0.8 / len(lanes)) * ((len(lanes) - 1) / 2 - place)
                axis.plot(values, [y] * len(values), "o", color=palette[lane], markersize=4, alpha=0.35)
                if values:
                    axis.plot(geometric_mean(values), y, "D", color=palette[lane], markersize=7)
            axis.axhline(row - 0.5, color="#dddddd", linewidth=0.8)
        axis.axvline(1, color="#222222", linewidth=0.8)
        axis.set_yticks(range(len(groups)), list(reversed(groups)))
        axis.set_ylim(-0.5, len(groups) - 0.5)
        axis.set_xscale("log")
        logarithmic(axis.xaxis)
        axis.grid(axis="x", which="both", color="#eeeeee", linewidth=0.8)
        axis.set_axisbelow(True)
        axis.set_xlabel(label)
        legend(axis)

    return draw


def pareto(speed: dict[str, Figure], memory: dict[str, Figure], palette: Palette) -> Callable[[Axes], None]:
    """Up is faster, left is smaller.  The line joins the arms that no other beats in both."""

    def draw(axis: Axes) -> None:
        points = {arm: (memory[arm].median / 1024, speed[arm].median / 1e6) for arm in speed if arm != LIMIT}
        for arm, (x, y) in points.items():
            axis.plot(x, y, "o", color=palette[arm], markersize=7, label=arm)
        front: list[tuple[float, float]] = []
        for x, y in sorted(points.values(), key=lambda point: (point[0], -point[1])):
            if not front or y > front[-1][1]:
                front.append((x, y))
        axis.plot(*zip(*front, strict=True), color="#bbbbbb", linewidth=1, zorder=0)
        axis.set_xscale("log")
        logarithmic(axis.xaxis)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("peak RSS, MiB (log)")
        axis.set_ylabel("M ops/s")
        legend(axis)

    return draw


def scaling(by_threads: dict[int, dict[str, Figure]], palette: Palette) -> Callable[[Axes], None]:
    def draw(axis: Axes) -> None:
        threads = sorted(by_threads)
        for arm in (arm for arm in by_threads[threads[0]] if all(arm in figures for figures in by_threads.values())):
            mine = [by_threads[count][arm] for count in threads]
            style = "--" if arm == LIMIT else "-"
            axis.plot(threads, [f.median / 1e6 for f in mine], style, marker="o", color=palette[arm], label=arm)
            axis.fill_between(
                threads,
                [f.low / 1e6 for f in mine],
                [f.high / 1e6 for f in mine],
                color=palette[arm],
                alpha=0.15,
                linewidth=0,
            )
        axis.set_xscale("log", base=2)
        axis.set_xticks(threads, [str(count) for count in threads])
        axis.set_ylim(bottom=0)
        axis.set_xlabel("threads")
        axis.set_ylabel("M ops/s")
        legend(axis)

    return draw


def over_time(series: dict[str, list[tuple[float, float]]], palette: Palette) -> Callable[[Axes], None]:
    """RSS over time, from points (milliseconds, KiB)."""

    def draw(axis: Axes) -> None:
        for arm, points in series.items():
            axis.plot([ms / 1000 for ms, _ in points], [kib / 1024 for _, kib in points], color=palette[arm], label=arm)
        axis.set_ylim(bottom=0)
        axis.set_xlabel("seconds")
        axis.set_ylabel("RSS, MiB")
        legend(axis)

    return draw


def percentiles(latencies: dict[str, list[float]], palette: Palette) -> Callable[[Axes], None]:
    """Nanoseconds at each of SHARES, rarer ones to the right."""

    def draw(axis: Axes) -> None:
        places = [-math.log10(1 - share) for share in SHARES.values()]
        for arm, values in latencies.items():
            axis.plot(places, values, marker="o", markersize=4, color=palette[arm], label=arm)
        axis.set_xticks(places, [f"{100 * share:g} %" for share in SHARES.values()])
        axis.set_yscale("log")
        logarithmic(axis.yaxis)
        axis.set_ylabel("ns (log)")
        legend(axis)

    return draw


def forest(findings: list[Finding]) -> Callable[[Axes], None]:
    """Each case's gain with its interval, over the band of its noise floor."""

    def draw(axis: Axes) -> None:
        for row, finding in enumerate(reversed(findings)):
            effect, colour = finding.effect, VERDICT_COLOURS[finding.verdict]
            if math.isfinite(effect.floor):
                axis.plot(
                    [percent(-effect.floor), percent(effect.floor)],
                    [row, row],
                    color="#dddddd",
                    linewidth=9,
                    solid_capstyle="butt",
                    zorder=0,
                )
            axis.plot([percent(effect.low), percent(effect.high)], [row, row], color=colour, linewidth=2)
            axis.plot(percent(effect.gain), row, "o", color=colour)
        axis.axvline(0, color="#222222", linewidth=0.8)
        axis.set_ylim(-0.6, len(findings) - 0.4)
        axis.set_yticks(range(len(findings)), [finding.case for finding in reversed(findings)])
        axis.set_xlabel("better by, %; grey: the noise floor")

    return draw
