"""Makes one self-contained HTML file from the kept summary of all results: first what came out, then each list of tests
and each experiment."""

import re
import shlex
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import geometric_mean

import jinja2
from markupsafe import Markup

from lab import LabError, experiment, headline, machine, overview, plots, words
from lab.ahead import LANE, Reason, reasons
from lab.comparison import Comparison, Table, measured, tables, versions
from lab.experiment import Experiment
from lab.handovers import kept
from lab.judge import signed
from lab.ledger import amount, order
from lab.peers import REFERENCE
from lab.plots import COLUMNS, WIDTH, grid
from lab.results import EXPERIMENTS, Results, day, weightiest
from lab.show import steps
from lab.summary import Judged
from lab.versus import CALLS, MEMORY, OVERFLOWED, SPEED, Estimate, Figure, estimate, paired

PAGE = jinja2.Environment(
    loader=jinja2.PackageLoader("lab"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=jinja2.StrictUndefined,
).get_template("report.html")

NO_PICTURE = Markup()
SHORT, EXPERIMENTS_TITLE, MEASURED = "In short", "Experiments on hz3 itself", "Who was measured"
WORDS_OF_VERDICTS = (
    "GO: all that was asked for before the run holds. NO-GO: something does not. NO DIFFERENCE: neither better nor worse."
    " GO UNLIKELY: nothing has failed, but more runs would hardly show that all holds."
    " INCONCLUSIVE: the runs do not decide it."
)
FEW = 4  # tests; a program with fewer has no picture of its own
POINTS = 4  # numbers of threads from which they are a line; fewer are tests like others
Say = Callable[[str], None]


@dataclass(frozen=True)
class Block:
    """A part of a section.  Its fields are shown one below the other; empty ones are left out."""

    title: str = ""
    text: str = ""
    word: str = ""  # the verdict, beside the text
    points: Sequence[str] = ()
    note: str = ""
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    prose: bool = False
    picture: Markup = NO_PICTURE


def of_table(made: Table, names: dict[str, str]) -> Block:
    """names: words for the cells."""

    def row(cells: Sequence[str]) -> list[str]:
        name, mark, _ = cells[0].partition(f" {OVERFLOWED}")
        said = [f"{names.get(name, name)}{mark}", *cells[1:]]
        return [words.figure(cell) if head == "figure" else cell for head, cell in zip(made.head, said, strict=True)]

    head = ["test" if name == "cell" else name for name in made.head]
    return Block(title=made.title, note=made.note, head=head, rows=list(map(row, made.rows)), prose=made.prose)


def drawn(
    panels: list[plots.Panel], height: float, alt: str, title: str = "", columns: int = COLUMNS, width: float = WIDTH
) -> Block:
    return Block(title=title, picture=Markup(grid(panels, height, alt, columns, width)))


# ---- what came out ----


def real_in_short(comparison: Comparison) -> list[Block]:
    head, rows = headline.compared(comparison)
    panels, height = headline.panels(comparison)
    said = [headline.than(cell, name) for name, cell in zip(head[1:3], rows[0][1:3], strict=True)]
    beside = " and ".join(f"{words} {REFERENCE}" for words in said)
    text = f"In {len(comparison.cells)} real programs hz3 takes {beside}"
    return [
        Block(title=text, head=head, rows=rows, note=headline.note(comparison)),
        Block(text="It is furthest behind the best of the others here:", points=headline.worst(comparison)),
        drawn(panels, height, headline.LABEL, columns=1, width=9),
    ]


def small_in_short(found: overview.Overview) -> list[Block]:
    if not found.rows[SPEED]:
        return []
    head, rows = overview.compared(found)
    height = 1.4 + 0.4 * len(rows)
    return [
        Block(
            title="In small programs it depends on what they do",
            note=f"Lane {LANE} beside {found.peers} other allocators: speed beside the fastest of them in each test, and peak"
            " memory beside the smallest of those that are about as fast.",
            head=head,
            rows=rows,
        ),
        Block(text="It does worst in these:", points=overview.worst(found)),
        drawn(overview.panels(found), height, "hz3 beside the best other allocator in each test", columns=1, width=9),
    ]


def counted(runs: list[tuple[Experiment, Judged]]) -> str:
    counts = Counter(verdict.word for _, run in runs for verdict in run.verdicts)
    said = ", ".join(f"{n} {word}" for word, n in counts.most_common())
    return f"Of {words.count(counts.total(), 'variant')} that experiments tried: {said}"


def verdicts(runs: list[tuple[Experiment, Judged]]) -> Block:
    rows = [
        [
            asked.name,
            asked.question,
            machine.name(run.machine),
            "; ".join(f"{verdict.variant}: {verdict.word}" for verdict in run.verdicts),
        ]
        for asked, run in runs
    ]
    return Block(head=["experiment", "question", "machine", "verdict"], rows=rows, prose=True)


# ---- a list of tests ----


def title(comparison: Comparison) -> str:
    name, place = comparison.run.plan.name, comparison.run.machine
    huge = ", huge pages always" if machine.always_huge(place) else ""
    return f"{words.LISTS.get(name, name)}, on {place['cpus_allowed']} CPUs{huge}"


def beside_fastest(comparison: Comparison, cell: str) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
    """Each arm's time for an operation and its peak memory, as multiples of the fastest peer's."""
    best = comparison.fastest(comparison.figures(cell, SPEED))
    if not best:
        return {}, {}
    arms = [*comparison.lanes, *comparison.peers]
    times = {arm: paired(comparison.run, cell, SPEED, best, arm) for arm in arms}
    sizes = {arm: paired(comparison.run, cell, MEMORY, arm, best) for arm in arms}
    found = ({arm: estimate(of) for arm, of in ratios.items() if of is not None} for ratios in (times, sizes))
    return next(found), next(found)


def sentence(comparison: Comparison, does: str, cells: list[str]) -> str:
    """How LANE compares in the mean of the cells, as the summary does."""
    ratios: dict[str, list[float]] = defaultdict(list)
    for cell in cells:
        for figure, ratio in overview.against(comparison, cell, LANE):
            ratios[figure].append(ratio)
    said = []
    if ratios[SPEED]:
        speed = overview.speed_said(geometric_mean(ratios[SPEED]))
        said.append(f"is {speed} {'as' if speed.endswith('as fast') else 'than'} the fastest of the others")
    if ratios[MEMORY]:
        size = headline.than(overview.memory_said(geometric_mean(ratios[MEMORY])), "memory")
        said.append(f"takes {size} the smallest that is about as fast")
    return f"Where {does}, hz3 {' and '.join(said)}" if said else f"Where {does}"


def program_pictures(comparison: Comparison) -> list[Block]:
    """For each program a picture of its tests; programs with few tests share one."""
    by_program = words.by_program(comparison, comparison.cells)
    few = {does: cells for does, cells in by_program.items() if len(cells) < FEW}
    names = words.tests(comparison)
    blocks = [
        beside_picture(comparison, sentence(comparison, does, cells), words.differing(comparison, cells))
        for does, cells in by_program.items()
        if does not in few
    ]
    if few:
        rows = {cell: names[cell] for cells in few.values() for cell in cells}
        said = [sentence(comparison, does, cells) for does, cells in few.items()]
        blocks += [
            beside_picture(comparison, f"Tests of {words.count(len(few), 'program')} more", rows),
            Block(points=said),
        ]
    return blocks


def beside_picture(comparison: Comparison, title: str, names: dict[str, str]) -> Block:
    """Time and memory in each of the cells, which `names` has words for."""
    found = {name: beside_fastest(comparison, cell) for cell, name in names.items()}
    panels = [
        (
            what,
            plots.beside(
                rows, comparison.palette, f"{label}, times that of the fastest: less is better", all_intervals=False
            ),
        )
        for place, (what, label) in enumerate((("Time", "time for an operation"), ("Memory", "peak memory")))
        if any(rows := {name: of[place] for name, of in found.items() if of[place]})
    ]
    return drawn(panels, 1.1 + 0.42 * len(found), title, title) if panels else Block()


def scaling_panels(comparison: Comparison) -> list[plots.Panel]:
    """Speed over the number of threads, where all else is alike."""
    panels = []
    for does, cells in words.by_program(comparison, comparison.cells).items():
        families: dict[str, dict[int, dict[str, Figure]]] = defaultdict(dict)
        for cell, apart in words.differing(comparison, cells, but="threads").items():
            speed = comparison.figures(cell, SPEED)
            if speed and "threads" in (asked := comparison.parameters(cell)):
                families[apart][int(asked["threads"])] = speed
        for apart, family in families.items():
            if len(family) >= POINTS:
                most = max(family, key=lambda threads: family[threads][comparison.lanes[0]].median)
                said = f"Where {does}{f', {apart}' if apart else ''}, hz3 does most with {most} threads"
                panels.append((said, plots.scaling(family, comparison.palette)))
    return panels


def time_panels(comparison: Comparison, names: dict[str, str]) -> list[plots.Panel]:
    panels = []
    for cell in comparison.cells:
        series = {}
        for arm, text in comparison.texts(cell, "rss_over_time").items():
            pairs = (point.split(":") for point in text.split(","))
            series[arm] = [(float(ms), float(kib)) for ms, kib in pairs]
        if series:
            panels.append((names[cell], plots.over_time(series, comparison.palette)))
    return panels


def percentile_panels(comparison: Comparison, names: dict[str, str]) -> list[plots.Panel]:
    """How long half of the calls take, and all but a few."""
    panels = []
    for said, share in (("Half", "p50"), ("99.9 %", "p999")):
        for call in CALLS:
            found = {
                names[cell]: {arm: (ns.median, ns.low, ns.high) for arm, ns in figures.items()}
                for cell in comparison.timed
                if (figures := comparison.figures(cell, f"{call}_{share}_ns"))
            }
            draw = plots.beside(found, comparison.palette, "ns: less is better", line=0, all_intervals=False)
            panels.append((f"{said} of the calls of {call} return within", draw))
    return panels if comparison.timed else []


def comparison_section(comparison: Comparison, known: list[Reason]) -> list[Block]:
    names = words.tests(comparison)
    place = f"{machine.name(comparison.run.machine)}, Linux {comparison.run.machine['kernel']}"
    blocks = [Block(note=f"{day(comparison.run.path)}, {place}; {measured(comparison)}")]
    if not comparison.real:
        blocks += program_pictures(comparison)
    for what, height, panels in (
        ("More threads do more, up to the number of cores", 3.4, scaling_panels(comparison)),
        ("What is resident, second by second", 3.4, time_panels(comparison, names)),
        ("How long single calls take", 1.1 + 0.42 * len(comparison.timed), percentile_panels(comparison, names)),
    ):
        if panels:
            blocks.append(drawn(panels, height, what, what))
    made = tables(comparison, known, kept(comparison.run.plan))
    return [*blocks, *(of_table(table, names) for table in made if table.title != MEASURED)]


# ---- an experiment ----


def better_said(run: Judged) -> str:
    of = Counter(f.verdict for verdict in run.verdicts for f in verdict.findings if f.figure == run.figure)
    counts = ", ".join(f"{n} {word}" for word, n in of.most_common())
    return f"{words.figure(run.figure)}: of {words.count(of.total(), 'case')} {counts}"


def experiment_section(asked: Experiment, run: Judged) -> list[Block]:
    several = len(run.verdicts) > 1
    rows = {
        f"{verdict.variant}: {f.case}" if several else f.case: f
        for verdict in run.verdicts
        for f in verdict.findings
        if f.figure == run.figure
    }
    gates = [
        [verdict.variant, gate.holds.value, str(gate.gate), gate.reason]
        for verdict in run.verdicts
        for gate in verdict.gates
    ]
    memory = [
        [verdict.variant, f.case, words.figure(f.figure), signed(f.effect.gain), f.verdict]
        for verdict in run.verdicts
        for f in verdict.findings
        if f.figure != run.figure and f.verdict != "SAME"
    ]
    about = f"{day(run.path)}; {amount(run)}"
    return [
        Block(f"{run.name} on {machine.name(run.machine)}", asked.question, note=about),
        *(Block(text=f"{verdict.variant}:", word=verdict.word) for verdict in run.verdicts),
        Block(head=["variant", "holds", "what was asked", "where"], rows=gates),
        drawn([(better_said(run), plots.forest(rows))], 0.9 + 0.25 * len(rows), run.name, columns=1, width=8),
        Block(note="Where memory is not the same:" * bool(memory)),
        Block(head=["variant", "case", "memory", "better by", ""], rows=memory),
    ]


# ---- the page ----


def judged(results: Results) -> list[tuple[Experiment, Judged]]:
    """For each experiment, in the ledger's order, its runs that count most."""
    found = []
    for file in sorted(experiment.files(EXPERIMENTS), key=order):
        asked = experiment.read(file)
        found += [(asked, run) for run in weightiest(results.experiments.get(file.stem, []), asked)]
    return found


def appendix(comparisons: list[Comparison]) -> list[Block]:
    """Libraries, and the command of each test."""
    blocks = []
    for comparison in comparisons:
        commands = [
            [said, shlex.join(comparison.run.plan.cells[cell].argv)] for cell, said in words.tests(comparison).items()
        ]
        made = of_table(versions(comparison), {})
        blocks += [
            Block(title(comparison), note=made.note, head=made.head, rows=made.rows),
            Block(head=["test", "command"], rows=commands),
        ]
    return blocks


def report(results: Results, say: Say) -> str:
    lists, runs, known = [*words.LISTS], judged(results), reasons()
    comparisons = sorted(
        map(Comparison, results.comparisons),
        key=lambda c: lists.index(c.run.plan.name) if c.run.plan.name in lists else len(lists),
    )
    if not comparisons and not runs:
        raise LabError(f"nothing to report: no summary of results in {results.folder}")
    real = [c for c in overview.usual(comparisons) if c.real and c.cells]
    sections: dict[str, list[Block]] = defaultdict(list)
    if real:
        sections[SHORT] += real_in_short(real[0])
    sections[SHORT] += small_in_short(overview.Overview.of([c for c in comparisons if not c.real]))
    if runs:
        sections[SHORT].append(Block(title=counted(runs), note=WORDS_OF_VERDICTS))
    for comparison in steps("drawing", comparisons, title, say):
        sections[title(comparison)] += comparison_section(comparison, known)
    if runs:
        sections[EXPERIMENTS_TITLE].append(verdicts(runs))
    for asked, run in steps("drawing", runs, lambda one: one[1].name, say):
        sections[EXPERIMENTS_TITLE] += experiment_section(asked, run)
    sections[f"{MEASURED}, and by which commands"] += appendix(comparisons)
    return brief(PAGE.render(sections=dict(sections)))


def brief(page: str) -> str:
    """The same page: matplotlib names what a picture uses again by a digest of it, and groups what needs no group."""
    ids: dict[str, str] = {}
    page = re.sub(r'(?<=#|")[mp][0-9a-f]{10}(?=[")])', lambda match: ids.setdefault(match[0], f"m{len(ids)}"), page)
    page, more = re.sub(r'<g id="[^"]*"/>', "", page), 1
    while more:
        page, more = re.subn(r"<g>((?:(?!</?g\b).)*)</g>", r"\1", page, flags=re.DOTALL)
    return re.sub(r'style="[^"]*"', lambda match: re.sub("([:;]) ", r"\1", match[0]), page)
