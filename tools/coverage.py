"""coverage.py BUILD: what the C suites reach of each room of src, as a table: all of them, and those of tests/unit alone.

BUILD is a build with --coverage whose tests are built.  A process that is killed, as those of tests/misuse are, leaves no
counts, nor does one that ends by _exit.  So this says what is surely reached, and is no judge of a test's worth."""

import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(*command):
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def reached(build: Path, *tests: str) -> dict[str, tuple[int, int]]:
    """Lines with code and lines reached, by source, after these tests as well."""
    done = subprocess.run(["ctest", "--test-dir", build, "-j4", *tests], capture_output=True, text=True)
    if done.returncode:  # some count what the counting itself allocates; whether they pass is make test's to say
        print(f"coverage: without {done.stdout.count('***Failed')} tests, which fail when counted", file=sys.stderr)
    summary = build / "coverage.json"
    run(sys.executable, "-m", "gcovr", "--root", ROOT, "--filter", f"{ROOT}/src/", "--json-summary", summary,
        "--merge-mode-functions", "merge-use-line-max", "--gcov-ignore-errors", "all", build)
    return {file["filename"].removeprefix("src/"): (file["line_total"], file["line_covered"])
            for file in json.loads(summary.read_text())["files"]}


def rows(by_unit: dict, by_all: dict) -> list[str]:
    """A row for each floor, and for each room, which is a .c file with its header."""
    sums = defaultdict(lambda: [0, 0, 0])
    for file, (lines, covered) in by_all.items():
        floor, room = file.split("/")[0], file.rsplit(".", 1)[0]
        for key in (floor, room):
            sums[key] = [a + b for a, b in zip(sums[key], (lines, by_unit.get(file, (0, 0))[1], covered))]

    def row(key):
        lines, unit, every = sums[key]
        own = (ROOT / "tests/unit" / f"{key.split('/')[-1]}.c").exists() and "/" in key
        name = f"`{key}`" if "/" in key else f"**{key}**"
        return f"| {name} | {lines} | {100 * unit / lines:.0f} % | {100 * every / lines:.0f} % | {'yes' if own else ''} |"

    return [row(key) for key in sorted(sums)]


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    for counts in build.rglob("*.gcda"):
        counts.unlink()
    by_unit = reached(build, "-R", r"^unit\.")
    by_all = reached(build, "-E", r"^(unit|model|stress\.sanitized)\.?")
    print("| room | lines | by tests/unit | by all C suites | test of its name |\n|---|---|---|---|---|")
    print("\n".join(rows(by_unit, by_all)))


if __name__ == "__main__":
    main()
