"""The cost of a heap profile at the usual rate in Redis: the server's CPU time and instructions.

    PYTHONPATH=. .venv/bin/python bench/profile_cost.py [--blocks 12] [--requests 300000] [--rate 512K]

A block runs the server without a profile, with one, and without one again, in random order, under the same load.  The
third run shows the noise.  Instructions in user mode are counted by valgrind, once each: those of hz3 and the unwinder,
since Redis's own differ by 1 % between runs, by how its requests arrive."""

import argparse
import os
import random
import re
import shutil
import socket
import statistics
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from lab import ROOT, measure
from lab.interval import median_interval
from lab.judge import percent
from lab.plan import Arm, Cell

LIBRARY = ROOT / "libhakozuna_hz3_scale.so"
LOAD = ["-P", "16", "-d", "300", "-r", "50000", "-t", "set,get,lpush,lpop,sadd,hset"]
KINDS = 6  # of requests
LEAST_BLOCKS = 7  # with fewer, no interval is one of 95 %
OURS = ("libhakozuna_hz3_scale.so", "libgcc_s.so.1")


def listens(at: str) -> bool:
    with socket.socket(socket.AF_UNIX) as tried:
        return not tried.connect_ex(at)


def serve(requests: int, rate: str, *wrapper: str) -> tuple[float, str]:
    """The server's CPU seconds, and the output of it or its wrapper."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as at_last:
        folder = Path(name)
        at = str(folder / "socket")
        options = {"HZ3_PROFILE": rate, "HZ3_PROFILE_FILE": str(folder / "profile")} if rate else {}
        argv = [*wrapper, "redis-server", "--port", "0", "--unixsocket", at, "--dir", name, "--save", ""]
        said = (folder / "said").open("w+")
        env = measure.environment(Arm(), Cell([], env=options), [LIBRARY])
        server = subprocess.Popen(argv, env=env, stdout=said, stderr=subprocess.STDOUT, start_new_session=True)
        at_last.callback(measure.end_session, server)
        while not listens(at):
            if server.poll() is not None:
                raise SystemExit(f"redis-server did not start: {(folder / 'said').read_text()}")
            time.sleep(0.01)
        is_served = str(LIBRARY) in Path(f"/proc/{server.pid}/maps").read_text()
        load = ["redis-benchmark", "-s", at, "-q", "-n", str(requests // KINDS), *LOAD]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
        server.terminate()
        _, status, usage = os.wait4(server.pid, 0)
        server.returncode = status
        if status or not is_served or (folder / "profile").exists() != bool(rate):
            raise SystemExit(f"{LIBRARY.name} did not do what it should: {(folder / 'said').read_text()}")
        return usage.ru_utime + usage.ru_stime, (folder / "said").read_text()


def counted(requests: int, rate: str) -> Counter[str]:
    """Instructions by the library or program that they are in."""
    with tempfile.TemporaryDirectory() as name:
        file = Path(name) / "counted"
        said = serve(requests, rate, "valgrind", "--tool=callgrind", f"--callgrind-out-file={file}")[1]
        if not file.exists():
            raise SystemExit(f"valgrind counted nothing:\n{said}")
        return by_object(file.read_text().splitlines())


def by_object(lines: list[str]) -> Counter[str]:
    """lines: a file of callgrind, in which the line after calls= has what the function that was called took."""
    names: dict[str, str] = {}
    found = Counter[str]()
    at, called = "", False
    for line in lines:
        if named := re.match(r"(c?)ob=(\(\d+\))(?: (?:.*/)?(.*))?$", line):
            names.setdefault(named[2], named[3] or named[2])
            at = at if named[1] else names[named[2]]
        elif re.match(r"[\d+*-]", line):
            found[at] += 0 if called else int(line.split()[1])
        called = line.startswith("calls=")
    return found


def at_least(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text} is not a number from {least}")
        return int(text)

    return number


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--blocks", type=at_least(LEAST_BLOCKS), default=12)
    parser.add_argument("--requests", type=at_least(10 * KINDS), default=300000)
    parser.add_argument("--rate", default="512K")
    words = parser.parse_args()
    if missing := [name for name in ("redis-server", "redis-benchmark", "valgrind") if not shutil.which(name)]:
        parser.error(f"not installed: {', '.join(missing)}")
    if not LIBRARY.is_file():
        parser.error(f"there is no {LIBRARY.name}: make all_ldpreload_scale")

    arms = {"without": "", "profile": words.rate, "again": ""}
    seconds: dict[str, list[float]] = {arm: [] for arm in arms}
    for _ in range(words.blocks):
        for arm in random.sample(list(arms), len(arms)):
            seconds[arm].append(serve(words.requests, arms[arm])[0])
    print(
        f"{words.requests} requests, {words.blocks} blocks, {statistics.median(seconds['without']):.2f} s of CPU time"
    )
    for arm in ("profile", "again"):
        changes = np.log(np.array(seconds[arm]) / np.array(seconds["without"]))
        low, *_, high = map(percent, median_interval(changes))
        middle = percent(float(np.median(changes)))
        print(f"{arm:>8}: {middle:+.1f} %, 95 % interval {low:+.1f} to {high:+.1f} %")

    # The difference between two loads leaves out what is done once, such as the start and writing the profile.
    few = {arm: counted(words.requests // 10, rate) for arm, rate in arms.items()}
    many = {arm: counted(words.requests // 2, rate) for arm, rate in arms.items()}
    per = words.requests // 2 - words.requests // 10
    print(f"{(many['without'].total() - few['without'].total()) / per:.0f} instructions for a request")
    for arm in arms:
        ours = sum(many[arm][name] - few[arm][name] for name in OURS) / per
        print(f"{arm:>8}: {ours:.0f} of hz3 and the unwinder")


if __name__ == "__main__":
    main()
