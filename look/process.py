"""Reads a process's memory and mappings, as the kernel shows them to the process's user and to root.

By hand, since psutil reads neither memory nor pagemap, and opens each file by the number that another process may have by
then."""

import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from typing import NamedTuple

from look import LookError, shown

PAGE = os.sysconf("SC_PAGESIZE")
PATIENCE = 60  # seconds for one process, as its data may be circular
MOST = 1 << 30  # the most bytes or pages read at once; larger requests come from wrong data
PAGES_AT_ONCE = 1 << 20
YAMA = "/proc/sys/kernel/yama/ptrace_scope"
KERNEL_THREAD = 0x200000  # PF_KTHREAD, of the flags in stat
TICKS = os.sysconf("SC_CLK_TCK")
HIGHEST = 7 if sys.byteorder == "little" else 0
_PRESENT = bytes(1 if byte & 0x80 else 0 for byte in range(256))  # pagemap's bit 63, by the entry's highest byte
_HEAD = re.compile(r"([0-9a-f]+)-([0-9a-f]+) (\S+) ([0-9a-f]+) ([0-9a-f]{1,8}):([0-9a-f]{1,8}) (\d+) *(.*)")


class Mapping(NamedTuple):
    start: int
    end: int
    rights: str
    offset: int
    name: str
    kib: dict[str, int]  # of smaps
    device: int
    inode: int

    def bytes_of(self, key: str) -> int:
        return self.kib.get(key, 0) << 10


def mapping_in(line: str) -> Mapping | None:
    """The mapping that a line of maps describes; None if it describes none."""
    if not (head := _HEAD.fullmatch(line)):
        return None
    start, end, offset, major, minor = (int(head[i], 16) for i in (1, 2, 4, 5, 6))
    return Mapping(start, end, head[3], offset, head[8], {}, os.makedev(major, minor), int(head[7]))


