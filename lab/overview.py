"""hz3 beside its peers in small programs: a table of six rows in plain words, a picture, and where it does worst."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import geometric_mean

import numpy as np

from lab import LabError, machine
from lab.ahead import LANE
from lab.comparison import Comparison
from lab.palette import Palette
from lab.plots import Panel, spread
from lab.versus import MEMORY, SPEED, paired

OF_LIKE_SPEED = 1.5  # RSS is compared with peers that are at most so many times slower or faster
ROWS = {  # the rows in plain words, and patterns for their programs; each program is in one row
    "Threads free each other's objects": r"mt_remote R>0|chain|linked|false_sharing",
    "Each thread frees its own objects": r"mt_remote R=0|mixed_st|waves",
    "Some threads only allocate, others only free": r"prodcons|only_free",
    "Threads and processes start, end or sleep": r"successors|thread_churn|many_threads|idle_threads|startup",
    "Large blocks, and blocks that change their size": r"large|realloc|growing",
    "Memory is touched for the first time, or changes its use": r"handover|phase_change|changing|burst_idle|fragment_idle",
}
PROGRAMS = {  # what each program does; these follow "where"
    "mt_remote R>0": "threads free each other's objects",
    "mt_remote R=0": "each of several threads frees its own objects",
    "mixed_st": "one thread does everything",
    "waves": "a thread allocates many objects of one size, then frees them all",
    "prodcons": "some threads only allocate and others only free",
    "chain": "objects pass down a chain of threads",
    "only_free": "a thread only frees what others made",
    "successors": "short-lived threads replace what ended threads left them",
    "false_sharing": "threads write to small objects side by side",
    "linked": "linked structures are built and torn down",
    "realloc": "blocks often change their size",
    "large": "all blocks are large",
    "thread_churn": "threads start and end all the time",
    "many_threads": "thousands of threads allocate a little each",
    "idle_threads": "many threads sleep and a few work",
    "startup": "a process only starts and ends",
    "handover": "one thread fills memory, another frees it and a third uses it again",
    "phase_change": "a program frees its small objects and turns to larger ones",
    "growing": "many buffers grow by small reallocs",
    "changing": "a program changes from small to medium to large objects, twelve times",
    "burst_idle": "a burst of allocations is followed by silence",
    "fragment_idle": "few objects survive a burst that is followed by silence",
}
Values = dict[str, list[float]]  # for each machine the ratios of its cells
Groups = dict[str, Values]


def group(comparison: Comparison, cell: str) -> str:
    """The cell's program.  For the remote benchmark also its threads, and whether any free is remote."""
    asked = comparison.parameters(cell)
    if "remote_pct" not in asked:
        return comparison.run.plan.cells[cell].group.removeprefix("bench_")
    return f"mt_remote T={asked['threads']:g}, R{'>' if asked['remote_pct'] else '='}0"


def program(name: str) -> str:
    """The group's name without the number of threads."""
    return re.sub(r" T=\d+,", "", name)


def row(name: str) -> str:
    fitting = [words for words, pattern in ROWS.items() if re.fullmatch(pattern, program(name))]
    if len(fitting) != 1 or program(name) not in PROGRAMS:
        raise LabError(f"lab/overview.py has no plain words for '{name}'")
    return fitting[0]


def against(comparison: Comparison, cell: str, lane: str) -> Iterator[tuple[str, float]]:
    """Yields the lane's speed over the fastest peer's, and its peak RSS over the smallest peer's of similar speed, if
    there is one and objects are touched."""
    speed, memory = comparison.figures(cell, SPEED), comparison.figures(cell, MEMORY)
    fastest = comparison.fastest(speed)
    if lane not in speed or not fastest:
        return
    others = [peer for peer in comparison.peers if peer in speed]
    like = [p for p in others if 1 / OF_LIKE_SPEED <= speed[p].median / speed[lane].median <= OF_LIKE_SPEED]
    smallest = min(like, key=lambda peer: memory[peer].median, default="")
    for figure, peer in ((SPEED, fastest), (MEMORY, smallest if comparison.touches(cell) else "")):
        if (ratios := paired(comparison.run, cell, figure, lane, peer)) is not None:
            yield figure, float(np.median(ratios))


def usual(comparisons: list[Comparison]) -> list[Comparison]:
    """Those on systems that make huge pages on request, or all where there are no others: no mean is of both."""
    return [c for c in comparisons if not machine.always_huge(c.run.machine)] or comparisons


