"""The report shows what was measured, is self-contained, and can be read by a browser."""

import itertools
import re
import shlex
import shutil
import subprocess
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from matplotlib.colors import to_rgb
from synthetic import MEMORIES, SPEEDS, experiment, peers, samples

from lab import (
    ROOT,
    LabError,
    ahead,
    cli,
    comparison,
    goals,
    headline,
    interval,
    overview,
    pack,
    plots,
    readme,
    report,
    show,
    summary,
    versus,
    words,
)
from lab.experiment import from_table as experiment_of
from lab.page import markdown
from lab.palette import Palette
from lab.peers import OF_PROGRAMS, cells
from lab.plan import Arm, Cell, Plan
from lab.results import Results, newest
from lab.samples import Round, Samples


def made(comparisons, runs=(), patch=None, **more):
    """The report on runs of the peers and of experiments, which were not kept."""
    asked = [(experiment_of(run.plan.experiment), summary.judged(run)) for run in runs]
    patch.setattr(report, "judged", lambda results: asked)
    patch.setattr(report, "POINTS", 2)  # the synthetic runs have few numbers of threads
    return report.report(Results(Path(), comparisons=comparisons), more.get("say", print))


@pytest.fixture(scope="module")
def page():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(report, "reasons", lambda: [ahead.Reason("bench_mt 2", "speed", "It <cheats>. " * 20)])
        return made([peers()], [samples(experiment([{"at_least": 0.0}], cases=2), 1, [20, 0])], patch)


def test_every_kind_of_picture_is_there_and_well_formed(page):
    pictures = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    titles = [ElementTree.fromstring(p).findtext("{http://www.w3.org/2000/svg}title") for p in pictures]
    assert titles == ["hz3 beside the best other allocator in each test", "Tests of 2 programs more",
                      "More threads do more, up to the number of cores", "What is resident, second by second",
                      "How long single calls take", "synthetic"]  # fmt: skip
    assert "2 threads" in pictures[1] and "8 threads" in pictures[1]
    assert "Where threads free each other's objects, hz3 does most with 8 threads" in " ".join(
        text for text, _ in texts(pictures[2])
    )


def test_what_came_out_comes_first_in_words_and_with_units(page):
    first = page.partition("</nav>")[2].partition("<h2")[2].partition("<h2")[0]
    assert "In small programs it depends on what they do" in first
    assert "<td>Threads free each other&#39;s objects<td>50 % slower<td>33 % more" in re.sub(r"49|51", "50", first)
    assert "<li>33 % more memory where threads free each other&#39;s objects (4 CPUs)</li>" in first
    assert "Of 1 variant that experiments tried: 1 " in first and "GO: all that was asked" in first
    assert not re.search(r"SHA-256|bench_|\d / \d", first)
    assert "How long single calls take" in page and "40 ns / 80 ns / 120 ns / 160 ns / 200 ns" in re.sub(
        r"(\d+) ns", whole, page
    )
    assert page.index("SHA-256") > page.index("How long single calls take")
    assert "<td>Threads free each other&#39;s objects: 2 threads<td>bench_mt 2" in page


def whole(match):
    """The synthetic latencies are off by some per cent."""
    return f"{round(int(match[1]) / 40) * 40} ns"


def test_of_a_few_runs_there_are_names_in_words():
    run = comparison.Comparison(peers())
    assert words.tests(run) == {
        "mt 2": "Threads free each other's objects: 2 threads",
        "mt 8": "Threads free each other's objects: 8 threads",
        "idle": "Idle runs",
        "<timed>": "Timed runs",
    }


@pytest.mark.parametrize("file", sorted(ROOT.glob("bench/cells-*.txt")), ids=lambda file: file.stem)
def test_every_list_has_a_name_in_words_and_its_tests_have_different_ones(file):
    known = {run.plan.name: run for run in Results.read().comparisons}
    if (name := f"peers-{file.stem}") not in known:
        pytest.skip("no comparison of this list is kept")
    said = words.tests(comparison.Comparison(known[name]))
    assert name in words.LISTS and len(set(said.values())) == len(said)
    assert not any(re.search(r"_|--|=", text) for text in said.values())


def test_the_answers_have_names_in_words():
    asked = " ".join([*comparison.ANSWERS.values(), comparison.OF_REAL]).split()
    assert set(asked) <= set(words.FIGURES)


def lightness(colour):
    """CIELAB, in which a distance of 2 is just seen."""
    light = [((c + 0.055) / 1.055) ** 2.4 if c > 0.04045 else c / 12.92 for c in to_rgb(colour)]
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ light
    x, y, z = (v ** (1 / 3) if v > 0.008856 else 7.787 * v + 16 / 116 for v in xyz / (0.9505, 1, 1.089))
    return np.array((116 * y - 16, 500 * (x - y), 200 * (y - z)))


