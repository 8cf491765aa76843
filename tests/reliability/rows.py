"""Loads that wear allocators down, at full length: every row in every lane has to hold in every trial.  The programs
and what they try are in docs/testing.md.

    rows.py [--long] [--seed N] [--lane LANE]... [--row NAME]...

The seed is printed.  The same seed repeats what each thread does, but not the timing.  Status 1: a row did not hold;
77: none failed, but some were skipped."""

import argparse
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

from lab.closing import SKIP_STATUS, closing, status
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


BUILT = ROOT / "build/scale/tests"
WHOLE = ("scale", "fast", "classic")  # lanes that run all suites
# Lane secure's frees wipe objects, its canaries cost memory, and it has a build of bite_refusing of its own.
NOT_SECURE = tuple(lane for lane in read().lanes if lane != "secure")
OTHERS = ("r90", "memory")
# The mappings that lane secure may have, and by how many more the second half of a soak: it has up to 4,096 guards, each
# of which divides a mapping, and where runs end and begin anew their number follows the load.
GUARDED = ("4224", "64")
# Two at once.  So what takes longest begins first, and the soaks, whose noise is judged, run beside each other only.
ROWS = [
    Row("soak", "soak", ("900", "{seed}"), lanes=("scale",), seconds=1100, long=("3600", "{seed}")),
    Row("soak", "soak", ("900", "{seed}", *GUARDED), lanes=("secure",), seconds=1100, long=("3600", "{seed}", *GUARDED)),
    Row("forks", "forks", ("400", "{seed}", "60"), lanes=("scale",), long=("100000", "{seed}", "600")),
    Row("forks", "forks", ("400", "{seed}", "60"), lanes=("fast", "classic", "secure")),
    Row("forks", "forks", ("400", "{seed}", "20"), lanes=OTHERS),
    Row("fuzz", "fuzz/fuzz.c", ("random", "{seed}", "300"), lanes=WHOLE),
    Row("faults", "faults", lanes=WHOLE),
    Row("faults", "faults", ("3",), lanes=("secure", *OTHERS)),
    Row("faults, small window", "faults", environment={"HZ3_WINDOW": "64M", "HZ3_DECAY": "20"}, lanes=("scale",)),
    Row("refused calls", "api/bite/bite_refused_calls", lanes=(*WHOLE, "secure")),
    Row("failing calls", "api/bite/bite_failing_nth", lanes=(*WHOLE, "secure")),
    Row("rates", "rates", ("{seed}", "4")),
    Row("forks that allocate", "api/bite/bite_fork", lanes=WHOLE),
    Row("forks beside stdio", "api/bite/bite_fork_stdio", (str(BUILT / "api/bite/libbite_plugin_library.so"),)),
    Row("threads", "threads", ("10000", "5000", "{seed}")),
    Row("threads, ended raw", "api/bite/bite_raw_exit"),
    Row("threads, killed", "api/bite/bite_killed"),
    Row("prefork", "prefork", ("write",), {"HZ3_DECAY": "1000s"}, NOT_SECURE),
    Row("prefork, with passes", "prefork", ("passes",), lanes=NOT_SECURE),
    Row("prefork, giving back", "prefork", ("give_back",), lanes=WHOLE),
    Row("limits", "limits", (str(BUILT / "api/bite/bite_address_limit"), "1024")),
    Row("mappings", "api/bite/bite_map_count"),
    Row("refusing", "api/bite/bite_refusing", lanes=NOT_SECURE),
    Row("locked", "api/bite/bite_mlock", (str(BUILT / "api/bite/bite_mlock_probe"),), lanes=NOT_SECURE),
    Row("stress", "stress/stress", ("20", "8", "{seed}"), lanes=WHOLE),
    Row("accounting", "lanes/conserve.c", ("10", "6", "{seed}", "10000")),
]
LEAST_FAULTS = 2000  # attempts of the rows of this name


def program(row: Row, lane: str) -> tuple[Path, dict[str, str]]:
    """Returns the program, and the environment in which it runs on the lane."""
    if row.program == "lanes/conserve.c":
        return variant(lane).program(row.program, "lanes/audit.c"), {}
    if row.program == "fuzz/fuzz.c":
        wrapped = f"@{ROOT}/tests/fuzz/wrapped"
        return variant(lane, DEBUG=1).program(row.program, "fuzz/system.c", "fuzz/replay.c", libraries=(wrapped,)), {}
    built = BUILT / (row.program if "/" in row.program else f"reliability/reliability_{row.program}")
    return built, {"LD_PRELOAD": str(ROOT / f"libhakozuna_hz3_{lane}.so")}


@dataclass(frozen=True)
class Outcome:
    row: Row
    tried: int
    stood: bool | None  # None: skipped


def run(row: Row, lane: str, seed: int) -> Outcome:
    """Runs and prints the row.  Prints what went wrong, and how to repeat it."""
    path, environment = program(row, lane)
    command = [str(path), *(word.format(seed=seed) for word in row.arguments)]
    environment |= row.environment
    begun = time.monotonic()
    try:
        done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True, timeout=row.seconds)
        ended, said = str(done.returncode), done.stdout + done.stderr
    except subprocess.TimeoutExpired as late:
        ended, said = f"none after {row.seconds} s", str(late.stdout) + str(late.stderr)
    figures = dict(re.findall(r"\b(tried|held)=(\d+)", said))
    skipped, measured = (re.findall(rf"^{word}: .*", said, re.M) for word in ("skipped", "measured"))
    # A program that says no figures is one attempt.
    tried, held = int(figures.get("tried", ended != str(SKIP_STATUS))), int(figures.get("held", ended == "0" and not figures))
    stood = None if skipped and ended == str(SKIP_STATUS) else ended == "0" and tried == held > 0
    words = [f"{row.name:<24} {lane:<8} {tried:>10} {held:>10} {time.monotonic() - begun:>6.0f} s", *skipped, *measured]
    if stood is False:
        again = [f"{name}={value}" for name, value in environment.items()] + command
        words.append(f"\nstatus {ended}\n{said}again: {' '.join(again)}")
    print(*words, flush=True)
    return Outcome(row, tried, stood)


def main() -> int:
    lanes = read().lanes
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    parser.add_argument("--lane", action="append", choices=lanes)
    parser.add_argument("--row", action="append", choices=list(dict.fromkeys(row.name for row in ROWS)))
    parser.add_argument("--long", action="store_true")
    wanted = parser.parse_args()
    print(f"seed {wanted.seed}\n{'row':<24} {'lane':<8} {'tried':>10} {'held':>10} {'took':>8}", flush=True)
    begun = time.monotonic()
    rows = [replace(row, arguments=row.long, seconds=11000) for row in ROWS if row.long] if wanted.long else ROWS
    with ThreadPoolExecutor(2) as pool:
        every = list(pool.map(lambda one: run(*one, seed=wanted.seed), [
            (row, lane) for row in rows if row.name in (wanted.row or [row.name])
            for lane in row.lanes if lane in (wanted.lane or lanes)
        ]))  # fmt: skip
    stood = [one.stood for one in every]
    faults = sum(one.tried for one in every if one.row.name.startswith("faults"))
    few = faults < LEAST_FAULTS and not (wanted.long or wanted.lane or wanted.row)
    if faults:
        print(f"{faults} attempts with refused calls{f', of {LEAST_FAULTS} wanted' if few else ''}")
    passed, failed, skipped = (stood.count(word) for word in (True, False, None))
    print(f"{closing(passed, failed, skipped)}, in {time.monotonic() - begun:.0f} s")
    return status(failed + few, skipped)


if __name__ == "__main__":
    sys.exit(main())
