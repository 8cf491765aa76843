"""The file of raw samples: JSON lines, appended to and never changed, and compressed when the run is complete.

The first line is the plan and the machine.  A last line without its newline was cut off by a crash and is no sample.
"""

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from lab import Json, LabError, text_of
from lab.plan import NOT_A_PLAN, Plan

Figures = dict[str, Json]  # of each arm


@dataclass(frozen=True)
class Round:
    """Every arm of a cell once, one after the other: what is paired."""

    phase: str  # warmup, aa or ab
    block: int
    cell: str


class Samples:
    """A run's samples in memory, and the file they go to."""

    def __init__(self, path: Path, plan: Plan, machine: Json):
        self.path, self.plan, self.machine = path, plan, machine
        self.attempts: dict[Round, list[Figures]] = defaultdict(list)  # each: arm to its figures
        self.more: dict[str, list[int]] = defaultdict(list)  # blocks that a cell got beside the plan's, look by look
        self.unable: dict[tuple[str, str], str] = {}  # cell and arm that give no result, and why

    @classmethod
    def create(cls, path: Path, plan: Plan, machine: Json) -> "Samples":
        samples = cls(path, plan, machine)
        try:
            samples._append({"kind": "plan", "plan": plan.to_json(), "machine": machine})
        except BaseException:  # what it leaves is no file of samples, and stands in the way of those that are
            if path.is_file():
                path.unlink()
            raise
        return samples

    @classmethod
    def load(cls, path: Path) -> "Samples":
        number, lines = 1, [line for line in text_in(path).splitlines(keepends=True) if line.endswith("\n")]
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
        except NOT_A_PLAN as error:
            raise LabError(f"{path} is not a file of samples: line {number}: {error!r}") from None
        return samples

    def _take(self, line: Json) -> None:
        attempts = self.attempts[Round(line["phase"], line["block"], line["cell"])]
        if line["attempt"] == len(attempts):
            attempts.append({})
        attempts[line["attempt"]][line["arm"]] = line["figures"]

    def add(self, line: Json) -> None:
        line = {"kind": "sample", **line}
        self._append(line)
        self._take(line)

    def give_up(self, cell: str, arm: str, reason: str) -> None:
        self._append({"kind": "unable", "cell": cell, "arm": arm, "reason": reason})
        self.unable[cell, arm] = reason

    def extend(self, cell: str, blocks: int) -> None:
        self._append({"kind": "more", "cell": cell, "blocks": blocks})
        self.more[cell].append(blocks)

    def planned(self, cell: str) -> int:
        """How many blocks it is to have."""
        return self.plan.blocks + sum(self.more[cell])

    def looks(self, cell: str) -> int:
        """How often it was looked at whether it has blocks enough; 0 where their number was settled before."""
        return 1 + len(self.more[cell]) if self.plan.until else 0

    def arms_of(self, round_: Round) -> list[str]:
        return [arm for arm in self.plan.arms_of(round_.phase) if (round_.cell, arm) not in self.unable]

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
        """Each arm's figures, of the first attempt that ran to its end; none where no arm gives a result."""
        arms = self.arms_of(round_)
        if not arms:
            return {}
        whole = (attempt for attempt in self.attempts.get(round_, ()) if all(arm in attempt for arm in arms))
        return next(({arm: attempt[arm] for arm in arms} for attempt in whole), None)

    def blocks(self, cell: str, *phases: str) -> list[Figures]:
        """Each arm's figures, for each complete block."""
        counts = {"aa": self.plan.aa_blocks, "ab": self.planned(cell)}
        taken = (self.complete(Round(phase, block, cell)) for phase in phases for block in range(counts[phase]))
        return [figures for figures in taken if figures]


def contents(path: Path) -> bytes:
    """The samples, compressed or not."""
    if path.suffix != ".zst":
        return path.read_bytes()
    from lab import archive  # not packed: elsewhere nothing is compressed

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


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Of two that would measure at once into one file, the second is refused, before it reads it."""
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
    """One file each, the oldest first; where compressing was interrupted, the compressed one."""
    found = {
        path.name.partition(".")[0]: path for path in sorted([*folder.glob("*.jsonl"), *folder.glob("*.jsonl.zst")])
    }
    return list(found.values())


def newest_path(folder: Path) -> Path:
    found = runs(folder)
    if not found:
        raise LabError(f"nothing to resume: no samples in {folder}")
    return found[-1]
