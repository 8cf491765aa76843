"""Real programs on every allocator: the README's figures, and a page with each program."""

from lab import LabError, machine
from lab.ahead import LANE
from lab.comparison import Comparison, measured
from lab.overview import memory_said
from lab.page import markdown, points
from lab.palette import Palette
from lab.peers import REFERENCE
from lab.plots import Panel, beside
from lab.programs import PREFIX
from lab.quartile import LOWER, MIDDLE, Ratio, mean, ratio, shows
from lab.versus import MEMORY, Estimate, pairs

CPU, AFTER = "cpu_s", "after_kib"
FIGURES = {CPU: "CPU time", MEMORY: "peak memory", AFTER: "memory after the load"}
BEST = 4  # so many of the others are in the README's table; PAGE has all, and all lanes
PAGE, PICTURE, LABEL = "real-programs.md", "real-programs", "hz3 and other allocators in real programs, beside glibc"
WORDS = {  # what each program does; these follow "where"
    "redis": "Redis serves strings, lists, sets and hashes, sixteen requests at a time",
    "memcached": "memcached serves values of up to 64 KiB",
    "postgres": "PostgreSQL serves pgbench's transactions",
    "nginx": "nginx serves and compresses files",
    "rocksdb": "RocksDB writes and reads keys in two threads",
    "json": "Python turns rows to JSON and back",
    "dicts": "Python keeps small objects in dictionaries, all by malloc",
    "perl": "Perl grows strings in a hash and matches them",
    "lua": "Lua builds and drops trees of tables",
    "ruby": "Ruby makes a report of hashes and strings",
    "sqlite": "SQLite inserts, joins and groups rows",
    "duckdb": "DuckDB joins and groups columns in two threads",
    "gcc": "gcc compiles C with optimisation",
    "g++": "g++ compiles templates",
    "z3": "z3 solves a problem on bit vectors",
    "ghostscript": "Ghostscript turns pages into PDF",
    "git": "git shows what each commit changed",
    "cfrac": "Python factors numbers by continued fractions",
    "espresso": "espresso minimises logic",
    "barnes": "REBOUND moves bodies in a tree",
}


def program(comparison: Comparison, cell: str) -> str:
    name = comparison.run.plan.cells[cell].group.removeprefix(PREFIX)
    if name not in WORDS:
        raise LabError(f"lab/headline.py has no plain words for '{name}'")
    return name


def ratios(comparison: Comparison, figure: str, arm: str, reference: str = REFERENCE) -> dict[str, Ratio]:
    """Of the programs that have the figure on both arms: of processor time the lower quartiles', else the medians'."""
    share, found = LOWER if figure == CPU else MIDDLE, {}
    for cell in comparison.cells:
        of = pairs(comparison.run, cell, figure, arm, reference)
        if of is not None:
            found[program(comparison, cell)] = ratio(of[0], of[1], share)
    return found


def estimates(comparison: Comparison, figure: str, arm: str, reference: str = REFERENCE) -> dict[str, Estimate]:
    return {name: of.estimate() for name, of in ratios(comparison, figure, arm, reference).items()}


def told(of: Ratio) -> str:
    """In words: what its interval does not tell from no difference is none."""
    found = of.estimate()
    return memory_said(found[0] if shows(found) else 1.0)


def mean_said(of: dict[str, Ratio]) -> str:
    """The geometric mean in words."""
    return told(mean(of.values())) if of else "-"


def others(comparison: Comparison) -> list[str]:
    return [peer for peer in comparison.peers if peer != REFERENCE]


def title(words: str) -> str:
    return words[0].upper() + words[1:]


def best(comparison: Comparison) -> list[str]:
    """Those of the others that take the least CPU time, the least first."""
    means = {arm: mean(of.values()).log for arm in others(comparison) if (of := ratios(comparison, CPU, arm))}
    return sorted(means, key=lambda arm: means[arm])[:BEST]


