"""Reads an ELF object, in a process's memory or in a file: its interpreter, and the names that it defines.

By hand, since pyelftools reads files: of what the loader mapped it would need the section headers, which are not there."""

import os
import stat
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from look.process import Process

LOAD, DYNAMIC, INTERPRETER, NOTES, HEADERS = 1, 2, 3, 4, 6  # PT_
EXECUTABLE = 1  # PF_X
SYMBOL_TABLES, FUNCTIONS = (2, 11), (2, 10)  # SHT_SYMTAB and SHT_DYNSYM, STT_FUNC and STT_GNU_IFUNC
BUILD_ID = 3  # NT_GNU_
STRINGS, SYMBOLS, DEBUG, HASH, GNU_HASH = 5, 6, 21, 4, 0x6FFFFEF5  # DT_
AUX_HEADERS, AUX_COUNT, AUX_SECURE = 3, 5, 23  # AT_
SYMBOL, HEADER, WORD = struct.Struct("IBBHQQ"), struct.Struct("IIQQQQQQ"), struct.Struct("Q")
SECTION, NOTE = struct.Struct("IIQQQQIIQQ"), struct.Struct("III")
MOST = 10000  # the most elements of a chain that are followed
Read = Callable[[int, int], bytes]


class Segment(NamedTuple):
    kind: int
    offset: int
    address: int
    size: int  # in the file
    executable: bool


def _segments(data: bytes) -> list[Segment]:
    return [
        Segment(kind, offset, address, size, bool(flags & EXECUTABLE))
        for kind, flags, offset, address, _, size, _, _ in HEADER.iter_unpack(data)
    ]


class Image:
    """read: takes addresses as linked.  shift: what the loader may have added to the addresses in the dynamic
    section."""

    def __init__(self, read: Read, dynamic: int, shift: int = 0):
        self._read, self.address = read, dynamic + shift  # in the process
        self.tags: dict[int, int] = {}
        for i in range(MOST):
            tag, value = struct.unpack("qQ", read(dynamic + 16 * i, 16))
            if not tag:
                break
            self.tags.setdefault(
                tag, value - shift if tag in (STRINGS, SYMBOLS, HASH, GNU_HASH) and value >= shift else value
            )

    def defines(self, name: bytes) -> bool:
        return (
            any(self._matches(i, name) for i in self._with_hash(name))
            if GNU_HASH in self.tags
            else any(
                self._matches(i, name)
                for i in range(struct.unpack("II", self._read(self.tags[HASH], 8))[1] if HASH in self.tags else 0)
            )
        )

    def _with_hash(self, name: bytes) -> Iterator[int]:
        table, wanted = self.tags[GNU_HASH], 5381
        for byte in name:
            wanted = (wanted * 33 + byte) & 0xFFFFFFFF
        buckets, first, bloom, _ = struct.unpack("IIII", self._read(table, 16))
        at = table + 16 + 8 * bloom
        (i,) = struct.unpack("I", self._read(at + 4 * (wanted % buckets), 4)) if buckets else (0,)
        for i in range(i, i + MOST) if i >= first and i else ():
            (found,) = struct.unpack("I", self._read(at + 4 * buckets + 4 * (i - first), 4))
            if (found | 1) == (wanted | 1):
                yield i
            if found & 1:
                return

    def _matches(self, i: int, name: bytes) -> bool:
        at, _, _, section, _, _ = SYMBOL.unpack(self._read(self.tags[SYMBOLS] + SYMBOL.size * i, SYMBOL.size))
        return section != 0 and self._read(self.tags[STRINGS] + at, len(name) + 1) == name + b"\0"


