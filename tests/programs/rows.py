"""Real programs under stress, on hz3 and on glibc.  Each has to run on hz3, to give the same answer as on glibc, and to
hold at most 1.1 times as much memory, or as its row says.

    rows.py [--lane LANE] [--row NAME]... [--page FILE]

prints a row for each program, and writes them to FILE as a page.  If hz3 holds more, both are run twice more, and the
medians count.  Status 1: a program failed; 77: none failed, but some were skipped."""

import argparse
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import commands
import servers

from lab import ROOT, Json, LabError, machine
from lab.closing import closing, status
from lab.plan import Arm, Cell, library_arm
from lab.programs import PREFIX, Taker, taker
from lab.registry import read
from lab.stage import PATH, Stage

MOST = 1.1  # times glibc's memory


@dataclass(frozen=True)
class Row:
    program: Callable[[Stage], Json]
    work: int
    needs: dict[str, str]  # the Debian package of each command
    most: float = MOST
    why: str = ""  # of another limit


WAVES = (
    "it has one thread, makes waves and then rests, so the last wave stays "
    "([0053](../decisions/0053-one-thread-stays-one.md))"
)
ROWS = {
    "redis": Row(servers.redis, 40000, {"redis-server": "redis-server"}),
    "memcached": Row(servers.memcached, 200000, {"memcached": "memcached"}),
    "postgresql": Row(servers.postgres, 1000, {"postgres": "postgresql"}),
    "mariadb": Row(servers.mariadb, 2000, {"mariadbd": "mariadb-server", "sysbench": "sysbench"}),
    "nginx": Row(servers.nginx, 40000, {"nginx": "nginx-light"}),
    "apache": Row(servers.apache, 36, {"apache2": "apache2", "php": "libapache2-mod-php"}),
    "rocksdb": Row(commands.rocksdb, 150000, {"db_bench": "rocksdb-tools"}),
    "sqlite": Row(commands.sqlite, 500000, {"sqlite3": "sqlite3"}),
    "python": Row(commands.python, 0, {"/usr/bin/python3": "libpython3-testsuite"}),
    "node": Row(commands.script("workers.js", "node"), 4, {"node": "nodejs"}),
    "ruby": Row(commands.script("stress.rb", "ruby"), 150, {"ruby": "ruby"}),
    "php": Row(commands.script("work.php", "env", "USE_ZEND_ALLOC=0", "php"), 20, {"php": "php-cli"}),
    "perl": Row(commands.script("threads.pl", "perl"), 15, {"perl": "perl"}),
    "java": Row(commands.java, 20, {"javac": "default-jdk-headless"}),
    "go": Row(commands.go, 200000, {"go": "golang-go"}),
    "clang": Row(commands.clang, 0, {"clang-19": "clang-19", "cmake": "cmake"}),
    "git": Row(commands.git, 4000, {"git": "git"}),
    "ffmpeg": Row(commands.ffmpeg, 4, {"ffmpeg": "ffmpeg"}),
    "imagemagick": Row(commands.imagemagick, 1200, {"convert": "imagemagick"}),
    "ghostscript": Row(commands.ghostscript, 60, {"gs": "ghostscript"}),
    "stress-ng": Row(commands.stress_ng, 300000, {"stress-ng": "stress-ng"}),
    "erlang": Row(commands.script("work.erl", "env", "ERL_FLAGS=+Mea min", "escript"), 8, {"escript": "erlang-base"}),
    "luajit": Row(commands.script("blocks.lua", "luajit"), 1000000, {"luajit": "luajit"}, 1.3, WAVES),
}
HEAD = ["program", "tried", "held", "processes", "memory", "glibc MiB", "hz3 MiB", "ratio", "took"]


def memory(runs: list[Json]) -> float:
    """The median in MiB: after the load for programs that stay, otherwise at the peak."""
    return statistics.median(run.get("after_kib", run.get("peak_kib", 0)) for run in runs) / 1024


