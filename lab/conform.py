"""hz3 conform: runs tests of tests/ that do not need hz3 on any allocator, and makes a page of the results."""

import json
import os
import re
import resource
import signal
import subprocess
import tempfile
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from lab import ROOT, Json, LabError, build, measure, peers, text_of
from lab.bound import Bound, number
from lab.closing import SKIP_STATUS, closing
from lab.page import markdown
from lab.plan import Arm, Cell, library_arm
from lab.registry import read

TABLE, KIT, RESULT = ROOT / "tests/conform.toml", ROOT / "build/conform", ROOT / "results/conformance.json"
STANDARDS, GLIBC, OWN = ("C", "C++", "POSIX"), ("glibc",), ("hz3",)  # who makes the promise: sections of TABLE
LEFT_OUT = "left_out"  # the section of tests that are not run
INVISIBLE = "invisible"  # the section of rows with a figure, and what their names begin with
HELD, FAILED, SKIPPED, VOID = "held", "not held", "skipped", "void"
VOID_STATUS = 76  # of tests/served.c, where malloc is another allocator's
NOT_SO = " not so: "  # in what tests/support.c says where a check failed: no misuse came about then
MISUSE = "misuse."  # rows whose names begin so hold if the program is ended
RELIABILITY = "reliability."  # rows whose names begin so say how often they tried, and how often they held
LIBRARY = re.compile(rb"\x7fELF.{12}\x03\0", re.DOTALL)  # e_type is ET_DYN


@dataclass(frozen=True)
class Row:
    name: str
    promise: str
    expected: str
    bound: Bound | None = None  # of the figure that its program says, if it does


@dataclass(frozen=True)
class Outcome:
    row: Row
    word: str
    how: str = ""  # why it failed, or was skipped
    tried: int = 0  # 0 where the program did not say
    held: int = 0
    figure: float | None = None


def sections() -> Json:
    return tomllib.loads(text_of(TABLE))


def row(name: str, promise: str, expected: str | Json) -> Row:
    if isinstance(expected, str):
        return Row(name, promise, expected)
    bound = {key: value for key, value in expected.items() if key != "expected"}
    return Row(name, promise, expected["expected"], Bound(**bound))


def rows(patterns: Sequence[str] = ("*",)) -> list[Row]:
    """The rows whose names match one of the patterns."""
    return [
        row(name, promise, expected)
        for promise, of in sections().items()
        if promise != LEFT_OUT
        for name, expected in of.items()
        if any(fnmatch(name, pattern) for pattern in patterns)
    ]


def chosen(patterns: Sequence[str]) -> list[Row]:
    for pattern in patterns:
        if not rows([pattern]):
            groups = sorted({row.name.partition(".")[0] for row in rows()})
            raise LabError(f"no row matches '{pattern}'; rows are: {', '.join(f'{group}.*' for group in groups)}")
    return rows(patterns or ["*"])


def named(text: str, builder: build.Builder) -> Arm:
    """The arm of a library given by its path, glibc, a lane or a peer.  It is checked that it serves malloc."""
    file = Path(text).resolve()
    if "/" in text or file.exists() or file.suffix == ".so":
        if not file.is_file():
            raise LabError(f"{text}: no such file")
        if not LIBRARY.match(file.read_bytes()[:18]):
            raise LabError(f"{text} is not a shared library")
        arm = library_arm(file, builder.root)
    elif text == "glibc":
        arm = Arm(version=os.confstr("CS_GNU_LIBC_VERSION") or "")
    else:
        try:
            arms, missing = peers.arms(builder, (text,))
        except LabError as error:
            raise LabError(f"{text} is no lane, and among the peers: {error}") from None
        if missing:
            raise LabError(f"{text}: {missing[text]}")
        arm = arms[text]
    try:
        measure.Command(builder.tools())(text, arm, Cell(["true"]))
    except LabError as error:
        raise LabError(f"{text} does not take malloc over: {error}".replace("\n", " ")) from None
    return arm


