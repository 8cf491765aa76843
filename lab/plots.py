"""Pictures of runs, as SVG text."""

import io
import math
import re
import textwrap
from collections.abc import Callable, Sequence
from statistics import geometric_mean
from typing import Any

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FixedLocator, LogLocator, MaxNLocator, NullLocator, StrMethodFormatter

from lab.judge import Effect, Finding, percent
from lab.palette import Palette
from lab.peers import LIMIT
from lab.versus import Estimate, Figure

matplotlib.rcParams.update(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "hz3",
        "font.family": "sans-serif",
        "font.sans-serif": [
            "DejaVu Sans"
        ],  # browsers without it take the next; matplotlib would name a dozen each time
        "font.size": 9,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.titlesize": 9,
        "axes.titleweight": "bold",
        "axes.titlelocation": "left",
    }
)
VERDICT_COLOURS = {"BETTER": "#00a36c", "WORSE": "#d00000", "SAME": "#0057b8", "INCONCLUSIVE": "#6b6b6b"}
VERDICT_MARKS = {"BETTER": ">", "WORSE": "<", "SAME": "o", "INCONCLUSIVE": "d"}
COLUMNS, WIDTH = 2, 12.0  # inches
PLACES, DIGITS = re.compile(r' (?:d|x|y|transform)="[^"]*"'), re.compile(r"(?:\.0\d*|(\.[1-9])\d*)(?![\d.])")
FONT = " font-family: 'DejaVu Sans', sans-serif;"
STYLE = re.compile(r' style="[^"]*"')
Panel = tuple[str, Callable[[Axes], None]]


def logarithmic(axis: Axis) -> None:
    """Ticks at 1, 2, 5 of each decade, more if the range is small and fewer if it is large, as plain numbers.  1 is always
    one of them."""
    low, high = axis.get_view_interval()
    subs = (1, 2, 5) if high < 300 * low else (1,)
    axis.set_major_locator(MaxNLocator(6, steps=(1, 2, 2.5, 5, 10)) if high < 4 * low else LogLocator(subs=subs))
    axis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axis.set_minor_locator(NullLocator())


def legend(axis: Axes) -> None:
    """Puts the legend beside the picture, where it hides nothing."""
    axis.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def grid(panels: list[Panel], height: float, alt: str, columns: int = COLUMNS, width: float = WIDTH) -> str:
    """Small multiples: each panel has a title and a function that draws it."""
    rows = math.ceil(len(panels) / columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(width, height * rows), squeeze=False)
    for axis, (title, draw) in zip(axes.flat, panels, strict=False):
        axis.set_title(textwrap.fill(title, 60 if columns > 1 else 72))
        draw(axis)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for row in axes:  # panels side by side are of the same allocators, and often of the same tests
        for of in [of for axis in row if (of := axis.get_legend())][:-1]:
            of.remove()
        for axis in row[1:]:
            if rows_of(axis) and rows_of(axis) == rows_of(row[0]):
                axis.set_yticklabels([])
    figure.tight_layout()
    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None, "Title": alt})
    pyplot.close(figure)
    svg = text.getvalue()
    return slim(svg[svg.index("<svg") :])


def rows_of(axis: Axes) -> list[str]:
    """The names of its rows; none if its vertical axis has numbers."""
    fixed = isinstance(axis.yaxis.get_major_locator(), FixedLocator)
    return [label.get_text() for label in axis.get_yticklabels()] if fixed else []


def slim(svg: str) -> str:
    """The same picture in half the bytes: a tenth of a point is enough, and marks of one kind share their style.  (scour
    comes to the same size in 0.2 s a picture, and had its last release in 2020.)"""

    def marks(group: re.Match[str]) -> str:
        styles = set(STYLE.findall(group[2]))
        return f"{group[1][:-1]}{styles.pop()}>{STYLE.sub('', group[2])}" if len(styles) == 1 else group[0]

    svg = re.sub(r' transform="rotate\(-0 [^"]*"', "", svg)
    svg = PLACES.sub(lambda match: DIGITS.sub(lambda digits: digits[1] or "", match[0]), svg)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL).replace("xlink:href", "href")
    svg = svg.replace(FONT, "").replace("<svg", f'<svg style="{FONT.strip()}"', 1)
    svg = re.sub(r">\s+<", "><", svg).replace("\nL ", "L").replace("\nM ", "M").replace(' \n"', '"')
    return re.sub(
        r"(<g(?: clip-path=\"[^\"]*\")?>)((?:<use [^>]*/>)+)", marks, re.sub(r"<g id=\"[^\"]*\">", "<g>", svg)
    )


def on_top(axis: Axes, label: str) -> None:
    """Puts the horizontal axis where one looks first."""
    axis.xaxis.tick_top()
    axis.xaxis.set_label_position("top")
    axis.set_xlabel(label)
    axis.spines.top.set_visible(True)
    axis.spines.bottom.set_visible(False)


