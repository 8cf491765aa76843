"""Where hz3 keeps its data: the lists in its library (src/base/layout.h), read from the process."""

import re
import struct
import sys
from array import array
from collections.abc import Iterator

from look import LookError, shown
from look.process import Mapping, Process

VERSION = 2
MAGIC = b"\x7fhz3 layout\n\r\n\x1a\0"
CONFIG = re.compile(rb"hz3-config: version=([^\0 ]+) lane=([^\0 ]+)([^\0]*)\0")
ORDER = "<" if sys.byteorder == "little" else ">"
HEAD = struct.Struct(ORDER + "16sQQIIQ")  # magic, self, config, version, rooms, places
ROW = struct.Struct(ORDER + "QQQ")  # name, at, size
SCAN_MAX = 64 << 20  # larger mappings are not searched; no library has as many constants
ROWS_MAX, NAME_MAX, CONFIG_MAX, CONFIGS_MAX = 1000, 64, 16384, 10
NUMBERS = {1: "B", 2: "H", 4: "I", 8: "Q"}


def _number(data: bytes, at: int, size: int) -> int:
    return int(struct.unpack_from(ORDER + NUMBERS[size], data, at)[0])


class Layout:
    """The layout of one process's hz3.  It lacks names that the process's lane does not have."""

    def __init__(self, process: Process, mapping: Mapping, address: int):
        self.process, self.address, self.library = process, address, mapping.name
        self.file = mapping.device, mapping.inode
        _, _, config, version, rooms, places = HEAD.unpack(process.read(address, HEAD.size))
        match = CONFIG.fullmatch(process.string(config, CONFIG_MAX) + b"\0")
        if not match or rooms > ROWS_MAX:
            raise ValueError("no layout")
        self.version, self.lane = _said(match[1]), _said(match[2])
        self.flags = {
            name: int(value)
            for name, value in re.findall(r" (HZ3_\w+)=(\d{1,9})\b", match[3].decode("ascii", "replace"))
        }
        if version != VERSION:
            raise LookError(
                f"process {process.pid} has hz3 {self.version}, whose layout is {version}: this hz3 reads {VERSION}"
            )
        self.places: dict[str, tuple[int, int]] = {}
        for (table,) in struct.iter_unpack(ORDER + "Q", process.read(places, 8 * rooms)):
            self.places.update(self._rows(table))

    def _rows(self, table: int) -> Iterator[tuple[str, tuple[int, int]]]:
        for i in range(ROWS_MAX):
            name, at, size = ROW.unpack(self.process.read(table + i * ROW.size, ROW.size))
            if not name:
                return
            yield self.process.string(name, NAME_MAX).decode("ascii"), (at, size)
        raise ValueError("a list without end")

    def has(self, name: str) -> bool:
        return name in self.places and self.places[name][1] > 0

    def at(self, name: str) -> int:
        """The address, the offset or the number with this name."""
        return self.places[name][0]

    def size(self, name: str) -> int:
        return self.places[name][1]

    def value(self, name: str) -> int:
        """The value of an object."""
        at, size = self.places[name]
        return _number(self.process.read(at, size), 0, size)

    def field(self, name: str, data: bytes, base: int = 0) -> int:
        """The value of a field of the structure at data[base]."""
        at, size = self.places[name]
        return _number(data, base + at, size)

    def fields(self, name: str, data: bytes, count: int, base: int = 0) -> tuple[int, ...]:
        """The first `count` words of an array in the structure at data[base]."""
        return struct.unpack_from(f"{ORDER}{count}Q", data, base + self.places[name][0])

    def column(self, name: str, data: bytes, size: int) -> list[int]:
        """The values of a field in each of the structures of `size` bytes that data has."""
        at, width = self.places[name]
        if at % width or size % width:
            raise ValueError("not aligned")
        found: list[int] = array(NUMBERS[width], data[: len(data) // size * size])[
            at // width :: size // width
        ].tolist()
        return found

    def array(self, name: str, count: int) -> bytes:
        return self.process.read(self.places[name][0], self.places[name][1] * count)


def _said(found: bytes) -> str:
    return shown(found.decode("ascii", "replace"))


def _config(data: bytes) -> re.Match[bytes] | None:
    """The first config string in data.  Only a few candidates are tried."""
    at = -1
    for _ in range(CONFIGS_MAX):
        if (at := data.find(b"hz3-config: ", at + 1)) < 0:
            break
        if match := CONFIG.match(data[at : at + CONFIG_MAX]):
            return match
    return None


def _candidates(process: Process) -> Iterator[Mapping]:
    """Mappings of files' constants: hz3's own library first, then files that it may be linked into."""
    files = [
        m
        for m in process.maps
        if m.name.startswith("/") and m.rights[0] == "r" and m.rights[3] == "p" and m.end - m.start <= SCAN_MAX
    ]
    named = [m for m in files if "hz3" in m.name.rsplit("/", 1)[-1]]
    yield from named
    yield from (m for m in files if m not in named)


def in_file(path: str) -> str:
    """The version and lane of the hz3 in a library or program; empty if there is none."""
    with open(path, "rb") as file:
        data = file.read()
    found = _config(data) if MAGIC in data else None
    return f"hz3 {_said(found[1])}, lane {_said(found[2])}" if found else ""


def find(process: Process, everywhere: bool = True) -> Layout:
    """Finds the layout, everywhere or only in libraries of hz3's name."""
    older = None
    for mapping in _candidates(process):
        if not everywhere and "hz3" not in mapping.name.rsplit("/", 1)[-1]:
            break
        try:
            data = process.read(mapping.start, mapping.end - mapping.start)
        except ValueError:  # the file was truncated
            continue
        at = data.find(MAGIC)
        while at >= 0:
            address = mapping.start + at
            if len(data) >= at + HEAD.size and HEAD.unpack_from(data, at)[1] == address:
                return Layout(process, mapping, address)
            at = data.find(MAGIC, at + 1)
        older = older or _config(data)
    if older:
        version = _said(older[1])
        raise LookError(f"process {process.pid} has hz3 {version}, which is too old: it has no layout for readers")
    raise LookError(f"process {process.pid} ({process.name}) runs without hz3")