class Kit:
    """The tests, built as programs that run on any allocator."""

    def __init__(self) -> None:
        self.tests = listed(self.build())
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # many of them should die

    @staticmethod
    def build() -> Path:
        build.execute([str(ROOT / "tools/setup.sh"), "check"], "looking for what the tests need")
        configure = ["cmake", "-S", str(ROOT / "tests"), "-B", str(KIT), "-DHZ3_TEST_STANDIN=ON"]
        build.execute([*configure, "-DCMAKE_BUILD_TYPE=Release"], "configuring the tests")
        build.execute(["cmake", "--build", str(KIT), build.JOBS], "building the tests")
        return KIT

    def run(self, arm: Arm, rows: Sequence[Row]) -> Iterator[Outcome]:
        """Runs several rows at once, since half of their time is waiting, and then those that have to be alone.  A row
        that does not hold is tried again, since other processes may have disturbed it."""
        mine = [row for row in rows if not row.bound or row.bound.concerns(arm)]
        alone = [row for row in mine if row.bound and row.bound.alone]
        with ThreadPoolExecutor(2 * (os.cpu_count() or 1)) as pool:
            yield from pool.map(lambda row: self.judge(arm, row), [row for row in mine if row not in alone])
        yield from (self.judge(arm, row) for row in alone)

    def tried(self, arm: Arm, row: Row) -> tuple[int | None, str]:
        library = [ROOT / arm.file] if arm.file else None
        test, _, case = row.name.partition("/")
        command, seconds = self.tests[test]
        env = {"CMOCKA_MESSAGE_OUTPUT": "TAP", "HZ3_TEST_SERVED": str(library[0]) if library else "libc"}
        cell = Cell(command, env=env | ({"HZ3_TEST_ONLY": case} if case else {}))
        return ended(command, measure.environment(arm, cell, library), seconds)

    def judge(self, arm: Arm, row: Row) -> Outcome:
        if row.bound:
            return self.measured(arm, row, row.bound)
        first = judged(row, *self.tried(arm, row))
        return judged(row, *self.tried(arm, row)) if first.word == FAILED else first

    def measured(self, arm: Arm, row: Row, bound: Bound) -> Outcome:
        """Tries a row with a figure until it holds, by turns with the other allocator that it is compared with."""
        arms = [arm]
        if bound.other:
            if not (other := compared(bound.other)):
                return Outcome(row, SKIPPED, f"{bound.other} is not here")
            arms.append(other)
        said: list[list[float]] = [[] for _ in arms]
        for _ in range(bound.tries):
            for one, figures in zip(arms, said, strict=True):
                outcome = judged(row, *self.tried(one, row))
                if outcome.figure is None:
                    return outcome if one is arm else Outcome(row, SKIPPED, f"{bound.other}: {outcome.how}")
                figures.append(outcome.figure)
            figure = bound.figure(said[0], said[-1])
            if bound.allows(figure):
                return Outcome(row, HELD, figure=figure)
            if bound.is_far_from(figure):
                break
        return Outcome(row, FAILED, f"{number(figure)}, allowed: {bound}", figure=figure)


def compared(name: str) -> Arm | None:
    """glibc, or the first peer here whose name begins so."""
    if name == "glibc":
        return Arm()
    try:
        peers.find()
        found = (peer.arm(ROOT) for peer in peers.read() if peer.name.startswith(name) and peer.file)
        return next(found, None)
    except LabError:
        return None


def listed(kit: Path) -> dict[str, tuple[list[str], float]]:
    """For each test its command and its time limit in seconds."""
    argv = ["ctest", "--test-dir", str(kit), "--show-only=json-v1"]
    tests = json.loads(subprocess.run(argv, capture_output=True, check=True).stdout)["tests"]
    said = {test["name"]: {of["name"]: of["value"] for of in test["properties"]} for test in tests}
    return {test["name"]: (test["command"], said[test["name"]]["TIMEOUT"]) for test in tests}