def test_colours_can_be_told_apart_and_so_can_marks_for_those_who_see_no_colours():
    peers_of_all = sorted(OF_PROGRAMS - {"scale", "fast", "r90", "memory"})
    palette = Palette(["scale", "fast", "r90"], peers_of_all)
    arms = ["scale", "fast", "r90", *peers_of_all]
    for one, other in itertools.combinations(arms, 2):
        assert np.linalg.norm(lightness(palette[one]) - lightness(palette[other])) > 30, (one, other)
    marks = [palette.mark(arm) for arm in peers_of_all]
    assert len(set(marks)) == len(marks) and palette.mark("scale") not in marks
    assert palette.weight("scale") > 2 * palette.weight("glibc") and palette.size("scale") > palette.size("fast")


def texts(svg):
    return [
        (text.text, float(text.get("y", "nan")))
        for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")
    ]


def test_the_picture_of_the_readme_has_its_axis_on_top_intervals_and_a_sentence():
    real, *_ = (run for run in Results.read().comparisons if run.plan.name == "peers-cells-programs")
    run = comparison.Comparison(real)
    panels, height = headline.panels(run)
    taken = r"hz3 takes (\d+ % (more|less) FIGURE than|as much FIGURE as) glibc, in the mean of 17 programs"
    for (title, _), figure in zip(panels, ("CPU time", "peak memory"), strict=True):
        assert re.fullmatch(taken.replace("FIGURE", figure), title)
    svg = plots.grid(panels[:1], height, "x", columns=1, width=8.5)
    found = dict(texts(svg))
    assert found["CPU time, times that on glibc: less is better"] < found["redis"] < found["git"]
    assert found["1"] < found["redis"] and "hz3, scale" in found
    of = headline.estimates(run, headline.CPU, "scale")
    assert all(low <= middle <= high for middle, low, high in of.values()) and len(of) == 17


def test_the_report_on_what_is_kept_is_small_and_quick():
    """Processors differ, and other processes make this one slower: the measure is how long ten million numbers take."""
    began = time.process_time()
    page = report.report(Results.read(), lambda text: None)
    made = time.process_time()
    sum(number * number for number in range(10_000_000))
    assert len(page.encode()) < 1_115_000 and made - began < 50 * (time.process_time() - made)
    assert "In 17 real programs hz3 takes " in page.partition("</nav>")[2][:400]


def test_a_picture_says_once_what_it_says():
    said = '<svg><g><g id="line2d_7"/><g><text style="a: 1; b: 2">x: y</text></g></g><g style="c: 3"><g><use/></g></g></svg>'
    assert report.brief(said) == '<svg><text style="a:1;b:2">x: y</text><g style="c:3"><use/></g></svg>'
    assert report.brief('#m0123456789" "p0123456789" #m0123456789)') == '#m0" "m1" #m0)'


def test_nothing_is_left_out(page):
    for said in (
        "scale",
        "glibc",
        "2.36",
        "jemalloc",
        "snmalloc",
        "no compiler",
        "A CPU",
        "6 blocks",
        "Timed runs",
        "speed: It &lt;cheats&gt;.",
        "speed: not explained yet\nmemory: not explained yet",
    ):
        assert said in page
    assert "<timed>" not in page


def test_nothing_comes_from_elsewhere(page):
    page = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    page = re.sub(r"<metadata>.*?</metadata>", "", page, flags=re.DOTALL)
    assert not re.search(r"(src|href)\s*=\s*[\"'](?!#)|url\((?!#)|@import|<script|https?://", page)


def test_the_summary_compares_with_the_fastest_peer():
    run = comparison.Comparison(peers())
    speed = run.figures("mt 2", "ops_per_s")
    assert list(speed) == ["scale", "r90", "glibc", "jemalloc", "limit"]
    low, high = speed["jemalloc"].low, speed["jemalloc"].high
    assert low <= speed["jemalloc"].median <= high and low > 7.6e7 and high < 8.4e7
    ratio = versus.compare(run.run, "mt 2", "ops_per_s", "jemalloc")["scale"].ratio
    assert ratio[0] == pytest.approx(0.5, rel=0.03)  # 2 to 4, by construction
    (row,) = (row for row in comparison.summary(run, {}).rows if row[0] == "mt 2")
    assert row[1] == "jemalloc" and re.match(r"0\.(49|50|51)x \[", row[3])
    without, made = comparison.summary(run, {}), comparison.summary(run, {"mt 2": 1.303})
    assert made.head == [*without.head[:3], "lines", *without.head[3:]] and "writes a line" in made.note
    assert [row[3] for row in made.rows] == ["1.30" if row[0] == "mt 2" else "-" for row in made.rows]
    assert [row[:3] + row[4:] for row in made.rows] == without.rows and "writes a line" not in without.note


def of_a_program(cpu):
    """Five runs of one program with these CPU seconds, up to 4 % off.  "small" has half of the others' peak."""
    plan = Plan("compare", "prog", {arm: Arm() for arm in cpu}, {"prog": Cell(["prog"])}, 5)
    run = Samples(Path("x.jsonl"), plan, {})
    for block, off in enumerate((0.98, 1.0, 1.04, 0.99, 1.02)):
        for i, (arm, seconds) in enumerate(cpu.items()):
            figures = {"cpu_s": seconds * (off if i else 1.0), "peak_kib": 500.0 if arm == "small" else 1000.0}
            run._take({"phase": "ab", "block": block, "cell": "prog", "attempt": 0, "arm": arm, "figures": figures})
    return run


