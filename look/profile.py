"""The heap profile, from a file that HZ3_PROFILE wrote or from a running process: weighted, symbolized and summed up.

One byte in `rate` is sampled, so an allocation of s bytes is sampled with a probability of 1 - exp(-s / rate).  Each
sample counts as many allocations as the inverse of that."""

import math
import os
import re
import struct
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from typing import NamedTuple

from look import LookError, shown
from look.elf import File
from look.layout import ORDER, Layout, find
from look.process import Mapping, Process, mapping_in

HEAD = "hz3 heap profile 1"
OURS = re.compile(r"/lib(hakozuna_)?hz3[^/]*\.so")
STACKS_AT, OTHERS = 1, 1  # the first stack's number; the number that all threads without one share
MAX_RATE = 1 << 40  # bytes
AGE_MAX, FREED_MAX = 32, 1 << 21


class Cell(NamedTuple):
    """A number of samples of one kind.  to == 0: not freed yet."""

    samples: int
    stack: int
    size: int
    by: int
    to: int
    age: int  # below 2 ** age ms


Place = tuple[str, int]  # a file, and where in it; or an address, where no file is mapped


class Profile:
    def __init__(self) -> None:
        self.rate = self.pid = self.lost = 0
        self.program = self.root = ""  # root: where the process's own files are
        self.threads: dict[int, str] = {OTHERS: "(others)"}
        self.tids: dict[int, int] = {}
        self.stacks: dict[int, list[int]] = {}
        self.allocated: list[Cell] = []
        self.freed: list[Cell] = []
        self.mappings: list[Mapping] = []
        self.whole = False

    def weight(self, size: int) -> float:
        return 1 / -math.expm1(-size / self.rate)

    def live(self) -> list[Cell]:
        left: Counter[tuple[int, int, int]] = Counter()
        for cell in self.allocated:
            left[cell.stack, cell.size, cell.by] += cell.samples
        for cell in self.freed:
            left[cell.stack, cell.size, cell.by] -= cell.samples
        return [Cell(count, *which, 0, 0) for which, count in left.items() if count > 0]

    def bytes(self, cells: Iterable[Cell]) -> float:
        return sum(cell.samples * cell.size * self.weight(cell.size) for cell in cells)

    def mapping_of(self, address: int) -> Mapping | None:
        return next((m for m in self.mappings if m.start <= address < m.end), None)

    def file_of(self, mapping: Mapping) -> File | None:
        """The very file that was mapped; None: it is gone, or another has its name now, or in this mount namespace."""
        for path in dict.fromkeys((self.root + mapping.name, mapping.name)):  # the latter of what lives in a chroot
            try:
                file = File(path)
            except (OSError, ValueError):
                continue
            # Where a file system has no device of its own (overlayfs, btrfs) maps and stat name different ones.
            its = file.device == mapping.device or os.major(file.device) == 0
            if its and file.inode == mapping.inode:
                return file
        return None

    def place(self, address: int) -> Place:
        """The same in each process that maps the file."""
        mapping = self.mapping_of(address)
        return (shown(mapping.name), address - mapping.start + mapping.offset) if mapping else ("", address)

    def mapping_at(self, place: Place) -> Mapping | None:
        name, offset = place
        inside = (m for m in self.mappings if m.offset <= offset < m.offset + m.end - m.start)
        return next((m for m in inside if shown(m.name) == name), None)

    def calls(self, stack: int) -> list[int]:
        """The stack's return addresses outside hz3's library, each minus 1, so that it is inside the call."""
        addresses = [address - 1 for address in self.stacks[stack]]
        while addresses and (mapping := self.mapping_of(addresses[0])) and OURS.search(mapping.name):
            del addresses[0]
        return addresses

    @cached_property
    def _threads_named(self) -> Counter[str]:
        return Counter(self.threads.values())

    def name_of(self, thread: int) -> str:
        """With its number, where others have the name too."""
        name = self.threads.get(thread, "?")
        return shown(f"{name}#{self.tids[thread]}" if self._threads_named[name] > 1 and thread in self.tids else name)


def read(path: str) -> Profile:
    """Reads a file.  If its end is missing, the rest is returned."""
    try:
        with open(path, errors="replace", newline="\n") as file:
            text = file.read()
    except OSError as error:
        raise LookError(f"{path}: {error.strerror}") from None
    lines = text.split("\n")
    if lines[0] != HEAD:
        other = lines[0].startswith("hz3 heap profile ")
        raise LookError(f"{path}: {'written by another version of hz3' if other else 'no heap profile of hz3'}")
    profile = Profile()
    end = lines.index("maps") if "maps" in lines else len(lines) - 1
    for i, line in enumerate(lines[:-1]):
        try:
            if 0 < i < end:
                _take(profile, line)
            elif i > end:
                _map(profile, line)
        except (ValueError, IndexError, TypeError):
            raise LookError(f"{path}: line {i + 1} makes no sense") from None
    profile.whole = "maps" in lines and text.endswith("\n")
    return _checked(profile)


