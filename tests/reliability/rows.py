"""Loads that wear allocators down, at full length: every row in every lane has to hold in every trial.  The programs
and what they try are in docs/testing.md.

    rows.py [--long] [--seed N] [--lane LANE]... [--row NAME]...

The seed is printed.  The same seed repeats what each thread does, but not the timing."""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from lab.registry import read

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests"))
from variants import variant  # noqa: E402


@dataclass(frozen=True)
class Row:
    name: str
    program: str  # in tests/reliability, or with its folder below tests; .c: a file that is linked with the lane
    arguments: tuple[str, ...] = ()  # {seed} stands for the seed
    environment: dict[str, str] = field(default_factory=dict)
    lanes: tuple[str, ...] = tuple(read().lanes)
    seconds: float = 600  # the time limit
    long: tuple[str, ...] = ()  # the arguments for --long, which runs only rows that have such
    side_by_side: bool = False  # two lanes at once: one alone keeps about one processor busy, or its time is set


OTHERS = tuple(lane for lane in read().lanes if lane != "scale")
WHOLE = ("scale", "fast", "classic")  # lanes that run all suites
NOT_WIPING = tuple(lane for lane in read().lanes if lane != "secure")  # lanes in which free writes to no object
# The mappings that lane secure may have, and by how many more the second half of a soak: it has up to 4,096 guards, each
# of which divides a mapping, and where runs end and begin anew their number follows the load.
GUARDED = ("4224", "64")
ROWS = [
    Row("faults", "faults", lanes=WHOLE, side_by_side=True),
    Row("faults", "faults", ("3",), lanes=("r50", "r90", "memory", "secure"), side_by_side=True),
    Row("faults, small window", "faults", environment={"HZ3_WINDOW": "64M", "HZ3_DECAY": "20"}, lanes=("scale",)),
    Row("refused calls", "api/bite/bite_refused_calls", lanes=(*WHOLE, "secure"), side_by_side=True),
    Row("failing calls", "api/bite/bite_failing_nth", lanes=(*WHOLE, "secure"), side_by_side=True),
    Row("rates", "rates", ("{seed}", "4"), side_by_side=True),
    Row("forks", "forks", ("400", "{seed}", "60"), lanes=("scale",), long=("100000", "{seed}", "600")),
    Row("forks", "forks", ("400", "{seed}", "10"), lanes=OTHERS),
    Row("forks that allocate", "api/bite/bite_fork", lanes=WHOLE),
    Row("threads", "threads", ("10000", "5000", "{seed}")),
    Row("prefork", "prefork", ("write",), {"HZ3_DECAY": "1000s"}, NOT_WIPING),
    Row("prefork, giving back", "prefork", ("give_back",), lanes=WHOLE),
    Row("limits", "limits", (str(ROOT / "build/scale/tests/api/bite/bite_address_limit"), "1024"), side_by_side=True),
    Row("stress", "stress/stress", ("20", "8", "{seed}"), lanes=WHOLE),
    Row("soak", "soak", ("900", "{seed}"), lanes=("scale",), seconds=1100, long=("3600", "{seed}")),
    Row("soak", "soak", ("900", "{seed}", *GUARDED), lanes=("secure",), seconds=1100, long=("3600", "{seed}", *GUARDED)),
    Row("accounting", "lanes/conserve.c", ("10", "6", "{seed}", "10000"), side_by_side=True),
    Row("fuzz", "fuzz/fuzz.c", ("random", "{seed}", "300"), lanes=WHOLE, side_by_side=True),
]


def program(row: Row, lane: str) -> tuple[Path, dict[str, str]]:
    """Returns the program, and the environment in which it runs on the lane."""
    if row.program == "lanes/conserve.c":
        return variant(lane).program(row.program, "lanes/audit.c"), {}
    if row.program == "fuzz/fuzz.c":
        wrapped = f"@{ROOT}/tests/fuzz/wrapped"
        return variant(lane, DEBUG=1).program(row.program, "fuzz/system.c", "fuzz/replay.c", libraries=(wrapped,)), {}
    built = ROOT / "build/scale/tests" / (row.program if "/" in row.program else f"reliability/reliability_{row.program}")
    return built, {"LD_PRELOAD": str(ROOT / f"libhakozuna_hz3_{lane}.so")}


def run(row: Row, lane: str, seed: int) -> bool | None:
    """Runs and prints the row.  Prints what went wrong, and how to repeat it.  Returns None if it was skipped."""
    path, environment = program(row, lane)
    command = [str(path), *(word.format(seed=seed) for word in row.arguments)]
    environment |= row.environment
    begun = time.monotonic()
    try:
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=row.seconds)
        status, said = str(done.returncode), done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        status, said = f"none after {row.seconds} s", str(late.stdout) + str(late.stderr)
    figures = dict(re.findall(r"\b(tried|held)=(\d+)", said))
    skipped = re.findall(r"^skipped: .*", said, re.M)
    tried, held = int(figures.get("tried", status != "77")), int(figures.get("held", 0))
    stood = None if skipped and status == "77" else status == "0" and tried == held > 0
    print(f"{row.name:<24} {lane:<8} {tried:>9} {held:>9} {time.monotonic() - begun:>6.0f} s", *skipped, flush=True)
    if stood is False:
        words = [f"{name}={value}" for name, value in environment.items()] + command
        print(f"status {status}\n{said}again: {' '.join(words)}", flush=True)
    return stood


def main() -> int:
    lanes = read().lanes
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--lane", action="append", choices=lanes)
    parser.add_argument("--row", action="append", choices=list(dict.fromkeys(row.name for row in ROWS)))
    parser.add_argument("--long", action="store_true")
    wanted = parser.parse_args()
    print(f"seed {wanted.seed}\n{'row':<24} {'lane':<8} {'tried':>9} {'held':>9} {'took':>8}", flush=True)
    begun, stood = time.monotonic(), list[bool | None]()
    rows = [replace(row, arguments=row.long, seconds=11000) for row in ROWS if row.long] if wanted.long else ROWS
    for row in rows:
        if row.name not in (wanted.row or [row.name]):
            continue
        with ThreadPoolExecutor(2 if row.side_by_side else 1) as pool:
            stood += pool.map(partial(run, row, seed=wanted.seed), [lane for lane in row.lanes if lane in (wanted.lane or lanes)])
    print(f"{stood.count(True)} of {len(stood)} rows held, {stood.count(None)} were skipped, in {time.monotonic() - begun:.0f} s")
    return 1 if False in stood else 0


if __name__ == "__main__":
    sys.exit(main())