@dataclass(frozen=True)
class Overview:
    """The ratios of lane scale; those of memory in cells whose program writes to its objects."""

    places: list[str]  # the machines, named by their number of processors
    machines: list[str]  # their full names: several machines, or settings of one, may be one place
    peers: int  # the number of peers
    rows: dict[str, Groups]  # for each figure, by ROWS
    programs: dict[str, Groups]  # for each figure, by PROGRAMS

    @classmethod
    def of(cls, comparisons: list[Comparison]) -> "Overview":
        rows: dict[str, Groups] = {SPEED: defaultdict(dict), MEMORY: defaultdict(dict)}
        programs: dict[str, Groups] = {SPEED: defaultdict(dict), MEMORY: defaultdict(dict)}
        machines: dict[str, dict[str, None]] = defaultdict(dict)  # the names in order
        peers = set()
        for comparison in usual(comparisons):
            place = place_of(comparison)
            for cell in comparison.cells:
                name = group(comparison, cell)
                for figure, ratio in against(comparison, cell, LANE):
                    machines[place][machine.name(comparison.run.machine)] = None
                    peers.update(comparison.peers)
                    for groups, key in ((rows, row(name)), (programs, program(name))):
                        groups[figure][key].setdefault(place, []).append(ratio)
        places = sorted(machines, key=lambda place: int(place.split()[0]))
        return cls(
            places,
            [name for place in places for name in machines[place]],
            len(peers),
            {f: {w: g[w] for w in ROWS if w in g} for f, g in rows.items()},
            programs,
        )


def place_of(comparison: Comparison) -> str:
    return f"{comparison.run.machine['cpus_allowed']} CPUs"


def change(ratio: float, more: str, less: str, same: str) -> str:
    if ratio >= 2:
        return f"{ratio:.1f} times {same}"
    per_cent = round(100 * (ratio - 1))
    return f"{abs(per_cent)} % {more if per_cent > 0 else less}" if per_cent else same


def speed_said(ratio: float) -> str:
    return change(ratio, "faster", "slower", "as fast")


def memory_said(ratio: float) -> str:
    return change(ratio, "more", "less", "as much")


SAID = {SPEED: ("speed", speed_said), MEMORY: ("memory", memory_said)}


def compared(overview: Overview) -> tuple[list[str], list[list[str]]]:
    """The head and the rows of the table."""
    head, lines = ["what the program does"], []
    for place in overview.places:
        head += [f"{word}, {place}" for word, _ in SAID.values()]
    for words in overview.rows[SPEED]:
        line = [words]
        for place in overview.places:
            for figure, (_, said) in SAID.items():
                values = overview.rows[figure].get(words, {}).get(place)
                line.append(said(geometric_mean(values)) if values else "-")
        lines.append(line)
    return head, lines


def furthest(groups: Groups, first: Callable[..., tuple[float, str, str]], count: int) -> list[tuple[float, str, str]]:
    """The `count` programs that are furthest off, each on the machine where its mean is furthest off."""
    means = {name: [(geometric_mean(v), name, place) for place, v in by.items()] for name, by in groups.items()}
    return sorted((first(of) for of in means.values()), reverse=first is max)[:count]


def worst(overview: Overview) -> list[str]:
    """The two programs in which hz3 is slowest, and the one in which it takes most memory, in words."""
    slow = furthest(overview.programs[SPEED], min, 2)
    big = furthest(overview.programs[MEMORY], max, 1)
    said = [f"{speed_said(ratio)} where {PROGRAMS[name]} ({place})" for ratio, name, place in slow]
    said += [f"{memory_said(ratio)} memory where {PROGRAMS[name]} ({place})" for ratio, name, place in big]
    return said


LABELS = {  # a dot is a test, a diamond the mean of its row
    SPEED: "speed, times that of the fastest: more is better",
    MEMORY: "peak memory, times that of the smallest: less is better",
}


def panels(overview: Overview) -> list[Panel]:
    """Panels for speed and memory, with a row for each of ROWS."""
    found = []
    for figure, title in (
        (SPEED, "Right of 1 hz3 is faster than the fastest of the others"),
        (MEMORY, "Left of 1 hz3 takes less memory than the smallest of like speed"),
    ):
        groups = {words: {p: by.get(p, []) for p in overview.places} for words, by in overview.rows[figure].items()}
        if groups:
            found.append((title, spread(groups, Palette(overview.places, ()), LABELS[figure], "")))
    return found