def _checked(profile: Profile) -> Profile:
    """The file may hold anything.  Samples without a stack, or with senseless values, are left out."""

    def sane(cell: Cell) -> bool:
        return (
            cell.stack in profile.stacks
            and 0 < cell.size < 1 << 63
            and 0 < cell.samples < 1 << 63
            and 0 <= cell.age <= AGE_MAX
        )

    if not 0 < profile.rate <= MAX_RATE:
        raise LookError(f"{shown(profile.program)}: a rate of {profile.rate} makes no sense")
    profile.allocated, profile.freed = (list(filter(sane, cells)) for cells in (profile.allocated, profile.freed))
    profile.stacks = {i: [a for a in stack if 0 < a < 1 << 64] for i, stack in profile.stacks.items()}
    profile.mappings = [m for m in profile.mappings if 0 <= m.start < m.end < 1 << 64 and "\0" not in m.name]
    return profile


def _take(profile: Profile, line: str) -> None:
    word, _, rest = line.partition(" ")
    if word in ("rate", "pid", "lost"):
        setattr(profile, word, int(rest))
    elif word == "program":
        profile.program = rest
    elif word == "thread":
        index, tid, name = rest.split(" ", 2)
        profile.threads[int(index)], profile.tids[int(index)] = name, int(tid)
    elif word == "stack":
        index, *frames = rest.split()
        profile.stacks[int(index)] = [int(frame, 16) for frame in frames]
    elif word == "allocated":
        count, stack, size, by = map(int, rest.split())
        profile.allocated.append(Cell(count, stack, size, by, 0, 0))
    elif word == "freed":
        profile.freed.append(Cell(*map(int, rest.split())))
    else:
        raise ValueError(word)


def _map(profile: Profile, line: str) -> None:
    found = mapping_in(line)
    if not found:
        raise ValueError(line)
    if found.name.startswith("/") and "x" in found.rights:
        profile.mappings.append(found)


# ---- out of a process ----


def of_process(process: Process) -> Profile:
    at = find(process)
    if not at.has("profile") or not at.value("profile"):
        if at.has("profile.wanted") and at.value("profile.wanted"):
            raise LookError(f"process {process.pid} was asked for a heap profile: it begins with its next malloc")
        raise LookError(f"process {process.pid} keeps no heap profile: hz3 profile {process.pid} --start begins one")
    profile = Profile()
    profile.pid, profile.program, profile.whole = process.pid, process.name, True
    profile.root = f"/proc/{process.pid}/root"
    profile.rate, profile.lost = at.value("profile.rate"), at.value("profile.lost")
    profile.mappings = [m for m in process.maps if m.name.startswith("/") and "x" in m.rights]
    _take_tables(profile, at, at.value("profile"))
    return _checked(profile)


def _take_tables(profile: Profile, at: Layout, tables: int) -> None:
    def table(name: str) -> tuple[bytes, int]:
        return at.process.read(tables + at.at(f"profile.{name}s"), at.size(f"profile.{name}s")), at.at(
            f"profile.{name}.size"
        )

    data, size = table("thread")
    for i in range(OTHERS + 1, len(data) // size):
        if tid := at.field("profile.tid", data, i * size):
            profile.tids[i] = tid
            start = i * size + at.at("profile.name")
            profile.threads[i] = data[start : start + at.size("profile.name")].split(b"\0")[0].decode(errors="replace")
    data, size = table("stack")
    most = at.size("stack.frames") // 8
    for i in range(len(data) // size):
        if depth := min(at.field("stack.depth", data, i * size), most):
            profile.stacks[i + STACKS_AT] = list(at.fields("stack.frames", data, depth, i * size))
    data, size = table("cell")
    names = [f"cell.{name}" for name in ("count", "stack", "bytes", "by", "to", "age")]
    for base in range(0, len(data), size):
        if at.field(names[0], data, base):
            cell = Cell(*(at.field(name, data, base) for name in names))
            (profile.freed if cell.to else profile.allocated).append(cell)
    size, left = at.at("profile.sample.size"), at.size("profile.samples") // at.at("profile.sample.size")
    i = at.value("profile.freed")  # freed samples that are not summed up yet
    while i and left and len(profile.freed) < FREED_MAX:
        data, left = at.process.read(tables + at.at("profile.samples") + i * size, size), left - 1
        stack, byte_count, by, to, born, died, i = (
            at.field(f"sample.{name}", data) for name in ("stack", "bytes", "by", "to", "born", "died", "next")
        )
        profile.freed.append(Cell(1, stack, byte_count, by, to, ((died - born) & 0xFFFFFFFF).bit_length()))


def want(process: Process, rate: int) -> str:
    """Sets the process's rate, or 0 to stop, and returns what to say of it.  Zeros in its class table send its next malloc
    to the slow path, which applies the rate."""
    at = find(process)
    if not at.has("profile.wanted"):
        raise LookError(f"process {process.pid} has an hz3 without heap profiles")
    before = at.value("profile.rate") if at.value("profile") else 0
    process.write(at.at("profile.wanted"), struct.pack(ORDER + "Q", rate))
    if not rate:
        return f"process {process.pid} samples no more, from its next sample on"
    table = at.has("class.table")
    if table:
        process.write(at.at("class.table"), bytes(at.size("class.table")))
    said = (
        f"process {process.pid} samples one byte in {rate}, from {'its next malloc' if table else 'a slow malloc'} on"
    )
    if before not in (0, rate):
        said += f"; what it has was sampled at one in {before}, and counts wrongly from then on"
    return said
