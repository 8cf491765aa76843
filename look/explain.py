"""hz3 explain: resident memory by its use, in rows that add up to RSS.

The kernel (pagemap, smaps) says which pages are resident, and hz3 what they are used for.  A run's resident bytes count
as objects never handed out, at its end, then as live ones, as far as there are so many, and the rest as free."""

import re
from collections import Counter
from typing import NamedTuple

from look import shown
from look.figures import GRANULE, PLACES, Figures, Span, Window, figures_of
from look.process import PAGE, Mapping, Process
from look.stats import human, table

OF_THREADS = "threads' magazines"
TOP = 5
WORTH = 0.05  # a smaller share of RSS is not worth advice
ADVICE_MAX = 3
TRIES = 3
MISS = 0.02  # of RSS, by which the rows of a process at rest may miss it
MUCH = 16 << 20  # hz3_pages_much(): from here on the background thread gives memory back


class Hole(NamedTuple):
    """Free objects of a class in resident pages of runs in use."""

    size: int
    bytes: int
    live: int  # objects
    cached: int


class Sum(NamedTuple):
    who: str
    pid: int
    rows: list[tuple[str, int, str]]  # what, bytes, note
    of: dict[str, int]
    holes: list[Hole]
    rss: int  # as the kernel counts it
    pss: int
    threads: int
    notes: list[str]
    advice: list[tuple[int, str]]  # bytes and sentence, the most first

    def total(self) -> int:
        return sum(size for _, size, _ in self.rows)

    def miss(self) -> int:
        return abs(self.total() - self.rss)

    def live(self) -> int:
        """What the program has: of its own heaps it is not known how much is free there."""
        return sum(self.of.get(use, 0) for use in ("small", "large", "heaps"))

    def free(self) -> int:
        return sum(self.of.values()) - self.live()


