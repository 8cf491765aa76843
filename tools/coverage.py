"""coverage.py: a table of how much of each room of src the tests reach: tests/unit alone, and all C suites except the
models, with the pytest suites that watch and api need.  Then the lines that refuse memory and have a branch not taken.
The status is 1 where a room is below 95 % of its lines, or where there is such a line.  Whether tests pass is for make
test to say: counters change what some of them look at, as names of modules, open files and times.

Lane scale runs everything, and other builds add sources that lane scale does not have.  If no build has all of a room,
the builds are added up.  A killed process leaves no counts, so the table is a lower bound.  It does not show how good a
test is."""

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# Lines that refuse memory, or pass a refusal on.
REFUSES = re.compile(r"no_memory\(\)|ENOMEM|_NOMEM|ARENA_REFUSED|!= HZ3_MAPPED")
LEAST = 0.95  # of each room's lines
LINES = dict[int, tuple[int, bool]]  # line number: how often it ran, and whether each of its branches was taken


BOXES = ("S44_STATS", "S44_4_STATS", "S67_STATS", "S74_STATS", "S96_OWNER_STASH_PUSH_STATS", "ATOMIC_STATS", "DELAY")
MORE = ("ADOPT_MIN=65536",)
PARTS = ("S112_FULL_DRAIN_EXCHANGE=0", "S44_4_WALK_UNROLL=4", "S44_OWNER_STASH_COUNT=1", "S44_4_SPILL_HELPER=1",
         "S97_REMOTE_STASH_BUCKET=1")
# The lane, its changed flags, and the tests besides tests/unit that it runs.
SOME = r"^(api|stress)\."
BUILDS = [("scale", (), r"."), ("classic", [f"{box}=1" for box in BOXES], SOME), ("classic", PARTS, r"^stress\."),
          ("scale", MORE, SOME), ("secure", ["S44_OWNER_STASH=0"], r"^((api|stress|misuse)\.|bite\.map_count$)")]
FEWER = ("check_programs", "stress", "stress_own_names", "bite_map_count")  # targets, for some of the tests
PYTEST = ["tests/cli/test_guard.py", "tests/cli/test_memcheck.py", "tests/cli/test_statistics.py", "tests/look/test_profile.py"]

HEAD = """# What the tests reach

Made by `make coverage PAGE=docs/results/coverage.md`, not to be edited by hand. For each floor and each room of `src`,
in the builds that have it: its lines of code, and how many of them [tests](../testing.md) reach. Headers named `no_...`
stand in for a room that a build leaves out. Their functions do nothing, and no share is asked of them.
"""


def run(*command, log: Path) -> int:
    with log.open("a") as out:
        return subprocess.run(command, cwd=ROOT, stdout=out, stderr=out).returncode


def make(build: Path, lane: str, changes, targets: tuple[str, ...]) -> None:
    """Makes the build, and sets its counts to zero."""
    build.mkdir(parents=True, exist_ok=True)
    program, library, log = build / "program.o", build / "library.o", build / "make.log"
    wrap = "-Wl,--wrap=abort"
    steps = [
        ["cc", "-c", "-fPIC", "tools/coverage_dump.c", "-o", program],
        ["cc", "-c", "-fPIC", "-DOF_LIBRARY", "tools/coverage_dump.c", "-o", library],
        ["cmake", "-S", ".", "-B", build, f"-DHZ3_LANE={lane}", "-DHZ3_DEFS_EXTRA=" + " ".join(f"-DHZ3_{c}" for c in changes),
         "-DCMAKE_BUILD_TYPE=Debug", "-DHZ3_BENCH=OFF", "-DCMAKE_C_FLAGS=--coverage -fprofile-update=atomic",
         "-DCMAKE_CXX_FLAGS=--coverage", f"-DCMAKE_SHARED_LINKER_FLAGS={library} {wrap}",
         f"-DCMAKE_EXE_LINKER_FLAGS={program} -rdynamic {wrap},--wrap=_exit"],
        ["cmake", "--build", build, f"-j{os.cpu_count()}", "--target", *targets],
    ]
    for step in steps:
        if run(*step, log=log):
            sys.exit(f"coverage: {log.read_text()}")
    for counts in build.rglob("*.gcda"):
        counts.unlink()


def test(build: Path, *words: str) -> None:
    run("ctest", "--test-dir", build, f"-j{2 * (os.cpu_count() or 1)}", *words, log=build / "tests.log")