class Trial:
    """Runs a program on both allocators, as often as asked."""

    def __init__(self, name: str, arms: dict[str, Arm], take: Taker):
        self.cell, self.arms, self.take = Cell([PREFIX + name, str(ROWS[name].work)], PREFIX + name), arms, take
        self.runs: dict[str, list[Json]] = {arm: [] for arm in arms}
        self.tried, self.wrong = 0, ""

    def run(self, rounds: int) -> None:
        try:
            for _ in range(rounds):
                self.tried += 1
                for name, arm in self.arms.items():
                    self.runs[name].append(self.take(name, arm, self.cell))
                answers = {name: runs[-1]["answer"] for name, runs in self.runs.items()}
                if not answers["glibc"] or answers["glibc"] != answers["hz3"]:
                    raise LabError(f"answers: {answers}")
        except LabError as error:
            self.wrong = str(error)

    @property
    def ratio(self) -> float:
        return memory(self.runs["hz3"]) / memory(self.runs["glibc"])


def missing(row: Row) -> list[str]:
    return [package for command, package in row.needs.items() if not shutil.which(command, path=PATH)]


def cells(name: str, arms: dict[str, Arm], take: Taker) -> tuple[list[str], str]:
    """Returns the row, and why it fails."""
    if packages := missing(ROWS[name]):
        return [name, "0", "0"], f"skipped: not installed: {', '.join(packages)}"
    begun, trial = time.monotonic(), Trial(name, arms, take)
    trial.run(1)
    if not trial.wrong and trial.ratio > ROWS[name].most:
        trial.run(2)
    took = f"{time.monotonic() - begun:.0f} s"
    if trial.wrong:
        return [name, str(trial.tried), str(trial.tried - 1), "", "", "", "", "", took], trial.wrong
    last = trial.runs["hz3"][-1]
    what = "after load" if "after_kib" in last else "peak"
    sizes = [f"{memory(trial.runs[arm]):.1f}" for arm in ("glibc", "hz3")]
    figures = [str(trial.tried), str(trial.tried), f"{last['processes']:.0f}", what, *sizes, f"{trial.ratio:.2f}", took]
    return [name, *figures], "" if trial.ratio <= ROWS[name].most else f"memory: {trial.ratio:.2f} times glibc's"


def page(lane: str, rows: list[tuple[list[str], str]]) -> str:
    held = [row for row, wrong in rows if not wrong]
    lines = [
        "# Programs under stress", "",
        "Made by `make test-programs PAGE=...`, not to be edited by hand. [testing.md](../testing.md) says what is tried.", "",
        f"{len(held)} of {len(rows)} programs ran on lane {lane}, gave the answer that they give on glibc, and held at most",
        f"{MOST} times glibc's memory, or as is said below: 3 s after the load where they stay, at their peak where they end.",
        "Memory is the RSS of the largest process of a program, not the sum of all. *Processes* is how many of them said from",
        "inside that hz3 served.",
        "Where the ratio was higher at first, the medians of three runs count.",
        f"The machine: {machine.name(machine.describe())}.", "",
        "| " + " | ".join(HEAD[:-1]) + " |", "|" + " --- |" * len(HEAD[:-1]),
    ]  # fmt: skip
    lines += ["| " + " | ".join(row[:-1]) + " |" for row, _ in rows]
    limits = [(row[0], ROWS[row[0]]) for row, _ in rows if ROWS[row[0]].why]
    lines += ["", *(f"- {name}: {row.most} times, since {row.why}" for name, row in limits)]
    lines += [f"- {row[0]}: {wrong}" for row, wrong in rows if wrong]
    return "\n".join(lines).rstrip() + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lane", default="scale", choices=read().lanes)
    parser.add_argument("--row", action="append", choices=ROWS)
    parser.add_argument("--page", type=Path)
    wanted = parser.parse_args()
    arms = {"glibc": Arm(), "hz3": library_arm(ROOT / f"libhakozuna_hz3_{wanted.lane}.so", ROOT)}
    form = "{:<12} {:>5} {:>5} {:>9} {:<10} {:>9} {:>8} {:>5} {:>6}"
    print(form.format(*HEAD), flush=True)
    rows = []
    with taker({name: row.program for name, row in ROWS.items()}) as take:
        for name in wanted.row or ROWS:
            row, wrong = cells(name, arms, take)
            row += [""] * (len(HEAD) - len(row))
            rows.append((row, wrong))
            print(form.format(*row).rstrip(), *([wrong] if wrong else []), flush=True)
    skipped = sum(row[1] == "0" for row, _ in rows)
    failed = sum(bool(wrong) for _, wrong in rows) - skipped
    print(closing(len(rows) - skipped - failed, failed, skipped))
    if wanted.page:
        wanted.page.write_text(page(wanted.lane, rows))
    return status(failed, skipped)


if __name__ == "__main__":
    sys.exit(main())