@pytest.mark.parametrize(
    ("cpu", "said"),
    [
        (
            {"glibc": 1.0, "small": 0.8},
            "least CPU time on small: 0.80x [0.78 0.83] of glibc's, at a peak of 0.5 MiB",
        ),
        (
            {"glibc": 1.0, "small": 1.5},
            "least CPU time on glibc, at a peak of 1.0 MiB: small, the next, needs 1.50x [1.47 1.56]",
        ),
        (
            {"glibc": 1.0, "small": 1.0},
            "in CPU time none is told from glibc: small needs 1.00x [0.98 1.04]",
        ),
        (
            {"glibc": 1.0, "small": 1.0, "large": 2.0, "huge": 3.0},
            "in CPU time small cannot be told from glibc: small needs 1.00x [0.98 1.04]; large, huge need more",
        ),
    ],
)
def test_a_comparison_ends_in_a_sentence(capsys, cpu, said):
    show.closing(of_a_program(cpu), "glibc")
    assert " ".join(capsys.readouterr().out.split()) == (
        f"hz3: {said}; least peak memory on small: 0.50x [0.50 0.50] of glibc's, at a peak of 0.5 MiB"
        " (medians, 93 % intervals, 5 runs each)"
    )


@pytest.mark.parametrize("runs, share", [(1, 0), (2, 50), (3, 75), (4, 87), (5, 93), (6, 95), (30, 95)])
def test_an_interval_says_what_it_covers(runs, share):
    """Of 2^n ways in which n runs fall on the two sides of the median, two leave it outside of all of them."""
    assert interval.covers(runs) == share


def test_of_a_comparison_too_runs_that_are_too_short_are_warned_of(capsys, tmp_path, monkeypatch):
    run = peers()
    for figures in (figures for block in run.blocks("mt 2", "ab") for figures in block.values()):
        figures["seconds"] = 0.05
    warning = "mt 2: the median run measured 0.05 s; less than 0.2 s is mostly noise"
    show.comparison(run, "glibc")
    assert capsys.readouterr().out.count(warning) == 1
    monkeypatch.setattr(cli, "RESULTS", tmp_path)
    monkeypatch.setattr(pack, "merge", lambda folder, results: [results / "peers-x/1.jsonl"])
    run.path = tmp_path / "peers-x/1.jsonl"
    del run.attempts[Round("warmup", 0, "mt 2")]  # as in a run that was not finished
    monkeypatch.setattr(Samples, "load", lambda path: run)
    merged = CliRunner().invoke(cli.main, ["merge", "folder"], catch_exceptions=False).output
    assert merged.startswith("merged peers-x/1.jsonl\n" + warning) and merged.count("mostly noise") == 1


def test_what_a_program_answers_is_a_row_and_end_kib_only_where_it_is_asked_for(monkeypatch):
    run = peers()
    assert not comparison.answers(comparison.Comparison(run)).rows  # although two programs print end_kib
    monkeypatch.setattr(comparison, "ANSWERS", {"bench_idle": "end_kib gone_kib"})
    run.unable["idle", "r90"] = "it broke"
    made = comparison.answers(comparison.Comparison(run))
    assert made.head == ["cell", "figure", "scale", "r90", "glibc", "jemalloc"]
    assert made.rows == [["idle", "end_kib", "1000.0 KiB", "-", "750.0 KiB", "3000.0 KiB"]]
    assert made in comparison.tables(comparison.Comparison(run), [], {})


def test_cells_whose_calls_are_timed_have_percentiles_and_no_speed():
    run = comparison.Comparison(peers(noise=0))
    assert run.timed == ["<timed>"] and "<timed>" not in run.cells
    assert all(row[0] != "<timed>" for row in comparison.summary(run, {}).rows)
    made = comparison.latencies(run)
    in_ns = "40 ns / 80 ns / 120 ns / 160 ns / 200 ns"
    assert [row[:3] for row in made.rows] == [["<timed>", call, in_ns] for call in ("malloc", "free")]
    assert made in comparison.tables(run, [], {})
    run.cells = []  # if all cells are timed, there is nothing to compare
    assert not comparison.behind(run, []).rows


def test_the_terminal_too_has_the_time_that_calls_take(capsys):
    show.comparison(peers(noise=0), "glibc")
    said = capsys.readouterr().out
    for call in ("malloc", "free"):
        (table,) = re.findall(rf"<timed>: calls of {call} return within *\n(.*?)\n\S*└", said, re.DOTALL)
        (row,) = (line for line in table.splitlines() if " jemalloc " in line)
        cells = [cell.strip() for cell in re.split("[│┃]", row)]
        assert cells[2:12] == [word for n in range(1, 6) for word in (f"{80 * n} ns", "1.43x [1.43 1.43]")]
        assert all(f" {share} % " in table for share in ("50", "90", "99", "99.9", "99.99"))