def compared(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table, LANE's first."""
    found = [
        [f"hz3, lane {LANE}" if arm == LANE else arm]
        + [mean_said(ratios(comparison, figure, arm)) for figure in FIGURES]
        for arm in (LANE, *best(comparison))
    ]
    servers = len(ratios(comparison, AFTER, LANE))
    return [f"beside {REFERENCE}", FIGURES[CPU], FIGURES[MEMORY], f"{FIGURES[AFTER]}, {servers} servers"], found


def table(comparison: Comparison) -> str:
    head, [mine, *others_] = compared(comparison)
    return markdown(head, [[f"**{mine[0]}**", *mine[1:]], *others_])


def worst(comparison: Comparison) -> list[str]:
    """The programs in which LANE is furthest behind one of the peers, beyond the interval: two in CPU time, one in each
    figure of memory."""
    said = []
    for figure, count in ((CPU, 2), (MEMORY, 1), (AFTER, 1)):
        against = [estimates(comparison, figure, LANE, peer) for peer in comparison.peers]
        behind = [(found[0], name) for of in against for name, found in of.items() if shows(found) and found[0] > 1]
        furthest = dict(sorted((name, by) for by, name in behind))  # of each program the most
        for name in sorted(furthest, key=lambda name: -furthest[name])[:count]:
            said.append(f"{memory_said(furthest[name])} {FIGURES[figure]} where {WORDS[name]}")
    return said


def than(said: str, what: str = "") -> str:
    """ "6 % less CPU time than", "as much CPU time as"; without `what`, "6 % less than"."""
    return " ".join(filter(None, (said, what, "as" if said.endswith("as much") else "than")))


def side_by_side(comparison: Comparison, before: str = ", each") -> str:
    """Where each ran, if not on all processors: in a block once on each half."""
    return f"{before} on half of the processors beside {REFERENCE} on the others" * bool(comparison.run.plan.beside)


def panels(comparison: Comparison) -> tuple[list[Panel], float]:
    """Returns panels for CPU time and peak memory, with a row for each program, and their height."""
    arms, found = [LANE, *others(comparison)], []
    for figure in (CPU, MEMORY):
        of = {arm: estimates(comparison, figure, arm) for arm in arms}
        rows = {
            name: {arm: of[arm][name] for arm in arms if name in of[arm]}
            for name in (program(comparison, cell) for cell in comparison.cells)
        }
        taken = than(mean_said(ratios(comparison, figure, LANE)), FIGURES[figure])
        sentence = f"hz3 takes {taken} {REFERENCE}, in the mean of {len(rows)} programs"
        label = f"{FIGURES[figure]}, times that on {REFERENCE}: less is better"
        palette = Palette([LANE], others(comparison))
        found.append((sentence, beside(rows, palette, label)))
    return found, 1.2 + 0.45 * len(comparison.cells)


def note(comparison: Comparison) -> str:
    """What the table beside it compares."""
    facts, chosen = comparison.run.machine, ""
    place = machine.name(facts) + f"; {machine.load_said(facts)}" * machine.busy(facts)
    if len(others(comparison)) > BEST:
        chosen = f" Of the others it has the {BEST} that take the least CPU time."
    return (
        f"{len(comparison.cells)} programs, some of them servers under load, ran in {comparison.blocks} blocks on hz3 and on"
        f" {len(comparison.peers)} other allocators{side_by_side(comparison)}. CPU time (user and system) and peak memory"
        f" are geometric means over the programs; for servers also the memory 3 s after their load.{chosen} The machine is"
        f" shared ({place}): what lies within"
        " its 95 % interval of no difference is said to be as much."
    )


def block(comparison: Comparison, picture: str, at: str, slowest: str = "") -> str:
    """The text in the README.  slowest: a paragraph on the slowest calls."""
    place, chosen = machine.name(comparison.run.machine), ""
    if len(others(comparison)) > BEST:
        chosen = f" Of the others it has the {BEST} with the least CPU time."
    return f"""{len(comparison.cells)} real programs ran in {comparison.blocks} blocks on hz3 and on {len(comparison.peers)}
other allocators{side_by_side(comparison)} ({place}).
The table has geometric means. "As much" is what the 95 % interval does not tell from {REFERENCE}'s.{chosen}

{table(comparison)}
Lane {LANE} is furthest behind here, where runs can tell:

{points(worst(comparison))}
{slowest}
[Each program]({at}{PAGE}), [what is measured]({at}README.md),
[small test programs]({at}programs.md), [every test]({at}peers.md).

{picture}"""


def multiple(of: Ratio) -> str:
    found = of.estimate()
    return f"{found[0]:.2f}x" if shows(found) else f"({found[0]:.2f}x)"


def page(comparisons: list[Comparison]) -> str:
    parts = [
        f"""# Real programs

Made by `hz3 report --readme`, not to be edited by hand. Each figure is a multiple of that on {REFERENCE}: of
CPU time (user and system) the lower quartile of the runs, else the median; less is better. So is each mark of the
[picture]({PICTURE}.svg), and its line is the 95 % interval. A figure whose 95 % interval has no difference
in it, or that has none, is in brackets. Memory is the RSS of the largest process at its peak, and for servers also 3 s after
their load. [lab/programs.py](../../lab/programs.py) and [bench/programs](../../bench/programs) have each program's
input.
"""
    ]
    for comparison in comparisons:
        where = side_by_side(comparison, " Each ran")
        arms = [*comparison.lanes, *others(comparison)]
        parts.append(
            f"## {machine.name(comparison.run.machine)}\n\n{measured(comparison)}.{where}{'.' * bool(where)}\n"
        )
        for figure, words in FIGURES.items():
            of = {arm: ratios(comparison, figure, arm) for arm in arms}
            rows = [
                [f"{name}: {WORDS[name]}", *(multiple(of[arm][name]) if name in of[arm] else "-" for arm in arms)]
                for name in (program(comparison, cell) for cell in comparison.cells)
                if any(name in each for each in of.values())
            ]
            means = [multiple(mean(each.values())) if each else "-" for each in of.values()]
            parts.append(f"### {title(words)}\n\n{markdown(['program', *arms], [*rows, ['geometric mean', *means]])}")
    return "\n".join(parts)