class Pages:
    """Counts the resident bytes of parts of one range."""

    def __init__(self, process: Process, start: int, size: int):
        self.start = start // PAGE
        self._present = process.pages(start, start + size) if size > 0 else b""

    def resident(self, start: int, end: int) -> int:
        return self._present.count(1, max(0, start // PAGE - self.start), max(0, -(-end // PAGE) - self.start)) * PAGE

    def all(self) -> int:
        return self._present.count(1) * PAGE


def gaps_in(figures: Figures, window: Window, run: Span, pages: Pages) -> int:
    """Returns the resident bytes of a run's pages in which all objects are free."""
    size, found = figures.classes[run.cls].size, 0
    free, least, in_a_row = figures.free_objects(window, run), -(-PAGE // size), 1
    starts = free  # bit i: from object i on so many in a row are free
    while starts and in_a_row < least:
        step = min(in_a_row, least - in_a_row)
        starts, in_a_row = starts & starts >> step, in_a_row + step
    for gap in re.finditer(f"1{{{least},}}", f"{free:b}"[::-1]) if starts else ():
        start, end = run.start + gap.start() * size, run.start + gap.end() * size
        found += pages.resident(-(-start // PAGE) * PAGE, max(end // PAGE, -(-start // PAGE)) * PAGE)
    return found


def by_use(figures: Figures) -> tuple[Counter[str], list[Hole], int]:
    """Returns resident bytes of spans by use, the free objects of each class, and how much of these is whole pages."""
    at, of = figures.layout, Counter[str]()
    run, large, dirty, purging = (at.at(f"kind.{kind}") for kind in ("run", "large", "dirty", "purging"))
    live, holes, gaps = Counter[int](), Counter[int](), 0
    for window in figures.windows:
        pages = Pages(figures.process, window.base, window.frontier * GRANULE)
        found = 0
        for span in figures.spans:
            if not window.base <= span.start < window.base + window.bytes:
                continue
            end = span.start + span.granules * GRANULE
            resident = pages.resident(span.start, end)
            found += resident
            if span.start in figures.zoned:
                of["heaps"] += resident
            elif span.kind == run and 0 < span.cls < figures.class_values - 1:
                size = figures.classes[span.cls].size
                never = min(resident, pages.resident(-(-(span.start + span.bump * size) // PAGE) * PAGE, end))
                used = min(span.live * size, resident - never)
                of["never"] += never
                live[span.cls] += used
                holes[span.cls] += resident - never - used
                if span.bump > span.live:
                    gaps += min(gaps_in(figures, window, span, pages), resident - never - used)
            elif span.kind == large:
                of["large cache" if span.freed else "large"] += resident
            else:
                of["dirty" if span.kind in (dirty, purging) else "huge"] += resident
        of["huge"] += max(0, pages.all() - found)
    for cls, size in live.items():
        left = size
        for place in PLACES:
            part = min(left, figures.classes[cls].cached[place] * figures.classes[cls].size)
            of[place] += part
            left -= part
        of["small"] += left
    of["holes"] = holes.total()
    named = [
        Hole(figures.classes[cls].size, size, figures.classes[cls].live(), figures.classes[cls].all_cached())
        for cls, size in holes.most_common()
        if size
    ]
    return of, named, gaps


def rounding(figures: Figures) -> int:
    """An upper bound on the bytes lost to rounding up to size classes.  hz3 does not store the requested sizes."""
    below, most = 0, 0
    for c in figures.classes[1:-1]:
        most += c.live() * max(0, c.size - below - 1)
        below = c.size
    return most


def others(figures: Figures, mappings: list[Mapping]) -> Counter[str]:
    """Resident bytes of mappings by kind.  Mappings with a part of a window count whole as "windows"."""
    at, of = figures.layout, Counter[str]()
    spans = [(window.base, window.frontier * GRANULE) for window in figures.windows]
    tables = [part for window in figures.windows for part in window.tables] + [(figures.area, len(figures.magazines))]
    state = [at.at(name) for name in ("heap", "central", "transfer", "stash", "dead") if at.has(name)]
    program = shown(figures.process.link("exe"))
    before = ""

    def holds(m: Mapping, parts: list[tuple[int, int]]) -> bool:
        return any(m.start < start + size and start < m.end for start, size in parts)

    for m in mappings:
        size = m.bytes_of("Rss")
        of["huge pages"] += m.bytes_of("AnonHugePages") if holds(m, spans) else 0
        of["swap"] += m.bytes_of("Swap")
        anonymous = not m.name or m.name.startswith("[anon")
        if holds(m, spans):
            of["windows"] += size
        elif holds(m, tables):
            of["tables"] += size
        elif (
            m.name == at.library != program
            or (anonymous and before == at.library != program)
            or (anonymous and any(m.start <= address < m.end for address in state))
        ):
            of["state"] += size
        elif m.name == "[stack]" or (anonymous and any(m.start <= thread < m.end for thread in figures.thread_at)):
            of["stacks"] += size
        elif m.name.startswith(("/dev/shm/", "/memfd:", "/SYSV", "/dev/zero", "[anon_shmem")):
            of["shared memory"] += size
        elif m.name.startswith("/"):
            of["files"] += size
        else:
            of["others"] += size
        before = m.name or before
    return of


def when(figures: Figures) -> str:
    """When the memory that waits goes back."""
    at = figures.layout
    decay, dirty = at.value("decay_ms"), at.at("kind.dirty")
    now = figures.process.now_ms()
    ages = [(now - span.since) & 0xFFFFFFFF for span in figures.spans if span.kind == dirty]
    left = max((decay - age for age in ages if age < 1 << 31), default=decay)
    if at.value("attended"):
        return f"the last of it in {max(0, left)} ms"
    return f"{decay} ms after it was freed, as the program comes by malloc or free; of {human(MUCH)} and more by itself"


def setting(option: str, size: int) -> str:
    return f"{option}={size >> 20}M" if size >= 1 << 20 else f"{option}={size >> 10}K"


def beyond(figures: Figures, bound: int) -> int:
    """What would not wait in the transfer cache if so many bytes of each class were the bound."""
    low, high = (figures.layout.at(f"transfer.magazines_{end}") for end in ("min", "max"))
    bytes_ = 0
    for c in figures.classes[1:-1]:
        now, then = min(c.waiting, c.waiting_max), min(max(bound // (c.size * c.load), low), high)
        bytes_ += c.cached["transfer"] * c.size * (now - then) // now if now > then else 0
    return bytes_


def advice(figures: Figures, of: Counter[str], gaps: int, huge_pages: int, rss: int) -> list[tuple[int, str]]:
    """Where no thread of hz3's attends to it, memory of an idle process goes back at no time: the decay time means
    nothing."""
    least, found, attended = WORTH * rss, list[tuple[int, str]](), figures.layout.value("attended")

    def say(size: int, sentence: str) -> None:
        if size > least:
            found.append((size, f"{sentence} ({human(size)})."))

    waiting = of["dirty"] + of["large cache"]
    if waiting // 2 < figures.layout.value("retain"):
        sooner = " or a shorter HZ3_DECAY" if attended else ""
        say(waiting, f"{setting('HZ3_RETAIN', waiting // 2)}{sooner} gives back sooner what waits")
    earned = min(sum(c.earned * c.size for c in figures.classes[1:-1]), of["thread"])
    say(earned, f"{setting('HZ3_CACHE_TOTAL', earned // 2)} bounds what the threads' magazines hold")
    bounds = 1 << 20, 256 << 10, 64 << 10
    bound = next((b for b in bounds if beyond(figures, b) >= of["transfer"] // 2), bounds[-1])
    say(beyond(figures, bound), f"{setting('HZ3_TRANSFER_CACHE', bound)} keeps that much out of the transfer cache")
    parts = min(of["huge"] + (gaps if attended else 0), huge_pages)
    say(parts, "HZ3_THP=never lets free pages go back alone that are now parts of huge pages")
    if attended:
        idle = min(gaps, figures.gauge("idle"))
        say(idle, "A shorter HZ3_DECAY gives back sooner the free pages of runs in use")
    say(of["holes"] - gaps, "No option gives back what is free in pages that hold other objects, too")
    return sorted(found, reverse=True)[:ADVICE_MAX]


def of_threads(count: int) -> str:
    return "of 1 thread" if count == 1 else f"of {count} threads"


def once(process: Process) -> Sum:
    figures = figures_of(process)
    of, holes, gaps = by_use(figures)
    mappings = process.smaps()
    apart, pss = others(figures, mappings), sum(m.bytes_of("Pss") for m in mappings)
    rss = process.resident()
    # Pages that were only read are the shared page of zeroes, small or huge, which is present but not in RSS.
    for unwritten in "large", "huge", "never", "heaps":
        of[unwritten] = max(0, of[unwritten] - max(0, sum(of.values()) - apart["windows"]))
    beside = max(0, apart["windows"] - sum(of.values()))
    in_flight = of["outgoing"] + of["stash"] + of["transfer"] + of["central"]
    rows = [
        ("live objects", of["small"], f"rounding up to size classes is {human(rounding(figures))} of it at most"),
        ("live large blocks", of["large"], ""),
        ("heaps of the program's own", of["heaps"], "of hz3_heap_new"),
        ("free objects in runs in use", of["holes"], f"{human(gaps)} of it in whole pages" if gaps else ""),
        ("objects never handed out", of["never"], "in pages that had another use before, or huge ones"),
        (OF_THREADS, of["thread"], of_threads(len(figures.thread_at))),
        (
            "in flight between threads",
            in_flight,
            f"stashes {human(of['stash'] + of['outgoing'])}, transfer cache {human(of['transfer'] + of['central'])}",
        ),
        ("waiting to go back", of["dirty"] + of["large cache"], when(figures)),
        ("free, in huge pages", of["huge"], ""),
        ("metadata", apart["tables"] + apart["state"] + beside, "tables, magazines, hz3's own variables"),
        ("stacks", apart["stacks"], "not hz3's, like all that follows"),
        ("program and libraries", apart["files"], ""),
        ("shared memory", apart["shared memory"], ""),
        ("other mappings", apart["others"], ""),
    ]
    notes = []
    if apart["huge pages"]:
        notes.append(f"{human(apart['huge pages'])} of hz3's memory are in huge pages.")
    if apart["swap"]:
        notes.append(f"{human(apart['swap'])} more are in swap.")
    advised = advice(figures, of, gaps, apart["huge pages"], rss)
    return Sum(process.name, process.pid, rows, dict(of), holes, rss, pss, len(figures.thread_at), notes, advised)


def read(process: Process) -> Sum:
    """Pages, mappings and RSS are read one after the other: where memory comes or goes meanwhile they do not fit."""
    best: Sum | None = None
    for _ in range(TRIES):
        found = once(process)
        if found.miss() <= MISS * found.rss:
            return found
        best = min(best or found, found, key=Sum.miss)
    assert best
    best.notes.append("The memory changed while it was read, each time: the rows do not fit together.")
    return best


def together(sums: list[Sum]) -> Sum:
    """The sum of several processes.  Of a row that all explain alike the note stays."""
    sizes, notes = Counter[str](), dict[str, set[str]]()
    for what, size, note in (row for one in sums for row in one.rows):
        sizes[what] += size
        notes.setdefault(what, set()).add(note)
    threads = sum(one.threads for one in sums)
    notes[OF_THREADS] = {of_threads(threads)}
    holes: dict[int, Hole] = {}
    for h in (hole for one in sums for hole in one.holes):
        before = holes.get(h.size, Hole(h.size, 0, 0, 0))
        holes[h.size] = Hole(h.size, before.bytes + h.bytes, before.live + h.live, before.cached + h.cached)
    of = Counter[str]()
    for one in sums:
        of.update(one.of)
    said = [(size, f"{one.who} ({one.pid}): {sentence}") for one in sums for size, sentence in one.advice]
    return Sum(
        f"{len(sums)} processes",
        0,
        [(what, size, "".join(notes[what]) if len(notes[what]) == 1 else "") for what, size in sizes.items()],
        dict(of),
        sorted(holes.values(), key=lambda hole: -hole.bytes),
        sum(one.rss for one in sums),
        sum(one.pss for one in sums),
        threads,
        [f"{one.who} ({one.pid}): {note}" for one in sums for note in one.notes],
        sorted(said, reverse=True)[:ADVICE_MAX],
    )


HEADS = ["PID", "RSS", "PSS", "live", "free"]


def as_text(sums: list[Sum], left_out: list[str]) -> str:
    """left_out: lines on processes that were asked for and could not be read."""

    def row(size: int, whole: int, what: str) -> str:
        return f"{human(size):>10}  {100 * size / max(1, whole):5.1f} %  {what}"

    of = sums[0] if len(sums) == 1 else together(sums)
    who = f"{of.who} ({of.pid})" if len(sums) == 1 else of.who
    lines = [f"{who}: where {human(of.rss)} of resident memory is (PSS {human(of.pss)})", ""]
    if len(sums) > 1:
        by_process = [[str(s.pid), *map(human, (s.rss, s.pss, s.live(), s.free()))] for s in sums]
        listed = table(HEADS, by_process).splitlines()
        lines += [f"{line}  {name}" for line, name in zip(listed, ["program", *(s.who for s in sums)], strict=True)]
        lines.append("")
    lines += [row(size, of.rss, f"{what} ({note})" if note else what) for what, size, note in of.rows if size]
    lines.append(row(of.total(), of.rss, "sum"))
    if of.holes:
        lines += ["", "free objects in runs in use, by class:"]
    for h in of.holes[:TOP]:
        what = f"objects of {h.size} bytes: {h.live} live and {h.cached} cached pin it"
        lines.append(row(h.bytes, of.of["holes"], what))
    for said in of.notes, [sentence for _, sentence in of.advice], left_out:
        lines += ["", *said] if said else []
    return "\n".join(lines)