@pytest.mark.parametrize("program", comparison.ANSWERS)
def test_the_answers_are_figures_that_programs_print_and_the_documentation_explains(program):
    printed = (
        "".join(file.read_text() for file in (ROOT / "bench").glob("*.h")) + (ROOT / f"bench/{program}.c").read_text()
    )
    table = (ROOT / "docs/lab.md").read_text().partition("| program | figure |")[2].partition("\n\n")[0]
    (said,) = (line for line in table.splitlines() if f"`{program}`" in line)
    for figure in comparison.ANSWERS[program].split():
        assert f" {figure}=" in printed and f"`{figure}`" in said


def test_those_are_named_who_are_left_out_for_a_newer_version_unless_they_are_there():
    said = comparison.versions(comparison.Comparison(peers())).note
    assert said.endswith(": jemalloc-5.3.0, mimalloc-2.0, mimalloc-3.3.")
    some, rest = peers(), peers()
    some.plan.missing["mimalloc-2.0"] = "no compiler"
    some.plan.arms["jemalloc-5.3.0"] = rest.plan.arms["mimalloc-3.3"] = some.plan.arms["jemalloc"]
    runs = [comparison.Comparison(run) for run in (some, rest)]
    assert comparison.versions(runs[0]).note.endswith(": mimalloc-3.3.") and comparison.left_out(runs) == ""


def test_the_mode_that_was_proved_is_beside_the_version():
    run = peers()
    run.plan.arms["jemalloc"] = replace(run.plan.arms["jemalloc"], mode="caches on")
    again = Plan.from_json(run.plan.to_json())
    del (old := run.plan.to_json())["arms"]["jemalloc"]["mode"]  # as in files from before there were modes
    for plan, version in ((again, "5.3, caches on"), (Plan.from_json(old), "5.3")):
        run.plan = plan
        assert ["jemalloc", version, "", ""] in comparison.versions(comparison.Comparison(run)).rows


def test_a_cell_whose_rings_overflowed_is_marked_whoever_it_was(capsys):
    run = peers(noise=0.001)
    assert not any("†" in str(made) for made in comparison.tables(comparison.Comparison(run), [], {}))
    run.blocks("mt 8", "ab")[0]["glibc"]["overflow"] = "above_0.1%"
    made = comparison.Comparison(run)
    for table in (comparison.summary(made, {}), comparison.behind(made, [])):
        assert [row[0] for row in table.rows] == ["mt 2", "mt 8 †"] and "†: in at least one" in table.note
    show.comparison(run, "glibc")
    assert capsys.readouterr().out.count("†") == 2


@pytest.mark.parametrize("speed, memory, noise, kinds", [
    (1.04, 1.0, 0.001, []),
    (1.06, 1.0, 0.001, ["speed"]),
    (1.06, 1.0, 0.3, []),
    (1.0, 0.92, 0.001, []),
    (1.0, 0.88, 0.001, ["memory"]),
    (0.97, 0.88, 0.001, ["memory"]),
    (0.9, 0.5, 0.001, []),
    (1.2, 0.5, 0.001, ["speed", "memory"]),
])  # fmt: skip
def test_a_peer_is_ahead_from_the_thresholds_on(speed, memory, noise, kinds):
    run = peers(
        speeds=SPEEDS | {"glibc": speed * SPEEDS["scale"]},
        memories=MEMORIES | {"glibc": memory * MEMORIES["scale"]},
        noise=noise,
    )
    assert [lead.kind for lead in ahead.leads(run, "mt 2", "scale", ["glibc"])] == kinds


def test_who_is_ahead_of_which_lane_is_said():
    rows = comparison.behind(comparison.Comparison(peers(noise=0.001)), []).rows
    assert [row[0] for row in rows] == ["mt 2", "mt 8"]
    assert re.fullmatch(r"glibc \+40 % \[\+(39|40) \+4[01]\]\njemalloc \+(99|100) % \[.*\]", rows[0][1])
    assert rows[0][2] == "glibc -25 % [-25 -25]"
    assert rows[0][3] == "r90: 1 faster, to +38 %; 1 smaller, to -25 %"  # glibc is as fast
    beaten = peers(speeds=SPEEDS | {"scale": 9.0})
    assert comparison.behind(comparison.Comparison(beaten), []).rows == [["none", "-", "-", "-", "-"]]


def test_where_one_block_was_sound_nobody_is_ahead():
    run = peers()
    assert "mt 8" in [row[0] for row in comparison.behind(comparison.Comparison(run), []).rows]
    for block in range(1, 6):
        run.spoilt.add((Round("ab", block, "mt 8"), 0))
    made = comparison.behind(found := comparison.Comparison(run), [])
    assert "mt 8" not in [row[0] for row in made.rows] and "1 of the cells were sound once" in made.note
    assert found.blocks_said() == "1 to 6 blocks" and comparison.Comparison(peers()).blocks_said() == "6 blocks"


