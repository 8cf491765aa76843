"""hz3's statistics of a process, read from its memory: the figures of src/watch/stats.c, and more by class.

They are read while threads run, so values may be of slightly different times.  Of a process at rest they are of one
time, even if a background pass begins meanwhile: see figures_of()."""

import struct
from collections import Counter
from functools import cached_property
from itertools import compress, count
from operator import eq
from typing import NamedTuple

from look.layout import ORDER, Layout, find
from look.process import Process

GRANULE = 64 << 10
SOURCES = (
    "swap",
    "stash",
    "transfer",
    "held",
    "central",
    "stolen",
    "fresh",
    "overflow",
    "retired",
)
PUBLIC = {"stash": "owner_stash", "held": "held_run", "fresh": "fresh_run"}  # names in stats.c, if different
OWNERS_MAX, INSTANCES_MAX = 256, 64
THREADS_MAX = 1 << 20
TRIES = 3
ROWS = 64  # of a table, read at once
_NUMBER, _COUNT = (1 << 26) - 1, (1 << 10) - 1  # as in src/middle/stack.h
_LIST_COUNT_AT = 44  # as in src/variants/list.h


# Where free objects wait above the runs.  outgoing: in the outbox of the thread that freed them.
PLACES = ("thread", "outgoing", "stash", "transfer")


class Span(NamedTuple):
    start: int
    granules: int
    kind: int
    freed: bool
    cls: int
    bump: int
    live: int
    since: int  # ms


class Class:
    """A size class, in objects."""

    def __init__(self, size: int, objects: int, out: int):
        self.size = size  # bytes of an object
        self.objects = objects  # in a run
        self.out = out  # objects out of the runs: live or cached
        self.cached = dict.fromkeys(PLACES, 0)
        self.runs = self.capacity = 0  # capacity: objects of all runs
        self.load = 0  # objects of a full magazine
        self.waiting = self.waiting_max = 0  # magazines in the transfer cache, and how many may be
        self.earned = 0  # of those cached by threads what is beyond their free capacity: HZ3_CACHE_TOTAL bounds it

    def all_cached(self) -> int:
        return sum(self.cached.values())

    def live(self) -> int:
        return max(self.out - self.all_cached(), 0)


class Window(NamedTuple):
    base: int
    bytes: int
    tables: list[tuple[int, int]]  # where its tables are, of state bytes not all of it mapped
    metadata: int  # bytes of its tables that are mapped
    frontier: int
    spans: int
    spans_mapped: int
    free: int  # its bitmaps
    tags: int