def reached(build: Path) -> dict[str, LINES]:
    """The lines of each source."""
    counts = build / "coverage.json"
    # Loops that wait make more turns than gcovr would believe.
    subprocess.run([sys.executable, "-m", "gcovr", "--root", ROOT, "--filter", f"{ROOT}/src/", "--json", counts,
                    "--merge-mode-functions", "merge-use-line-max", "--gcov-ignore-errors", "all",
                    "--gcov-suspicious-hits-threshold", "0", "--gcov-ignore-parse-errors", "negative_hits.warn_once_per_file",
                    build / "CMakeFiles", build / "tests/unit/CMakeFiles/hz3_rooms.dir"],
                   check=True, stdout=subprocess.DEVNULL)
    return {file["file"].removeprefix("src/"): {
        line["line_number"]: (line["count"], all(branch["count"] for branch in line["branches"])) for line in file["lines"]}
        for file in json.loads(counts.read_text())["files"]}


def merged(one: dict[str, LINES], other: dict[str, LINES]) -> dict[str, LINES]:
    """The sum of both."""
    both = {file: dict(lines) for file, lines in one.items()}
    for file, lines in other.items():
        mine = both.setdefault(file, {})
        for number, (count, taken) in lines.items():
            before = mine.get(number, (0, False))
            mine[number] = (before[0] + count, before[1] or taken)
    return both


def ran(lines: LINES) -> int:
    return sum(count > 0 for count, _ in lines.values())


def sums(by_unit: dict[str, LINES], by_all: dict[str, LINES]) -> dict[str, list[int]]:
    """For each floor, and for each room, which is a .c file with its header: its lines, and how many of them
    tests/unit and all tests reach."""
    found: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for file, lines in by_all.items():
        floor, room = file.split("/")[0], file.rsplit(".", 1)[0]
        for key in (floor, room):
            found[key] = [a + b for a, b in zip(found[key], (len(lines), ran(by_unit.get(file, {})), ran(lines)), strict=True)]
    return dict(sorted(found.items()))


def row(key: str, lines: int, unit: int, every: int) -> str:
    floor, _, room = key.partition("/")
    test = ROOT / "tests/unit" / f"{room}.c"
    own = test.exists()
    if own:  # rooms of two floors may have one name: the test is that one's whose header it includes
        of = re.findall(rf'^#include "(\w+)/{room}\.h"', test.read_text(), re.M)
        own = floor in of or not of
    name = f"`{key}`" if "/" in key else f"**{key}**"
    return f"| {name} | {lines} | {100 * unit / lines:.0f} % | {100 * every / lines:.0f} % | {'yes' if own else ''} |"


def below(found: dict[str, list[int]]) -> list[str]:
    """The rooms of which the tests do not reach enough.  Functions of a no_ header do nothing."""
    rooms = [key for key in found if "/" in key and not key.startswith(("variants/no_", "secure/no_"))]
    return [room for room in rooms if found[room][2] < LEAST * found[room][0]]


def refusals(by_all: dict[str, LINES], source_of) -> tuple[int, list[str]]:
    """Returns the number of lines that refuse memory, and those with a branch that was not taken."""
    found, missed = 0, []
    for file, lines in sorted(by_all.items()):
        text = source_of(file).splitlines()
        for number, (count, both) in sorted(lines.items()):
            if REFUSES.search(text[number - 1]):
                found += 1
                if not count or not both:
                    missed.append(f"{file}:{number}: {text[number - 1].strip()}")
    return found, missed


def main() -> int:
    by_unit: dict[str, LINES] = {}
    by_all: dict[str, LINES] = {}
    for number, (lane, changes, tests) in enumerate(BUILDS):
        build = ROOT / "build/coverage" / f"{lane}-{number}"
        make(build, lane, changes, ("counted_programs",) if tests == "." else FEWER)
        test(build, "-R", r"^unit\.")
        by_unit = merged(by_unit, reached(build))
        test(build, "-R", tests, "-E", r"^(unit|model|stress\.sanitized)\.?")
        if tests == ".":
            run(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--lane", lane, "--library", build / "libhz3.so",
                *PYTEST, log=build / "tests.log")
        by_all = merged(by_all, reached(build))
    found = sums(by_unit, by_all)
    refuse, missed = refusals(by_all, lambda file: (ROOT / "src" / file).read_text())
    few = below(found)
    print(HEAD)
    print("| room | lines | by tests/unit | by all | test of its name |\n|---|---|---|---|---|")
    print("\n".join(row(key, *counts) for key, counts in found.items()))
    print(f"\n{refuse} lines refuse memory; of {len(missed)} a branch was not taken{':' if missed else '.'}\n")
    print("".join(f"    {line}\n\n" for line in missed), end="")
    print(f"Rooms below {LEAST:.0%}: {', '.join(few) or 'none'}.")
    return 1 if missed or few else 0


if __name__ == "__main__":
    sys.exit(main())