@pytest.mark.parametrize("blocks, per_cent", [(2, 50), (5, 93), (6, 95), (20, 95)])
def test_few_blocks_cover_less(blocks, per_cent):
    measured = comparison.Comparison(peers())
    measured.counts = [blocks, 1, 30]
    assert comparison.coverage(measured) == per_cent
    trials, chance = 1000, np.random.default_rng(blocks)
    ends = (interval.median_interval(chance.standard_t(2, blocks)) for _ in range(trials))
    share = sum(low <= 0 <= high for low, _, _, high in ends) / trials
    assert share >= per_cent / 100 - 2 * (per_cent * (100 - per_cent) / 1e4 / trials) ** 0.5


def test_of_several_reasons_the_first_counts():
    known = [
        ahead.Reason(r"bench_mt \d", "speed", "None.", "je", cpus=3),
        ahead.Reason(r"bench_mt \d", "speed", "One.", "je", cpus=2),
        ahead.Reason(r"bench_mt \d", "speed", "Two."),
        ahead.Reason("bench_mt", "speed", "Three."),
    ]

    def why(command: str, *found: tuple[str, str]) -> str:
        return ahead.why(command, 2, [ahead.Lead(*lead, (2.0, 2.0, 2.0)) for lead in found], known)

    assert why("bench_mt 2", ("jemalloc", "speed")) == "speed: One."
    assert why("bench_mt 2", ("glibc", "speed"), ("jemalloc", "speed")) == "speed: Two.\nspeed: One."
    assert why("bench_mt x", ("glibc", "memory"), ("glibc", "speed")) == "speed: Three.\nmemory: not explained yet"
    assert why("bench_idle", ("glibc", "speed"), ("jemalloc", "speed")) == "speed: not explained yet"


def test_the_reasons_of_the_project_are_of_cells_that_there_are():
    assert ahead.reasons()


@pytest.mark.parametrize("old, new, complaint", [
    ("speed", "haste", "'haste' is no kind of reason"),
    ("bench_x", "bench_y", "'bench_y 2 1' is in no command"),
    ("bench_x", "bench_(x", "not a list of reasons"),
    ("why", "because", "because"),
    ("[[reasons]]", "[[reason]]", "not a list of reasons"),
    ("[[reasons]]", "[[reasons", "not a list of reasons"),
])  # fmt: skip
def test_bad_reasons_are_refused(tmp_path, old, new, complaint):
    for folder, name, text in (
        ("bench", "cells-x.txt", "bench_x 2 {100}\n"),
        ("experiments", ahead.REASONS, '[[reasons]]\ncells = "bench_x 2 1"\nkind = "speed"\nwhy = "?"\n'),
    ):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_text(text)
    file = tmp_path / "experiments" / ahead.REASONS
    assert ahead.reasons(tmp_path) == [ahead.Reason("bench_x 2 1", "speed", "?")]
    file.write_text(file.read_text().replace(old, new))
    with pytest.raises(LabError, match=re.escape(complaint)):
        ahead.reasons(tmp_path)


def test_the_readme_gets_six_rows_and_a_picture_and_there_are_pages_beside(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "POINTS", 2)
    file, folder = tmp_path / "README.md", tmp_path / "docs/results"
    old = peers(name="peers-a", speeds=SPEEDS | {"scale": 9.0})
    new, other = peers(name="peers-a"), peers(name="peers-b", speeds=SPEEDS | {"scale": 1.0})
    many, huge = peers(name=readme.SCALING), peers(name="peers-a", speeds=SPEEDS | {"scale": 0.5})
    huge.path, huge.machine = tmp_path / "3.jsonl", huge.machine | {"thp": "[always] madvise never"}
    new.plan = replace(new.plan, scale=0.15)
    old.path, new.path = tmp_path / "1.jsonl", tmp_path / "2.jsonl"
    many.machine = many.machine | {"cpus_allowed": 99}
    file.write_text("no place\n")
    with pytest.raises(LabError, match="no place"):
        readme.write([], tmp_path)
    file.write_text(f"before\n{readme.BEGIN}old\n{readme.END}after\n")
    with pytest.raises(LabError, match="no comparison"):
        readme.write([], tmp_path)
    readme.write(newest([other, new, old]), tmp_path)
    once, page = file.read_text(), (folder / "programs.md").read_text()
    readme.write(newest([other, new, old]), tmp_path)
    assert file.read_text() == once  # the text before and after stays
    readme.write(newest([other, new, old, many]), tmp_path)
    with_many = file.read_text()
    readme.write(newest([other, new, old, many, huge]), tmp_path)
    assert file.read_text() == with_many
    assert all("huge pages always" in (folder / name).read_text() for name in ("peers.md", "programs.md"))
    readme.write(newest([other, new, old, many]), tmp_path)
    assert once.startswith("before\n") and once.endswith("after\n") and "old" not in once
    # the fastest has 4; scale has 2 in one comparison, and 1 in the other, where no peer is of similar speed: mean 1.41
    head, _, line = re.findall(r"^\| .* \|$", once, re.M)
    assert head == "| what the program does | speed, 4 CPUs | memory, 4 CPUs |"
    assert re.fullmatch(r"\| Threads free each other's objects \| 6[456] % slower \| 33 % more \|", line)
    assert re.search(r"\n- 6[456] % slower where threads free each other's objects \(4 CPUs\)\n- 33 % more mem", once)
    assert re.search(r"\| 6[456] % slower \| 33 % more \| (49|50|51) % slower \| 33 % more \|", file.read_text())
    assert "(A CPU, 4 CPUs)" in once and "(A CPU, 4 CPUs; A CPU, 99 CPUs)" in file.read_text()
    (picture,) = re.findall(r"!\[.*\]\((.*)\)", once)
    assert not re.search(r"\bcells?\b|\bpeers?\b|R>0|\u2020|\d\.\d+x", once.replace("peers.md", ""))
    # r90 has 2.9 in both
    (row,) = (line for line in page.splitlines() if line.startswith("| mt_remote T=2, R>0"))
    assert re.fullmatch(
        r"\| [^|]+ \| 2 \| 0\.3[56]x \| 0\.2[45]x \| 1\.33x of 1 \| 1\.33x "
        r"\| 0\.7[23]x \| 0\.7[23]x \| 1\.33x of 2 \| 1\.33x \|",
        row,
    )
    both = (folder / "programs.md").read_text()
    assert both.count("| mt_remote T=2, R>0") == 2 and both.index("6 blocks of b") < both.index("A CPU, 99 CPUs")
    for drawing in (picture, *(f"docs/results/{name}.svg" for name in ("speed", "memory", "scaling"))):
        ElementTree.parse(tmp_path / drawing)
    assert " left out, since there is a newer version of each: jemalloc-5.3.0, " in page
    assert page.count("6 blocks of a at 15 % length, 6 blocks of b at 100 % length") == 1
    page = (folder / "peers.md").read_text()
    for text in (page, both):
        assert re.search(r"made by `hz3 report --readme`, not to be edited", text[:200], re.I)
    for said in ("## peers-a on A CPU", "## peers-b", "Lanes: 2; peers: 2; cells: 4; 6 blocks", "| jemalloc | 5.3 |",
                  "speed: not explained yet<br>memory: not"):  # fmt: skip
        assert said in page
    tables = [block.splitlines() for block in page.split("\n\n") if block.startswith("|")]
    assert len(tables) == 12 and all(len({line.count(" | ") for line in lines}) == 1 for lines in tables)