class File:
    """Raises ValueError if the file is not ELF of this machine's kind."""

    def __init__(self, path: str):
        self.path = path
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("no file")
            self.device, self.inode = os.fstat(file.fileno()).st_dev, os.fstat(file.fileno()).st_ino
            self._data = file.read()
        if self._data[:5] != b"\x7fELF\x02":
            raise ValueError("not ELF")
        try:
            (start,), size, count = WORD.unpack_from(self._data, 32), *struct.unpack_from("HH", self._data, 54)
            self.segments = _segments(self._data[start : start + size * count])
        except struct.error:
            raise ValueError("cut off") from None
        paths = [
            self._data[s.offset : s.offset + s.size].rstrip(b"\0").decode(errors="replace")
            for s in self.segments
            if s.kind == INTERPRETER
        ]
        self.interpreter = paths[0] if paths else None

    def _read(self, address: int, size: int) -> bytes:
        for s in self.segments:
            if s.kind == LOAD and s.address <= address and address + size <= s.address + s.size:
                return self._data[s.offset + address - s.address :][:size]
        raise ValueError("not in the file")

    def address(self, offset: int) -> int:
        """Where the linker placed the code at this offset of the file; 0: no code is there."""
        code = (s for s in self.segments if s.kind == LOAD and s.executable)
        return next((offset - s.offset + s.address for s in code if s.offset <= offset < s.offset + s.size), 0)

    def defines(self, name: bytes) -> bool:
        dynamic = [s.address for s in self.segments if s.kind == DYNAMIC]
        try:
            return bool(dynamic) and Image(self._read, dynamic[0]).defines(name)
        except (struct.error, KeyError):
            raise ValueError("broken") from None

    def inside_functions(self, addresses: Iterable[int]) -> set[int]:
        """The addresses that lie in a function, by its symbol's address and size."""
        found, left = set[int](), sorted(addresses)
        for symbol in self._symbols():
            _, info, _, section, at, size = symbol
            if section and info & 15 in FUNCTIONS:
                held = slice(bisect_left(left, at), bisect_left(left, at + size))
                found.update(left[held])
                del left[held]
        return found

    def _symbols(self) -> Iterator[tuple[int, ...]]:
        (start,), size, count = WORD.unpack_from(self._data, 40), *struct.unpack_from("HH", self._data, 58)
        sections = self._data[start : start + size * count]
        for _, kind, _, _, offset, length, *_ in SECTION.iter_unpack(sections) if size == SECTION.size else ():
            if kind in SYMBOL_TABLES:
                table = self._data[offset : offset + length]
                yield from SYMBOL.iter_unpack(table[: len(table) // SYMBOL.size * SYMBOL.size])

    def build_id(self) -> str:
        """In hexadecimal digits; empty if the linker wrote none."""
        for segment in self.segments:
            notes = self._data[segment.offset : segment.offset + segment.size] if segment.kind == NOTES else b""
            while len(notes) > NOTE.size:
                name, size, kind = NOTE.unpack_from(notes)
                text, start = notes[NOTE.size :][:name], NOTE.size + -(-name // 4) * 4
                if (kind, text) == (BUILD_ID, b"GNU\0"):
                    return notes[start : start + size].hex()
                notes = notes[start + -(-size // 4) * 4 :]
        return ""


def auxiliary(process: Process) -> dict[int, int]:
    data = process.contents("auxv")
    return dict(struct.iter_unpack("QQ", data[: len(data) // 16 * 16]))


def loaded(process: Process) -> list[tuple[str, Image]]:
    """A process's objects, in the order in which the loader looks names up.  Empty if the process has no loader."""
    values = auxiliary(process)
    at, count = values[AUX_HEADERS], values[AUX_COUNT]
    segments = _segments(process.read(at, HEADER.size * min(count, MOST)))
    dynamic = [s.address for s in segments if s.kind == DYNAMIC]
    if not dynamic:
        return []
    shift = next((at - s.address for s in segments if s.kind == HEADERS), 0)
    debug = Image(lambda a, n: process.read(a + shift, n), dynamic[0]).tags.get(DEBUG, 0)
    if not debug:
        return []
    (entry,), found = WORD.unpack(process.read(debug + 8, 8)), list[tuple[str, Image]]()
    while entry and len(found) < MOST:
        base, name, section, entry = struct.unpack("QQQQ", process.read(entry, 32))
        text = process.string(name, 4096).decode(errors="backslashreplace") or process.link("exe")

        def read(address: int, size: int, base: int = base) -> bytes:
            return process.read(address + base, size)

        found.append((text, Image(read, section - base, base)))
    return found