def numbers() -> list[int]:
    """Of all processes that can be seen."""
    try:
        found = [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError as error:
        raise LookError(f"/proc cannot be read: {error.strerror}") from None
    if not found:  # not even this one
        raise LookError("/proc cannot be read: it is not mounted")
    return found


def descendants(pid: int) -> list[int]:
    """The process and its children, theirs too, each after its parent."""
    parents: dict[int, list[int]] = {}
    for child in numbers():
        with suppress(OSError, ValueError, IndexError), open(f"/proc/{child}/stat", "rb") as file:
            parents.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(child)
    found = [pid]
    for parent in found:  # which grows
        found += sorted(parents.get(parent, []))
    return found


class Process:
    """It is opened once, so a later process with the same number is never mistaken for it."""

    def __init__(self, pid: int):
        self.pid = pid
        try:
            self._folder = os.open(f"/proc/{pid}", os.O_RDONLY | os.O_DIRECTORY)
        except (FileNotFoundError, ProcessLookupError):
            numbers()  # says so if there is no /proc
            raise LookError(f"there is no process {pid}") from None
        except PermissionError:  # /proc is mounted with hidepid
            raise LookError(f"process {pid} is not this user's to read; ask as its user, or as root") from None
        self._ends = time.monotonic() + PATIENCE
        try:
            with self._reading():
                self.name = shown(self.text("comm").rstrip("\n"))
                self._memory = self._open("mem")
        except BaseException:
            os.close(self._folder)
            raise

    @contextmanager
    def _reading(self) -> Iterator[None]:
        try:
            yield
        except PermissionError:
            raise self._refused() from None
        except (ProcessLookupError, FileNotFoundError, EOFError) as error:
            raise self._gone(getattr(error, "filename", None)) from None

    def _refused(self) -> LookError:
        """Yama refuses a user his own processes."""
        scope = ""
        with suppress(OSError), open(YAMA, encoding="ascii") as file:
            scope = file.read().strip()
        if scope in ("", "0") or os.fstat(self._folder).st_uid != os.geteuid():
            return LookError(f"process {self.pid} is not this user's to read; ask as its user, or as root")
        remedy = "nobody may until the next boot" if scope == "3" else "ask as root, or set it to 0 by sysctl"
        return LookError(f"process {self.pid} may not be read: kernel.yama.ptrace_scope is {scope}; {remedy}")

    def _stat(self) -> list[bytes]:
        """The fields after the name."""
        return self.contents("stat").rpartition(b")")[2].split()

    def _gone(self, name: str | None = None) -> LookError:
        """name: of the file that was not found there."""
        with suppress(OSError, ValueError, IndexError), open(self._open("stat"), "rb") as file:
            if int(file.read().rpartition(b")")[2].split()[6]) & KERNEL_THREAD:
                return LookError(f"process {self.pid} is a thread of the kernel, which has no memory of its own")
            if name and name.partition("/")[0] not in os.listdir(self._folder):
                return LookError(f"this kernel has no /proc/{self.pid}/{name}")
        return LookError(f"process {self.pid} ended before it was read")

    def _open(self, name: str) -> int:
        return os.open(name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=self._folder)

    def close(self) -> None:
        for fd in (self._memory, self._folder):
            os.close(fd)

    def __enter__(self) -> "Process":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def contents(self, name: str) -> bytes:
        with self._reading(), open(self._open(name), "rb") as file:
            return file.read()

    def text(self, name: str) -> str:
        return self.contents(name).decode("utf-8", "backslashreplace")

    def link(self, name: str) -> str:
        with self._reading():
            return os.readlink(name, dir_fd=self._folder)

    def read(self, address: int, size: int) -> bytes:
        """Reads exactly so many bytes.  Raises ValueError if they are not all mapped."""
        if time.monotonic() > self._ends:
            raise LookError(f"process {self.pid} takes longer than {PATIENCE} s to read")
        if not 0 <= size <= MOST or not 0 <= address < 1 << 63:
            raise ValueError("no such memory")
        parts = []
        with self._reading():
            while size:
                try:
                    part = os.pread(self._memory, size, address)
                except OSError as error:
                    if isinstance(error, PermissionError | ProcessLookupError):
                        raise
                    raise ValueError("not mapped") from None
                if not part:
                    raise EOFError  # the whole address space is gone
                parts.append(part)
                address += len(part)
                size -= len(part)
        return b"".join(parts)

    def write(self, address: int, data: bytes) -> None:
        with self._reading():
            memory = os.open("mem", os.O_WRONLY | os.O_CLOEXEC, dir_fd=self._folder)
            try:
                os.pwrite(memory, data, address)
            except OSError:
                raise ValueError("not mapped") from None
            finally:
                os.close(memory)

    def string(self, address: int, most: int) -> bytes:
        """Reads a string, without its NUL, and at most `most` bytes of it."""
        text = b""
        while b"\0" not in text and len(text) < most:
            at = address + len(text)
            text += self.read(at, min(64, PAGE - at % PAGE))  # the next page may be unmapped
        return text.split(b"\0", 1)[0][:most]

    def _mappings(self, name: str) -> list[Mapping]:
        found: list[Mapping] = []
        for line in self.text(name).split("\n"):
            if head := mapping_in(line):
                found.append(head)
            elif line.endswith(" kB"):
                key, number, _ = line.split()
                found[-1].kib[key[:-1]] = int(number)
        if not found:
            raise self._gone()
        return found

    @cached_property
    def maps(self) -> list[Mapping]:
        return self._mappings("maps")

    def smaps(self) -> list[Mapping]:
        """The mappings with their resident bytes.  It takes longer, as the kernel looks at each page."""
        return self._mappings("smaps")

    def resident(self) -> int:
        """RSS, as the kernel counts it."""
        return int(self.text("statm").split()[1]) * PAGE

    def proportional(self) -> int:
        """PSS: a page that n processes share counts as a page / n."""
        return sum(int(kib) << 10 for kib in re.findall(r"^Pss: +(\d+) kB$", self.text("smaps_rollup"), re.M))

    def now_ms(self) -> int:
        """The time by the clock that hz3 uses."""
        return int(time.clock_gettime(time.CLOCK_MONOTONIC) * 1000)

    def cpu_seconds(self) -> float:
        """The user and system time of all its threads so far."""
        return sum(map(int, self._stat()[11:13])) / TICKS

    def pages(self, start: int, end: int) -> bytes:
        """A byte for each page of [start, end): 1 if it is present, else 0."""
        first, last = start // PAGE, -(-end // PAGE)
        if not 0 <= last - first <= MOST:
            raise ValueError("no such pages")
        parts = []
        with self._reading():
            pagemap = self._open("pagemap")
            try:
                while first < last:
                    entries = os.pread(pagemap, min(last - first, PAGES_AT_ONCE) * 8, first * 8)
                    if not entries:
                        raise EOFError
                    parts.append(entries[HIGHEST::8].translate(_PRESENT))
                    first += len(entries) // 8
            finally:
                os.close(pagemap)
        return b"".join(parts)