def test_every_program_has_one_row_in_plain_words_and_a_sentence():
    names = {
        cell.group.removeprefix("bench_")
        for file in ROOT.glob("bench/cells-*.txt")
        for cell in cells(file).values()
        if not cell.group.startswith("program_")
    }
    names = names - {"random_mixed_mt_remote_malloc"} | {"mt_remote T=2, R=0", "mt_remote T=32, R>0"}
    assert {overview.row(name) for name in names} == set(overview.ROWS) and len(overview.ROWS) <= 6
    assert {overview.program(name) for name in names} == set(overview.PROGRAMS)
    with pytest.raises(LabError, match="no plain words for 'mt 2'"):
        overview.row("mt 2")


@pytest.mark.parametrize("ratio, speed, memory", [
    (0.46, "54 % slower", "54 % less"),
    (0.994, "1 % slower", "1 % less"),
    (1.004, "as fast", "as much"),
    (1.2, "20 % faster", "20 % more"),
    (2.14, "2.1 times as fast", "2.1 times as much"),
])  # fmt: skip
def test_a_ratio_in_plain_words(ratio, speed, memory):
    assert (overview.speed_said(ratio), overview.memory_said(ratio)) == (speed, memory)


def test_the_two_slowest_programs_and_the_largest_are_named_each_by_its_worst_machine():
    speeds = {
        "chain": {"2 CPUs": [2.0, 0.5], "16 CPUs": [0.7]},
        "large": {"2 CPUs": [0.6]},
        "startup": {"2 CPUs": [0.8]},
    }
    memories = {"chain": {"2 CPUs": [1.1], "16 CPUs": [3.0]}, "large": {"2 CPUs": [2.0]}}
    found = overview.Overview([], [], 1, {}, {versus.SPEED: speeds, versus.MEMORY: memories})
    assert overview.worst(found) == [
        "40 % slower where all blocks are large (2 CPUs)",
        "30 % slower where objects pass down a chain of threads (16 CPUs)",
        "3.0 times as much memory where objects pass down a chain of threads (16 CPUs)",
    ]


def test_every_machine_and_setting_that_is_in_a_mean_is_named():
    runs = [peers(), peers(), peers(name="peers-other"), peers()]
    for run, pages in zip(runs, ("madvise", "madvise", "never", "always"), strict=True):
        run.machine = run.machine | {"thp": f"[{pages}] never"}
    found = overview.Overview.of([comparison.Comparison(run) for run in runs])
    assert found.places == ["4 CPUs"]
    assert found.machines == [f"A CPU, 4 CPUs, huge pages {pages}" for pages in ("madvise", "never")]


def test_memory_leaves_out_objects_that_nobody_touches():
    of_all, of_some, of_none = (
        overview.Overview.of([comparison.Comparison(peers(untouched=cell)) for cell in untouched])
        for untouched in ([""], ["mt 8"], [])
    )
    for found, cells_ in ((of_all, 2), (of_some, 1)):
        (speeds,), (memories,) = (found.rows[figure].values() for figure in (versus.SPEED, versus.MEMORY))
        assert [len(of["4 CPUs"]) for of in (speeds, memories)] == [2, cells_]
    assert of_none.rows == {versus.SPEED: {}, versus.MEMORY: {}}