class Figures:
    def __init__(self, layout: Layout):
        self.layout, self.process = layout, layout.process
        self._parts = dict[tuple[int, int], bytes]()
        self.free_bytes = layout.at("cache.free_bytes")
        self.classes = self._classes()
        self.area = layout.value("magazines.area")
        self.magazines = self.process.read(self.area, layout.value("magazines.mapped")) if self.area else b""
        self.thread_at: dict[int, bytes] = {}
        self.sources = dict.fromkeys(SOURCES, 0)
        self._shared()
        self._threads()
        self._orphans()
        self.windows = self._windows()
        self.zoned = {start for window in self.windows for start in self._zoned(window)}  # those of hz3_heap_new
        self._rows_of = [
            self.process.read(window.spans, min(window.frontier, window.spans_mapped) * layout.at("span.size"))
            for window in self.windows
        ]
        for cls, runs in self._runs().items():
            if 0 < cls < len(self.classes):
                self.classes[cls].runs += runs
                self.classes[cls].capacity += runs * self.classes[cls].objects

    # ---- objects ----

    def is_steady(self) -> bool:
        """No object went back to its run since this was read.  One that did may have been taken for a live one."""
        return self._retired == self._retired_now()

    def _retired_now(self) -> list[int]:
        """By class, how many objects went back to their runs."""
        at = self.layout
        data = at.array("central", self.class_values)
        return [at.field("central.retired", data, cls * at.size("central")) for cls in range(self.class_values)]

    def _classes(self) -> list[Class]:
        at = self.layout
        self.class_values = at.at("classes") + 2
        infos, heaps = at.array("class", self.class_values), at.value("heaps")
        # What was retired is read first, as every retired object was taken before.
        self._retired = self._retired_now()
        taken = [0] * self.class_values
        data = at.array("heap", heaps)
        for heap in range(heaps):
            for cls, n in enumerate(at.fields("heap.taken", data, self.class_values, heap * at.size("heap"))):
                taken[cls] += n
        return [
            Class(
                size=at.field("class.size", infos, cls * at.size("class")),
                objects=at.field("class.objects", infos, cls * at.size("class")),
                out=max(0, taken[cls] - self._retired[cls]),
            )
            for cls in range(self.class_values)
        ]

    def _magazine(self, number: int) -> int:
        """Its offset in self.magazines, or -1."""
        offset = (number - 1) * self.layout.at("magazine.size")
        return offset if 0 <= offset < len(self.magazines) else -1

    def _count(self, offset: int) -> int:
        """Objects in a magazine that is not in use, whose header has its top."""
        at = self.layout
        return max(
            0, at.field("magazine.top", self.magazines, offset) - at.field("magazine.floor", self.magazines, offset)
        )

    def _chain(self, number: int, most: int) -> int:
        """Objects in a chain of magazines."""
        objects, most = 0, min(most, len(self.magazines) // self.layout.at("magazine.size"))
        while most and (offset := self._magazine(number)) >= 0:
            objects += self._count(offset)
            number = self.layout.field("magazine.next", self.magazines, offset)
            most -= 1
        return objects

    def _behind(self, top: int, count: int) -> int:
        """Objects in the magazines stored behind the one that a thread uses up to `top`."""
        size = self.layout.at("magazine.size")
        offset = (top & -size) - self.area
        if not count or not 0 <= offset < len(self.magazines):
            return 0
        return self._chain(self.layout.field("magazine.next", self.magazines, offset), count)

    def _stack(self, head: int) -> int:
        return self._chain(head & _NUMBER, head >> 26 & _COUNT)

    def _up_to(self, top: int) -> int:
        """Objects in a magazine that a thread uses, from its top pointer."""
        size = self.layout.at("magazine.size")
        offset = (top & -size) - self.area
        if not 0 <= offset < len(self.magazines):
            return 0  # the stub
        return max(0, (top % size) // 8 - self.layout.field("magazine.floor", self.magazines, offset))

    def _shared(self) -> None:
        at, values = self.layout, self.class_values
        infos, stacks = at.array("class", values), at.array("transfer", values)
        for cls in range(1, values - 1):
            head = at.field("transfer.stack", stacks, cls * at.size("transfer"))
            self.classes[cls].cached["transfer"] = self._stack(head)
            self.classes[cls].load = at.field("class.load", infos, cls * at.size("class"))
            self.classes[cls].waiting = head >> 26 & _COUNT
            self.classes[cls].waiting_max = at.field("transfer.max", stacks, cls * at.size("transfer"))
        if at.has("waiting"):
            self._at_central()
        if at.has("stash"):
            self._stashes()

    def _at_central(self) -> None:
        """Lane classic's magazines at central."""
        at = self.layout
        data = at.array("waiting", self.class_values)
        for cls in range(1, self.class_values - 1):
            base = cls * at.size("waiting")
            first, count = at.field("waiting.first", data, base), at.field("waiting.count", data, base)
            number = (first - self.area) // at.at("magazine.size") + 1
            objects = self._chain(number, count) if count else self._stack(at.field("waiting.stack", data, base))
            self.classes[cls].cached["stash"] += objects

    def _stashes(self) -> None:
        at, values, size = self.layout, self.class_values, self.layout.at("bin.size")
        linked, apart = "stash.classes" in at.places, at.flags.get("HZ3_S44_OWNER_STASH_COUNT", 0)
        classes = at.at("stash.classes") if linked else values
        owners = at.value("stashes") + 1
        if owners > OWNERS_MAX or at.at("stash.instances") > INSTANCES_MAX:
            raise ValueError("too many stashes")
        data = at.array("stash", owners)
        for owner in range(owners):
            for instance in range(at.at("stash.instances")):
                base = owner * at.size("stash") + at.at("stash.bin") + instance * classes * size
                for cls in range(1, min(classes, values - 1)):
                    (head,) = struct.unpack_from(ORDER + "Q", data, base + cls * size)
                    if not head:
                        continue
                    if linked and apart:
                        objects = struct.unpack_from(ORDER + "I", data, base + cls * size + 8)[0]
                    else:
                        objects = head >> _LIST_COUNT_AT if linked else self._stack(head)
                    self.classes[cls].cached["stash"] += objects

    # ---- threads ----

    def _threads(self) -> None:
        at, process = self.layout, self.process
        self._sum(process.read(at.at("dead"), at.size("dead")), 0)
        entry, seen = at.value("threads"), set[int]()
        while entry and entry not in seen and len(seen) < THREADS_MAX:
            seen.add(entry)
            links = process.read(entry, at.at("entry.size"))
            entry, address = at.field("entry.next", links), at.field("entry.thread", links)
            try:
                data = process.read(address, at.at("thread.size"))
                self._cache(data, at.at("thread.cache"))
                self._sum(data, at.at("thread.cache") + at.at("cache.stats"))
                self._outbox(struct.unpack(ORDER + "Q", process.read(at.field("thread.outbox", data), 8))[0])
            except ValueError:
                continue  # the thread has ended meanwhile
            self.thread_at[address] = data
        slots = at.array("handoff", at.at("handoffs"))
        for slot in range(at.at("handoffs")):
            base = slot * at.size("handoff")
            if at.field("handoff.taken", slots, base) and not at.field("handoff.claimant", slots, base):
                self._cache(slots, base + at.at("handoff.cache"))

    def _orphans(self) -> None:
        """What the threads had cached that a fork left in the parent: noted in magazines' memory, by class."""
        at, size = self.layout, self.layout.at("magazine.size")
        if not at.has("orphans.last"):
            return
        last, counts = at.array("orphans.last", self.class_values), at.array("orphans.count", self.class_values)
        bits, room = at.at("orphans.top_bits"), at.at("orphans.notes")
        for cls in range(self.class_values - 1):
            (page,), count = struct.unpack_from(ORDER + "Q", last, 8 * cls), counts[cls]
            most = len(self.magazines) // size
            while most and 0 <= (offset := page - self.area) <= len(self.magazines) - size:
                form, first = f"{ORDER}{min(count, room)}I", offset + at.at("notes.note")
                for note in struct.unpack_from(form, self.magazines, first):
                    self._orphan(cls, self._magazine(note >> bits), note % (1 << bits))
                (page,) = at.fields("notes.below", self.magazines, 1, offset)
                count, most = room, most - 1

    def _orphan(self, cls: int, offset: int, top: int) -> None:
        if offset >= 0 and cls:
            floor = self.layout.field("magazine.floor", self.magazines, offset)
            self.classes[cls].cached["thread"] += max(0, top - floor)
        elif offset >= 0 and not top:
            self._outbox(self.area + offset)

    def _sum(self, data: bytes, base: int) -> None:
        for source in SOURCES:
            self.sources[source] += self.layout.field(f"stats.{source}", data, base)

    def _cache(self, data: bytes, base: int) -> None:
        at, values = self.layout, self.class_values
        tops, previous = (at.fields(which, data, values, base) for which in ("cache.top", "cache.previous"))
        stored = data[base + at.at("cache.stored") :][:values]
        for cls, top, before, behind in zip(self.classes, tops, previous, stored, strict=True):
            objects = self._up_to(top) + self._up_to(before) + self._behind(before, behind)
            cls.cached["thread"] += objects
            cls.earned += max(0, objects - 2 * min(self.free_bytes // cls.size, cls.load)) if cls.size else 0

    def _outbox(self, address: int) -> None:
        at = self.layout
        if not address:
            return
        data = self.process.read(address, at.at("outbox.size"))
        for name in filter(at.has, ("outbox.outgoing", "outbox.overflow")):
            for top in at.fields(name, data, at.size(name) // 8):
                if objects := self._up_to(top):
                    key = at.field("magazine.key", self.magazines, (top & -at.at("magazine.size")) - self.area)
                    self._class(key & 0xFF).cached["outgoing"] += objects
        if at.has("outbox.onward"):
            for cls, top in enumerate(at.fields("outbox.onward", data, at.size("outbox.onward") // 8)):
                self._class(cls).cached["outgoing"] += self._up_to(top)
        if at.has("outbox.ring"):
            room = at.size("outbox.ring") // 8
            ring = at.fields("outbox.ring", data, room)
            first, count = at.field("outbox.ring_first", data), min(at.field("outbox.ring_count", data), room)
            for i in range(first, first + count):
                if ring[i % room]:
                    self._class(self._class_at(ring[i % room])).cached["outgoing"] += 1
        if at.has("outbox.spill"):
            for cls in range(at.size("outbox.spill") // at.at("spill.size")):
                base = at.at("outbox.spill") + cls * at.at("spill.size")
                kept = at.field("spill.in_array", data, base) + at.field("spill.in_list", data, base)
                self._class(cls).cached["thread"] += kept
        if at.has("outbox.central"):
            for cls, magazine in enumerate(at.fields("outbox.central", data, at.size("outbox.central") // 8)):
                number = (magazine - self.area) // at.at("magazine.size") + 1
                self._class(cls).cached["thread"] += self._chain(number, 1)
        if at.has("outbox.waiting"):
            for p in filter(None, at.fields("outbox.waiting", data, at.size("outbox.waiting") // 8)):
                self._class(self._class_at(p)).cached["thread"] += 1

    def _class(self, cls: int) -> Class:
        return self.classes[cls if cls < self.class_values else 0]

    def _class_at(self, address: int) -> int:
        at = self.layout
        tag = at.at("tag.size")
        data = at.array("window", 1)
        granule = (address - at.field("window.base", data)) // GRANULE
        return self.process.read(at.field("window.tags", data) + granule * tag, 1)[0]

    # ---- address space ----

    def _windows(self) -> list[Window]:
        at = self.layout
        count, found = at.value("windows"), []
        data = at.array("window", count)
        states, tables = at.value("states"), at.value("state_tables")
        for i in range(count):
            base = i * at.size("window")

            def of(name: str, base: int = base) -> int:
                return at.field(f"window.{name}", data, base)

            def steps(size: int) -> int:
                return -(-size // at.at("table.step")) * at.at("table.step")

            spans, mapped = of("spans"), of("spans_mapped")
            own_tables = [
                (spans, steps(mapped * at.at("span.size"))),
                (of("free"), steps(of("free_mapped") * at.at("free.size"))),
                (of("tags"), of("tags_writable") * at.at("tag.size")),
            ]
            metadata = sum(size for _, size in own_tables) + of("state_bytes")
            state_tables = [
                (states + (of("base") >> shift), of("frontier") * GRANULE >> shift) for shift in (4, 6, 8)[:tables]
            ]
            found.append(
                Window(
                    of("base"),
                    of("bytes"),
                    own_tables + state_tables,
                    metadata,
                    of("frontier"),
                    spans,
                    mapped,
                    of("free"),
                    of("tags"),
                )
            )
        return found

    def _runs(self) -> Counter[int]:
        """By class.  A loop in Python over all rows would take most of the time that a reading takes."""
        at, found = self.layout, Counter[tuple[int, int]]()
        for window, data in zip(self.windows, self._rows_of, strict=True):
            start, kind, cls = (
                at.column(f"span.{name}", data, at.at("span.size")) for name in ("start", "kind", "cls")
            )
            for row in ((zoned - window.base) // GRANULE for zoned in self.zoned):
                if 0 <= row < len(kind):
                    kind[row] = 0
            own = map(eq, start, count(window.base, GRANULE))  # other rows are of granules within spans
            found.update(compress(zip(kind, cls, strict=True), own))
        return Counter({cls: runs for (kind_, cls), runs in found.items() if kind_ == at.at("kind.run")})

    @cached_property
    def spans(self) -> list[Span]:
        return [
            span for window, data in zip(self.windows, self._rows_of, strict=True) for span in self._spans(window, data)
        ]

    def _spans(self, window: Window, data: bytes) -> list[Span]:
        at = self.layout
        size = at.at("span.size")
        names = sorted(Span._fields, key=lambda n: at.at(f"span.{n}"))
        form, end = ORDER, 0
        for name in names:
            offset, width = at.places[f"span.{name}"]
            form += f"{offset - end}x" + {1: "B", 2: "H", 4: "I", 8: "Q"}[width]
            end = offset + width
        form += f"{size - end}x"
        order = [names.index(name) for name in Span._fields]
        start, kind = names.index("start"), names.index("kind")
        found, own = [], window.base
        for row in struct.iter_unpack(form, data):
            if row[kind] and row[start] == own:
                found.append(Span(*[row[i] for i in order]))
            own += GRANULE
        return found

    def _zoned(self, window: Window) -> list[int]:
        """Where the granules start that the tags say are in heaps of the program's own."""
        at = self.layout
        if "owner.zone" not in at.places:
            return []
        tags = self.process.read(window.tags, min(window.frontier, window.spans_mapped) * at.at("tag.size"))
        owners, zone = tags[at.at("tag.owner") :: at.at("tag.size")], at.at("owner.zone")
        if zone not in owners:  # as nearly always: a loop in Python takes long
            return []
        classes = tags[:: at.at("tag.size")]
        return [
            window.base + i * GRANULE
            for i, (cls, owner) in enumerate(zip(classes, owners, strict=True))
            if owner == zone and not cls
        ]

    def free_objects(self, window: Window, span: Span) -> int:
        """Returns an int in which bit i says that object i was handed out and is free."""
        at, granule = self.layout, (span.start - window.base) // GRANULE
        words = -(-self.classes[span.cls].objects // 64)
        if words > 1:
            row, base = self._row(window, window.free, granule, at.at("free.size")), 0
        else:
            row, base = self._row(window, window.spans, granule, at.at("span.size")), at.at("span.free")
        found = struct.unpack_from(f"{ORDER}{words}Q", row, base)
        return int.from_bytes(struct.pack(f"<{words}Q", *found), "little") & ((1 << span.bump) - 1)

    def _row(self, window: Window, table: int, row: int, size: int) -> bytes:
        """Returns a row of a table, which is read in parts, since a call for each row takes long."""
        first, rows = row - row % ROWS, min(window.frontier, window.spans_mapped)
        if (table, first) not in self._parts:
            self._parts[table, first] = self.process.read(table + first * size, max(0, min(ROWS, rows - first)) * size)
        return self._parts[table, first][(row - first) * size : (row - first + 1) * size]

    # ---- sums, with the names of docs/use/statistics.md ----

    def gauge(self, name: str) -> int:
        return self.layout.value(f"gauge.{name}")

    def metadata(self) -> int:
        return len(self.magazines) + sum(window.metadata for window in self.windows)

    def totals(self) -> dict[str, int]:
        """The sums, in bytes."""
        at, sizes = self.layout, self.classes[1:-1]
        by_place = {place: sum(c.cached[place] * c.size for c in sizes) for place in PLACES}
        cached = sum(by_place.values())
        small = sum(c.out * c.size for c in sizes)
        zoned = [span for span in self.spans if span.start in self.zoned] if self.zoned else []
        in_zones = sum(span.live * self.classes[span.cls].size for span in zoned if span.kind == at.at("kind.run"))
        kept, used = self.gauge("large_cached"), self.gauge("used")
        active, dirty = used - min(kept, used), self.gauge("dirty") + kept
        retained = dirty + self.gauge("clean")
        return {
            "allocated": max(0, small - cached) + in_zones + at.value("large_bytes"),
            "cached": cached,
            "stashed": by_place["stash"],
            "in_transfer_cache": by_place["transfer"],
            "active": active,
            "in_heaps": sum(span.granules for span in zoned) * GRANULE,
            "resident": used + self.gauge("dirty"),
            "mapped": active + retained,
            "retained": retained,
            "dirty": dirty,
            "metadata": self.metadata(),
            "purged": self.gauge("purged"),
        }

    def refills(self) -> dict[str, int]:
        return {PUBLIC.get(name, name): n for name, n in self.sources.items()}

    def threads(self) -> list[dict[str, int]]:
        """What each thread has allocated and freed, in bytes, as hz3_thread_bytes counts it there."""
        at, found = self.layout, []
        top, counted = (at.at("thread.cache") + at.at(f"cache.{name}") for name in ("top", "counted"))
        for data in self.thread_at.values():
            tops = struct.unpack_from(f"{ORDER}{self.class_values}Q", data, top)
            before = struct.unpack_from(f"{ORDER}{self.class_values}b", data, counted)
            more = [(self._up_to(t) - b) * c.size for t, b, c in zip(tops, before, self.classes, strict=True)]
            found.append({
                "tid": at.field("thread.tid", data),
                "allocated": at.field("thread.allocated", data) - sum(n for n in more if n < 0),
                "freed": at.field("thread.freed", data) + sum(n for n in more if n > 0),
            })  # fmt: skip
        return found

    def used_classes(self) -> list[Class]:
        return [c for c in self.classes[1:-1] if c.runs or c.out]


def figures_of(process: Process) -> Figures:
    """Reads again where the figures are not steady.  A background pass is over by then; a busy process stays unsteady."""
    layout = find(process)
    for _ in range(TRIES):
        if (figures := Figures(layout)).is_steady():
            break
    return figures
