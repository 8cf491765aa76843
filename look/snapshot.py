"""A process as it was when it wrote a snapshot (HZ3_STATS=explain; src/watch/snapshot.h has the form of the file)."""

import struct
from bisect import bisect_right
from pathlib import Path

from look import LookError, shown
from look.process import PAGE, Process, mapping_in

HEAD = b"hz3 memory 1\n"
RECORD = struct.Struct("=QQQ")  # what, address, bytes
SMAPS, MEMORY, PAGES = 1, 2, 3


class Snapshot(Process):
    """Only what hz3 wrote can be read: its variables and tables, smaps, and which pages of its spans are in memory."""

    def __init__(self, path: str):
        try:
            data = Path(path).read_bytes()
        except OSError as error:
            raise LookError(f"{shown(path)}: {error.strerror}") from None
        refused = LookError(f"{shown(path)} is no snapshot of a process on hz3, or not a whole one")
        try:
            first, numbers, name, program, empty, records = data.split(b"\n", 5)
            self.pid, page, self._at = map(int, numbers.split())
        except ValueError:
            raise refused from None
        if first + b"\n" != HEAD or empty or page != PAGE:
            raise refused
        self.name, self._program = shown(name.decode("utf-8", "replace")), program.decode("utf-8", "backslashreplace")
        self._kinds: dict[int, list[tuple[int, bytes]]] = {SMAPS: [], MEMORY: [], PAGES: []}
        at = 0
        while at < len(records):
            if len(records) < at + RECORD.size:
                raise refused
            what, start, size = RECORD.unpack_from(records, at)
            at += RECORD.size + size
            if what not in self._kinds or at > len(records):
                raise refused
            self._kinds[what].append((start, records[at - size : at]))
        for kind in MEMORY, PAGES:
            self._kinds[kind].sort(key=lambda part: part[0])
        self._smaps = b"".join(part for _, part in self._kinds[SMAPS]).decode("utf-8", "backslashreplace")
        if not self.text("maps"):
            raise refused

    def close(self) -> None:
        pass

    def now_ms(self) -> int:
        return self._at

    def text(self, name: str) -> str:
        if name == "smaps":
            return self._smaps
        if name == "maps":
            return "\n".join(line for line in self._smaps.split("\n") if mapping_in(line))
        raise ValueError(name)

    def link(self, name: str) -> str:
        return self._program

    def resident(self) -> int:
        return sum(m.bytes_of("Rss") for m in self.smaps())

    def read(self, address: int, size: int) -> bytes:
        parts, found = self._kinds[MEMORY], b""
        at = bisect_right(parts, address, key=lambda part: part[0]) - 1
        while at >= 0 and len(found) < size:  # back, over small records within a large one
            start, data = parts[at]
            if start <= address + len(found) < start + len(data):
                here = address + len(found) - start
                found += data[here : here + size - len(found)]
                at = bisect_right(parts, address + len(found), key=lambda part: part[0])
            at -= 1
        if len(found) != size:
            raise ValueError("not in the snapshot")
        return found

    def pages(self, start: int, end: int) -> bytes:
        first, last = start // PAGE, -(-end // PAGE)
        found = bytearray(last - first)
        for at, data in self._kinds[PAGES]:
            here = at // PAGE - first
            low, high = max(here, 0), min(here + len(data), len(found))
            if low < high:
                found[low:high] = data[low - here : high - here]
        return bytes(found)