def ended(command: list[str], env: dict[str, str], seconds: float) -> tuple[int | None, str]:
    """Runs a command.  Returns its status, or None if it did not end in time, and its output.  No process is left."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile() as said:
        options = {"cwd": folder, "stdin": subprocess.DEVNULL, "stdout": said, "stderr": said}
        child = subprocess.Popen(command, env=env, start_new_session=True, **options)  # type: ignore[call-overload]
        try:
            status = child.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        finally:
            with suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
        said.seek(0)
        return status, said.read().decode(errors="replace")


def judged(row: Row, status: int | None, said: str) -> Outcome:
    if status is None:
        how = "it did not end"
    elif status < 0:
        how = f"it ended by {signal.Signals(-status).name}"
    else:
        how = f"it ended with status {status}"
    if status == VOID_STATUS:
        return Outcome(row, VOID, said.strip().removeprefix("void: "))
    parts = re.search(r"\btried=(\d+) held=(\d+)", said)
    times = (int(parts[1]), int(parts[2])) if parts else (0, 0)
    if parts:
        how += f", {parts[2]} of {parts[1]} times it held"
    if row.name.startswith(MISUSE):
        told = "\n" in said.partition("\n")[2] and NOT_SO not in said  # line 1 is its own
        caught = status is not None and (status < 0 or told)
        return Outcome(row, HELD) if caught else Outcome(row, FAILED, how)
    if status == SKIP_STATUS or "# SKIP" in said:
        why = re.search(r"^skipped: (.*)", said, re.M)
        return Outcome(row, SKIPPED, why[1] if why else "")
    if row.bound:
        value = re.search(r"^figure=(\S+)$", said, re.M)
        if status != 0 or not value:
            return Outcome(row, FAILED, how if status != 0 else "it said no figure")
        return Outcome(row, HELD, figure=float(value[1]))
    return Outcome(row, HELD, "", *times) if status == 0 else Outcome(row, FAILED, how, *times)


def line(outcome: Outcome) -> str:
    """The line that is printed."""
    why = f": {outcome.row.expected} ({outcome.row.promise}; {outcome.how})" if outcome.how else ""
    times = f" ({outcome.held:,} of {outcome.tried:,} times)" if outcome.word == HELD and outcome.tried else ""
    if outcome.word == HELD and outcome.figure is not None:
        times = f" ({number(outcome.figure)}, allowed: {outcome.row.bound})"
    return f"{outcome.word:8}  {outcome.row.name}{times}{why}"


def words(outcomes: list[Outcome]) -> tuple[int, int, int]:
    """How many passed, failed and were skipped.  What is void has failed: nobody knows whether it holds."""
    every = [outcome.word for outcome in outcomes]
    return every.count(HELD), every.count(FAILED) + every.count(VOID), every.count(SKIPPED)


def count(outcomes: list[Outcome], promises: tuple[str, ...]) -> str:
    words = [outcome.word for outcome in outcomes if outcome.row.promise in promises]
    return f"{words.count(HELD)} of {len(words) - words.count(SKIPPED)}"


def summary(name: str, outcomes: list[Outcome]) -> str:
    kinds = {
        "rows of the standards": STANDARDS,
        "of glibc's": GLIBC,
        "of what only hz3 promises": OWN,
        "of what nobody should notice": (INVISIBLE,),
    }
    tried = {outcome.row.promise for outcome in outcomes}
    held = [f"{count(outcomes, promises)} {kind} held" for kind, promises in kinds.items() if tried & {*promises}]
    return f"{name}: {', '.join(held) or 'no row concerns it'}; {closing(*words(outcomes))}"


def times(outcome: Outcome) -> list[int]:
    return [outcome.tried, outcome.held] if outcome.tried else []


def figures(outcome: Outcome) -> list[float]:
    return [*times(outcome)] if outcome.figure is None else [0, 0, outcome.figure]


def to_json(arms: dict[str, Arm], found: dict[str, list[Outcome]]) -> Json:
    return {
        "rows": {row.name: [row.promise, row.expected] for row in rows()},
        "allocators": {
            name: {
                "version": arms[name].said_version,
                "sha256": arms[name].sha256,
                "found": {outcome.row.name: [outcome.word, outcome.how, *figures(outcome)] for outcome in of},
            }
            for name, of in found.items()
        },
    }


def from_json(table: Json) -> dict[str, list[Outcome]]:
    known = {name: Row(name, *words) for name, words in table["rows"].items()}
    return {
        name: [Outcome(known[row], *words) for row, words in of["found"].items()]
        for name, of in table["allocators"].items()
    }


HEAD = f"""# Conformance

