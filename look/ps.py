"""hz3 ps: the processes on hz3, a line each, the largest first."""

import os
from collections.abc import Callable, Iterator
from contextlib import suppress

from look import LookError, shown
from look.explain import Sum
from look.process import PAGE
from look.stats import human

WIDTHS = {"PID": 8, "RSS": 11, "live": 11, "free": 11}
PROGRAM = 16  # the kernel keeps 15 bytes of a name


def _row(*cells: str) -> str:
    *numbers, program, advice = cells
    fitted = "".join(f"{cell:>{width}}" for cell, width in zip(numbers, WIDTHS.values(), strict=True))
    return f"{fitted}  {program:<{PROGRAM}} {advice}".rstrip()


def _largest_first(pids: list[int]) -> list[tuple[int, int, str]]:
    """RSS, number and name of those that have not ended."""
    found = []
    for pid in pids:
        with suppress(OSError), open(f"/proc/{pid}/statm") as file, open(f"/proc/{pid}/comm", "rb") as comm:
            name = comm.read().decode("utf-8", "backslashreplace").rstrip("\n")
            found.append((int(file.read().split()[1]) * PAGE, pid, shown(name)))
    return sorted(found, reverse=True)


def lines(pids: list[int], read: Callable[[int], Sum]) -> Iterator[str]:
    """Yields each line as soon as it is known.  That of a process which cannot be read says why."""
    if not (found := _largest_first(pids)):
        raise LookError("no process on hz3 is this user's to read")
    yield _row(*WIDTHS, "program", "advice")
    for rss, pid, name in found:
        try:
            of = read(pid)
        except LookError as error:
            if not os.path.exists(f"/proc/{pid}"):
                continue
            yield _row(str(pid), human(rss), "-", "-", name, str(error))
        else:
            said = of.advice[0][1] if of.advice else ""
            yield _row(str(pid), human(of.rss), human(of.live()), human(of.free()), name, said)
