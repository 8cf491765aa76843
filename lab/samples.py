"""The file of raw samples.  It has JSON lines, is only appended to, and is compressed when the run is complete.

The first line has the plan and the machine.  A last line without a newline was cut off by a crash, and is ignored.
"""

import fcntl
import json
import math
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

from lab import Json, LabError, text_of
from lab.machine import same
from lab.plan import NOT_A_PLAN, Plan

Figures = dict[str, Json]  # by arm
STOLEN = 0.02  # the share of a run's time that the host may take from it
MOVED = 2.0  # times as long as the shortest time that a line took in a round: the host moved the processors
RECENT = 10  # rounds, from whose readings one knows what is usual
REPEATS = 2  # of a round that the host spoilt; then it is given up


@dataclass(frozen=True)
class Round:
    """One run of every arm of a cell, in sequence.  These are paired."""

    phase: str  # warmup, aa or ab
    block: int
    cell: str


@dataclass(frozen=True)
class Host:
    """What the host did during a sample."""

    stolen: float  # the share of the processors' time that it gave to others
    line_ns: list[float]  # that a line took before and after; older files do not say


class Samples:
    """A run's samples in memory, and the file that they are written to."""

    def __init__(self, path: Path, plan: Plan, machine: Json):
        self.path, self.plan, self.machine = path, plan, machine
        self.attempts: dict[Round, list[Figures]] = defaultdict(list)  # figures by arm, for each attempt
        self.more: dict[str, list[int]] = defaultdict(list)  # blocks added to a cell at each look
        self.unable: dict[tuple[str, str], str] = {}  # (cell, arm) without result, and why
        self.spoilt: set[tuple[Round, int]] = set()  # rounds, each with the attempt: STOLEN or MOVED
        self._host: dict[tuple[Round, int], dict[str, Host]] = defaultdict(dict)  # during each arm's last try
        self.void = ""  # why the run decides nothing
        self.seconds = 0.0  # that all runs together took, with what they waited for
        self.spent: dict[str, float] = defaultdict(float)  # the part of it that each cell's blocks took
        self.absorbed: set[str] = set()  # names of runs whose samples are in this one

    @classmethod
    def create(cls, path: Path, plan: Plan, machine: Json) -> "Samples":
        samples = cls(path, plan, machine)
        try:
            samples._append({"kind": "plan", "plan": plan.to_json(), "machine": machine})
        except BaseException:  # an incomplete file is no file of samples, and would be found as one later
            if path.is_file():
                path.unlink()
            raise
        return samples

    @classmethod
    def load(cls, path: Path) -> "Samples":
        number, lines = 1, lines_in(path)
        if not lines:
            raise LabError(f"{path} is not a file of samples: it has no whole line")
        try:
            first = json.loads(lines[0])
            samples = cls(path, Plan.from_json(first["plan"]), first["machine"])
            for number, text in enumerate(lines[1:], 2):  # noqa: B007 (said of one that is damaged)
                line = json.loads(text)
                if line["kind"] == "sample":
                    samples._take(line)
                elif line["kind"] == "unable":
                    samples.unable[line["cell"], line["arm"]] = line["reason"]
                elif line["kind"] == "more":
                    samples.more[line["cell"]].append(line["blocks"])
                elif line["kind"] == "absorbed":
                    samples.absorbed.add(line["run"])
                elif line["kind"] == "void":
                    samples.void = line["reason"]
        except NOT_A_PLAN as error:
            raise LabError(f"{path} is not a file of samples: line {number}: {error!r}") from None
        return samples

    def _take(self, line: Json) -> None:
        round_ = Round(line["phase"], line["block"], line["cell"])
        attempts = self.attempts[round_]
        if line["attempt"] == len(attempts):
            attempts.append({})
        attempts[line["attempt"]][line["arm"]] = line["figures"]
        took = max(line.get("took", 0.0), line["figures"].get("seconds", 0.0))
        self.seconds += took
        if round_.phase == "ab":
            self.spent[round_.cell] += took
        attempt = round_, line["attempt"]
        tried = self._host[attempt]
        tried[line["arm"]] = Host(line.get("stolen", 0.0), [ns for ns in line.get("line_ns", ()) if ns])
        if self._is_timed(round_) and self._spoils(tried):
            self.spoilt.add(attempt)
        else:
            self.spoilt.discard(attempt)

    def _is_timed(self, round_: Round) -> bool:
        return round_.phase != "warmup" and not self.plan.cells[round_.cell].counted

    def _spoils(self, tried: dict[str, Host]) -> bool:
        """Both sides of a sample that ran beside another arm run at once, so what moves one moves the other."""
        lines = [] if self.plan.beside else [ns for host in tried.values() for ns in host.line_ns]
        moved = bool(lines) and max(lines) > MOVED * min(lines)
        return moved or any(host.stolen > STOLEN for host in tried.values())

    def longest_line_ns(self, round_: Round) -> float:
        """What a line may take before a run of the round begins: MOVED times the lower quartile of the last readings, as
        the processors are near then.  inf: there are too few, or the reading spoils nothing."""
        rounds = islice(reversed(self._host.values()), RECENT)
        last = sorted(ns for tried in rounds for host in tried.values() for ns in host.line_ns)
        asked = self._is_timed(round_) and not self.plan.beside
        return MOVED * last[len(last) // 4] if asked and len(last) >= RECENT else math.inf

    def add(self, line: Json) -> None:
        line = {"kind": "sample", **line}
        self._append(line)
        self._take(line)

    def give_up(self, cell: str, arm: str, reason: str) -> None:
        self._append({"kind": "unable", "cell": cell, "arm": arm, "reason": reason})
        self.unable[cell, arm] = reason

    def declare_void(self, reason: str) -> None:
        """The samples stay, and decide nothing."""
        self._append({"kind": "void", "reason": reason})
        self.void = reason

    def absorb(self, other: "Samples") -> None:
        """Adds a whole run of the same build on the same machine: its blocks follow this one's, and are another look.  Its
        samples stay as they are, but for the blocks' numbers."""
        name = other.path.name.partition(".")[0]
        before = {"aa": self.plan.aa_blocks, "warmup": 1}
        of_cell = {cell: self.planned(cell) for cell in self.plan.cells}
        self._append({"kind": "absorbed", "run": name})
        self.absorbed.add(name)
        for cell in self.plan.timed():
            self.extend(cell, other.planned(cell))
        for line in map(json.loads, lines_in(other.path)):
            if line["kind"] == "sample":
                self.add({**line, "block": line["block"] + before.get(line["phase"], of_cell[line["cell"]])})

    def extend(self, cell: str, blocks: int) -> None:
        self._append({"kind": "more", "cell": cell, "blocks": blocks})
        self.more[cell].append(blocks)

    def planned(self, cell: str) -> int:
        """The number of blocks that the cell should have."""
        return self.plan.blocks_of(cell) + sum(self.more[cell])

    def looks(self, cell: str) -> int:
        """How often one looked at the cell's blocks.  Whoever runs it again looks again."""
        return 1 + len(self.more[cell])

    def arms_of(self, round_: Round) -> list[str]:
        arms = self.plan.arms_of(round_.phase, round_.cell)
        return [arm for arm in arms if (round_.cell, arm) not in self.unable] if self.unable else arms

    def resume(self, machine: Json) -> None:
        data = self.path.read_bytes()
        os.truncate(self.path, data.rfind(b"\n") + 1)
        self._append({"kind": "resumed", "machine": machine})

    def _append(self, line: Json) -> None:
        try:
            with open(self.path, "a") as file:
                print(json.dumps(line), file=file)
                file.flush()
        except OSError as error:
            raise LabError(f"cannot write {self.path}: {error.strerror}; no verdict without all samples") from None

    def complete(self, round_: Round) -> Figures | None:
        """Each arm's figures in the first complete attempt that the host did not spoil.  Empty if no arm gives a result,
        or if it spoilt every attempt; None if the round has to be run."""
        arms, robbed = self.arms_of(round_), 0
        if not arms:
            return {}
        for number, attempt in enumerate(self.attempts.get(round_, ())):
            if (round_, number) in self.spoilt:
                robbed += 1
            elif attempt.keys() >= set(arms):
                return {arm: attempt[arm] for arm in arms}
        return {} if robbed > REPEATS else None

    def robbed(self, cell: str) -> int:
        """The blocks of the cell that were given up, as the host spoilt every attempt."""
        rounds = (Round("ab", block, cell) for block in range(self.planned(cell)))
        return sum(self.complete(round_) == {} for round_ in rounds if self.arms_of(round_))

    def lost(self) -> list[str]:
        """The cells of which the host spoilt every block."""
        return [cell for cell in self.plan.cells if self.robbed(cell) and not self.blocks(cell, "ab")]

    def blocks(self, cell: str, *phases: str) -> list[Figures]:
        """Each arm's figures in each complete block."""
        counts = {"aa": self.plan.aa_blocks, "ab": self.planned(cell)}
        rounds = (Round(phase, block, cell) for phase in phases for block in range(counts[phase]))
        return [figures for figures in map(self.complete, rounds) if figures]

    def aligned(self, cells: list[str], *phases: str) -> list[dict[str, Figures]]:
        """The same of several cells, by cell: the nth complete block of each, as what is spoilt in one is sound in
        another.  They may be of different passes; what a whole pass had in common is then spread."""
        every = (zip(*(self.blocks(cell, phase) for cell in cells), strict=False) for phase in phases)
        return [dict(zip(cells, blocks, strict=True)) for phase in every for blocks in phase]


def contents(path: Path) -> bytes:
    """The content of a file of samples, compressed or not."""
    if path.suffix != ".zst":
        return path.read_bytes()
    from lab import archive  # here, as a packed folder does not have it and compresses nothing

    data, damage = archive.contents(path)
    if damage:
        lines = data.count(b"\n")
        raise LabError(f"{path} is damaged after line {lines}: {damage}")
    return data


def text_in(path: Path) -> str:
    if path.suffix != ".zst":
        return text_of(path)
    try:
        return contents(path).decode()
    except UnicodeDecodeError as error:
        raise LabError(f"{path} is no text: {error}") from None


def lines_in(path: Path) -> list[str]:
    """The whole lines: one that was cut off is left out."""
    return [line for line in text_in(path).splitlines(keepends=True) if line.endswith("\n")]


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Locks the file.  A second process that would measure into it is refused before it reads it."""
    with open(path, "a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LabError(f"{path} is being measured already") from None
        yield


def new_path(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}.jsonl"
    try:
        path.touch(exist_ok=False)
    except FileExistsError:
        raise LabError(f"{path} is there already: another run began in the same second") from None
    return path


def runs(folder: Path) -> list[Path]:
    """One file for each run, the oldest first: of two the longer, as the run went on; of equal ones the compressed one."""
    found: dict[str, Path] = {}
    for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.zst")]):
        name = path.name.partition(".")[0]
        if name not in found or _length(path) >= _length(found[name]):
            found[name] = path
    return list(found.values())


def _length(path: Path) -> int:
    """How much there is to read in a file of samples, damaged or not."""
    if path.suffix != ".zst":
        return path.stat().st_size
    from lab import archive  # here, as above

    return len(archive.contents(path)[0])


def loadable(paths: Iterable[Path]) -> Iterator[Samples]:
    """The samples in each file but in those that are damaged, or still empty."""
    for path in paths:
        with suppress(LabError):
            yield Samples.load(path)


def of_same_build(folder: Path, plan: Plan, machine: Json, before: str = "a") -> Path | None:
    """The newest run in the folder of the same build on the same machine, if there is one that counts.  before: only of
    runs whose names are before this one."""
    for run in loadable(path for path in reversed(runs(folder)) if path.name.partition(".")[0] < before):
        if not run.void and run.plan.is_same_build(plan) and same(run.machine, machine):
            return run.path
    return None


def newest_path(folder: Path) -> Path:
    found = runs(folder)
    if not found:
        raise LabError(f"nothing to resume: no samples in {folder}")
    return found[-1]