Made by `hz3 report --readme` from [the results](../../results/{RESULT.name}), not to be edited by hand.

`hz3 conform LIBRARY` preloads any allocator into hz3's own [tests](../testing.md), and prints whether each row held.
The rows are what hz3 is tested for. If another allocator does not hold one, its authors may have decided so. Rows that
do not apply to an allocator, such as functions that it does not have, are left out of its counts.

Rows are counted separately by who makes the promise: the standards (C23, C++17, POSIX 2024); glibc, by its manual and
the Linux manual pages; or hz3 alone. Only hz3 promises that idle memory goes back, and that misuse, whose behaviour no
standard defines, ends the program. A misuse row held if the program died by a signal or printed something. A row that
did not hold was tried twice.
"""


def page(table: Json) -> str:
    """The page of rows that a standard, glibc or hz3 promises.  lab/invisible.py makes that of the others."""
    every = {
        name: [outcome for outcome in of if outcome.row.promise != INVISIBLE] for name, of in from_json(table).items()
    }
    counts = []
    for name, of in every.items():
        misuse = [outcome for outcome in of if outcome.row.name.startswith(MISUSE)]
        others = [outcome for outcome in of if outcome not in misuse]
        row = [count(others, promises) for promises in (STANDARDS, GLIBC, OWN)]
        counts.append([name, table["allocators"][name]["version"], *row, count(misuse, OWN)])
    head = ["allocator", "version", "standards", "glibc", "hz3 alone: limits, idle memory", "misuse ends the program"]
    words: dict[Row, dict[str, str]] = defaultdict(dict)
    for name, of in every.items():
        for outcome in of:
            words[outcome.row][name] = outcome.word
    failing = [
        [row.name.removeprefix(MISUSE), row.promise, row.expected, listed_names(by, FAILED)]
        for row, by in words.items()
        if FAILED in by.values()
    ]
    return "\n".join(
        [
            HEAD,
            markdown(head, counts),
            "## Where another one is better\n",
            better(words),
            "## How often the rows of reliability held\n",
            attempts(every),
            "## What did not hold\n",
            markdown(["row", "who promises it", "what was expected", "who did not hold it"], failing),
        ]
    )


def better(words: dict[Row, dict[str, str]]) -> str:
    """Says for each of hz3's lanes which rows it does not hold and an allocator that is not hz3 does."""
    lanes = [name for name in next(iter(words.values())) if name in read().lanes]
    behind, rows = set(), []
    for row, by in words.items():
        ours = [lane for lane in lanes if by.get(lane) == FAILED]
        theirs = [name for name, word in by.items() if name not in lanes and word == HELD]
        if ours and theirs:
            behind.update(ours)
            rows.append([row.name, ", ".join(ours), ", ".join(theirs)])
    even = [lane for lane in lanes if lane not in behind]
    said = f"Every row that another allocator holds is held by these lanes of hz3: {', '.join(even) or 'none'}.\n"
    return said + ("\n" + markdown(["row", "lanes that do not hold it", "who holds it"], rows) if rows else "")


def attempts(every: dict[str, list[Outcome]]) -> str:
    """A table of how often each row of reliability was tried, and how often it held, or the word alone."""
    head = ["allocator"]
    lines = []
    for name, of in every.items():
        mine = [outcome for outcome in of if outcome.row.name.startswith(RELIABILITY)]
        head = ["allocator", *(outcome.row.name.removeprefix(RELIABILITY) for outcome in mine)]
        lines.append([name, *(" / ".join(f"{n:,}" for n in times(one)) or one.word for one in mine)])
    said = "Tried / held, or the word alone where the program said no figures, as most do not once they fail.\n\n"
    return said + markdown(head, lines)


def listed_names(by: dict[str, str], word: str) -> str:
    return ", ".join(name for name, of in by.items() if of == word)