def segments(axis: Axes, ends: Sequence[tuple[float, float, float]], **how: Any) -> None:
    """Draws horizontal lines, each from x to x at y, as one: that takes fewer bytes."""
    xs = [x for low, high, _ in ends for x in (low, high, math.nan)]
    axis.plot(xs, [y for _, _, y in ends for y in (y, y, math.nan)], **how)


def between_rows(axis: Axes, count: int) -> None:
    lines = [(0, 1, y - 0.5) for y in range(count)]
    segments(axis, lines, transform=axis.get_yaxis_transform(), color="#dddddd", linewidth=0.8)


def beside(
    rows: dict[str, dict[str, Estimate]], palette: Palette, label: str, line: float = 1, all_intervals: bool = True
) -> Callable[[Axes], None]:
    """For each row a mark for each arm with its interval, or for our lanes only, and a line, at 1 for ratios.  The marks
    decide how far the axis goes: long intervals are cut."""
    arms = list(dict.fromkeys(arm for row in rows.values() for arm in row))

    def draw(axis: Axes) -> None:
        step = 0.8 / max(1, len(arms))
        for place, arm in enumerate(arms):
            middles = [(y - 0.4 + (place + 0.5) * step, row[arm]) for y, row in enumerate(rows.values()) if arm in row]
            ends = [(low, high, y) for y, (_, low, high) in middles]
            colour, front = palette[arm], 3 if arm == palette.first else 2
            if all_intervals or arm in palette.ours:
                segments(axis, ends, color=colour, linewidth=palette.weight(arm), alpha=0.7, zorder=front)
            axis.plot(
                [middle for _, (middle, _, _) in middles],
                [y for y, _ in middles],
                palette.mark(arm),
                color=colour,
                markersize=palette.size(arm),
                zorder=front + 2,
                label=palette.name(arm),
            )
        values = [*([line] if line else []), *(middle for row in rows.values() for middle, _, _ in row.values())]
        axis.axvline(line, color="#222222", linewidth=0.8)
        between_rows(axis, len(rows))
        axis.set_yticks(range(len(rows)), [textwrap.fill(name, 44) for name in rows])
        axis.tick_params(axis="y", length=0)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.set_xscale("log")
        axis.set_xlim(0.93 * min(values), 1.07 * max(values))
        logarithmic(axis.xaxis)
        axis.grid(axis="x", color="#eeeeee", linewidth=0.8)
        axis.set_axisbelow(True)
        on_top(axis, label)
        legend(axis)

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
        axis.axvline(1, color="#222222", linewidth=0.8)
        between_rows(axis, len(groups))
        axis.set_yticks(range(len(groups)), list(reversed(groups)))
        axis.set_ylim(-0.5, len(groups) - 0.5)
        axis.set_xscale("log")
        logarithmic(axis.xaxis)
        axis.grid(axis="x", color="#eeeeee", linewidth=0.8)
        axis.set_axisbelow(True)
        on_top(axis, label)
        legend(axis)

    return draw


def scaling(by_threads: dict[int, dict[str, Figure]], palette: Palette) -> Callable[[Axes], None]:
    def draw(axis: Axes) -> None:
        threads = sorted(by_threads)
        for arm in (arm for arm in by_threads[threads[0]] if all(arm in figures for figures in by_threads.values())):
            mine = [by_threads[count][arm] for count in threads]
            axis.plot(
                threads,
                [f.median / 1e6 for f in mine],
                "--" if arm == LIMIT else "-",
                markersize=5,
                **palette.line(arm),
            )
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
            seconds, sizes = [ms / 1000 for ms, _ in points], [kib / 1024 for _, kib in points]
            axis.plot(seconds, sizes, markersize=4, markevery=max(1, len(points) // 3), **palette.line(arm))
        axis.set_ylim(bottom=0)
        axis.set_xlabel("seconds")
        axis.set_ylabel("RSS, MiB")
        legend(axis)

    return draw


def forest(rows: dict[str, Finding]) -> Callable[[Axes], None]:
    """For each row a gain with its interval, over the band of its noise floor."""

    def draw(axis: Axes) -> None:
        of: dict[str, list[tuple[int, Effect]]] = {word: [] for word in VERDICT_COLOURS}
        for y, finding in enumerate(rows.values()):
            of[finding.verdict].append((y, finding.effect))
        floors = [
            (percent(-e.floor), percent(e.floor), y) for some in of.values() for y, e in some if math.isfinite(e.floor)
        ]
        segments(axis, floors, color="#dddddd", linewidth=9, solid_capstyle="butt", zorder=0)
        for word, some in of.items():
            colour, places = VERDICT_COLOURS[word], [y for y, _ in some]
            segments(axis, [(percent(e.low), percent(e.high), y) for y, e in some], color=colour, linewidth=2)
            axis.plot([percent(e.gain) for _, e in some], places, VERDICT_MARKS[word], color=colour)
        axis.axvline(0, color="#222222", linewidth=0.8)
        axis.set_ylim(len(rows) - 0.4, -0.6)
        axis.set_yticks(range(len(rows)), list(rows))
        on_top(axis, "better by, %; grey: the noise floor")

    return draw