def test_memory_by_program_is_of_touched_objects_and_has_a_worst_cell():
    of_all, of_some = ([comparison.Comparison(peers(untouched=cell))] for cell in ("", "mt 8"))
    for found, count in ((of_all, 1), (of_some, 0)):
        speeds, memories = (groups["mt_remote T=8, R>0"]["r90"] for groups in readme.against_peers(found))
        assert (len(speeds), memories) == (1, [pytest.approx(4 / 3)] * count)
    made = readme.programs({"x": {"scale": [1.0, 4.0], "r90": [1.0]}}, {"x": {"scale": [0.5, 2.0], "r90": []}}, set())
    assert made.endswith("| x | 2 | 2.00x | 1.00x | 1.00x of 2 | 2.00x | 1.00x | 1.00x | - | - |\n")


def test_what_casts_doubt_on_a_cell_is_said_wherever_it_is_published():
    run = peers(noise=0.001)
    (calm,) = found = [comparison.Comparison(run)]
    groups = readme.against_peers(found)
    for text in (readme.section(found, groups), str(comparison.tables(calm, [], {}))):
        assert not any(doubt in text for doubt in ("†", "shorter than", "load when it began"))
    run.machine = run.machine | {"load": 2.1}  # of 4 CPUs
    run.blocks("mt 8", "ab")[0]["glibc"]["overflow"] = "above_0.1%"
    for cell, seconds in (("mt 2", 0.04), ("mt 8", 0.15), ("idle", 0.2)):
        for figures in (figures for block in run.blocks(cell, "ab") for figures in block.values()):
            figures["seconds"] = seconds
    short = "In 2 of 3 cells the median run is shorter than 0.2 s; the shortest takes 0.04 s."
    said = readme.section(found, groups)
    assert said.startswith(
        "## A CPU, 4 CPUs\n\n6 blocks of synthetic at 100 % length (load when it began 2.1). " + short
    )
    assert "| mt_remote T=8, R>0 † |" in said and "\n\n†: in at least one" in said and said.count("†") == 2
    assert short in comparison.summary(calm, {}).note


def test_a_markdown_table_shows_what_it_is_given():
    assert markdown(["a"], [["x|y\n<z>"]]) == "| a |\n| --- |\n| x\\|y<br>&lt;z> |\n"


def test_without_results_there_is_no_report(tmp_path):
    with pytest.raises(LabError, match="nothing to report"):
        report.report(Results.read(tmp_path), print)


def test_every_section_is_of_one_machine_and_in_reach_and_what_is_drawn_is_said(monkeypatch):
    runs = [peers(), peers()]
    runs[1].machine = runs[1].machine | {"cpus_allowed": 99}
    said = []
    ours = [samples(experiment([{"at_least": 0.0}]), 1, [0])]
    page = made(runs, ours, monkeypatch, say=said.append)
    names = [f"peers-synthetic, on {cpus} CPUs" for cpus in (4, 99)]
    places, heads = zip(*re.findall(r'<h2 id="(.*?)">(.*?)</h2>', page), strict=True)
    assert list(heads) == ["In short", *names, "Experiments on hz3 itself", "Who was measured, and by which commands"]
    links = re.findall(r'<a href="#(.*?)">(.*?)</a>', page.partition("</nav>")[0])
    assert links == list(zip(places, heads, strict=True))
    assert said == [f"drawing {name}" for name in (*names, "synthetic")]
    assert "<h3>synthetic on A CPU" in page


@pytest.mark.parametrize("width", [800, 1600])
def test_a_browser_reads_it(page, tmp_path, width):
    browser = next(filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "google-chrome"))), None)
    if not browser:
        pytest.skip("no chromium-headless-shell")
    # a script in the page counts what the browser has drawn
    probe = ("<script>const root = document.documentElement; document.title = [...document.querySelectorAll('svg')]"
             ".filter(svg => svg.getBoundingClientRect().height > 50).length + ' pictures, ' + performance"
             ".getEntriesByType('resource').length + ' fetched, ' + root.querySelectorAll('.prose tr').length + "
             "' rows, ' + (root.scrollWidth - root.clientWidth) + ' beyond'</script></body>")  # fmt: skip
    file = tmp_path / "report.html"
    file.write_text(page.replace("</body>", probe))
    options = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={tmp_path}",
        "--dump-dom",
        f"--window-size={width},900",
    ]
    done = subprocess.run([browser, *options, file.as_uri()], capture_output=True, text=True, timeout=60)
    assert "<title>6 pictures, 0 fetched, 5 rows, 0 beyond</title>" in done.stdout, done.stderr


def goal(tmp_path, text):
    file = tmp_path / "goals.toml"
    file.write_text(f'[[goals]]\nwhat = "speed"\ncells = "mt 2"\nratio = 0.6\n{text}')
    return goals.read(file)


@pytest.mark.parametrize(("text", "lane", "expected"), [
    ("", "scale", r"0\.(49|50|51)x \[.*\], 0 of 1"),  # 2.0 to jemalloc's 4.0
    ("", "r90", r"0\.7[1-4]x \[.*\], 1 of 1"),  # 2.9 to 4.0
    ("limit = true", "r90", r"0\.5[6-9]x \[.*\], 0 of 1"),  # 2.9 to 5.0
    ('figure = "peak_kib"', "r90", r"1\.33x \[1\.33 1\.33\], 0 of 1"),  # 4000 to glibc's 3000
    ('figure = "peak_kib"\nwithin = 1.0', "r90", r"0\.33x \[0\.33 0\.33\], 1 of 1"),  # glibc is slower, at 2.8
    ('figure = "end_per_s"', "r90", "-"),  # which is not measured
])  # fmt: skip
def test_a_goal_says_how_far_a_lane_is(tmp_path, text, lane, expected):
    run = comparison.Comparison(peers(noise=0.001))
    (asked,) = goal(tmp_path, text)
    assert re.fullmatch(expected, goals.reached(asked, list(asked.ratios(run, lane))))


def test_the_goals_are_a_table_of_the_lanes_that_are_in_all_runs(tmp_path):
    text = goals.table(goal(tmp_path, ""), [peers(seed=1), peers(seed=2)])
    assert re.fullmatch(
        r"\| figure \| set \| scale \| r90 \|\n.*\n\| speed \| 0\.6x \| .*, 0 of 2 \| .*, 2 of 2 \|\n", text
    )
    fewer = peers()
    del fewer.plan.arms["r90"]
    assert goals.table(goal(tmp_path, ""), [peers(), fewer]).startswith("| figure | set | scale |\n")
    with pytest.raises(LabError, match="'mt 2' is in no command that was measured"):
        goals.table(goal(tmp_path, 'figure = "end_per_s"'), [peers()])


@pytest.mark.parametrize("run, complaint", [
    (samples(experiment([]), 1, [0]), "synthetic.jsonl is no run of hz3 peers, but of hz3 ab"),
    (Samples(Path("x"), Plan("compare", "x", {}, {}, 1), {}), "x is no run of hz3 peers, but of hz3 compare"),
    (Samples(Path("x"), peers().plan, {}), "x: 28 rounds are missing"),
])  # fmt: skip
def test_goals_are_of_whole_runs_of_the_peers(tmp_path, run, complaint):
    with pytest.raises(LabError, match=complaint):
        goals.table(goal(tmp_path, ""), [peers(), run])


def test_the_goals_say_whom_they_do_without(tmp_path, monkeypatch):
    run = peers()
    run.unable["mt 2", "glibc"] = "it\nbroke"
    monkeypatch.setattr(Samples, "load", lambda path: run)
    goal(tmp_path, "")
    said = CliRunner().invoke(cli.main, ["goals", str(tmp_path / "goals.toml"), "1", "2"], catch_exceptions=False)
    assert said.output.startswith("| figure ") and said.output.endswith(
        "\n\n| no result of | in cell | why |\n| --- | --- | --- |\n"
        "| snmalloc | every | no compiler |\n| glibc | mt 2 | it<br>broke |\n"
    )
    run.unable.clear()
    run.plan.missing.clear()
    assert goals.absent([run]) == ""


@pytest.mark.parametrize(("text", "complaint"), [
    ("more = 1", "goals.toml: goal: Goal got an unexpected keyword key 'more'"),
    ('within = "2"', "goal: within = '2', which should be float"),
    ("limit = 1", "goal: limit = 1, which should be bool"),
    ('figure = "remote_pct"', "more remote_pct is better"),
    ('[[goals]]\nwhat = ""\ncells = "("\nratio = 1', "not a list of goals: .*unterminated"),
    ("[[goals]]", "goal: .*missing 3 required"),
    ("[", "not a list of goals"),
])  # fmt: skip
def test_what_is_no_list_of_goals_is_refused(tmp_path, text, complaint):
    with pytest.raises(LabError, match=complaint):
        goal(tmp_path, text)


@pytest.mark.parametrize("file", sorted((ROOT / "experiments/goals").glob("*.toml")), ids=lambda file: file.stem)
def test_the_goals_of_the_project_are_of_cells_that_there_are(file):
    lists = [cells(file) for file in ROOT.glob("bench/cells-*.txt")]
    commands = [shlex.join(cell.argv) for found in lists for cell in found.values()]
    for asked in goals.read(file):
        assert any(re.search(asked.cells, command) for command in commands), asked.what


def test_the_tables_of_goals_in_the_documentation_are_what_the_results_say():
    text = (ROOT / "docs/results/goals.md").read_text()
    tables = re.findall(r"<!-- bin/hz3 goals (.*) -->\n((?:\|.*\n)+)", text)
    assert len(tables) == 2
    for files, said in tables:
        asked, *runs = [ROOT / file for file in files.split()]
        assert said == goals.table(goals.read(asked), [Samples.load(run) for run in runs]), (
            f"run: bin/hz3 goals {files}"
        )
