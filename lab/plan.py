"""A plan of runs: arms (a library each) and cells (a command each).  It is the first line of a samples file."""

import hashlib
import re
import secrets
from dataclasses import asdict, dataclass, field
from pathlib import Path

from lab import Json, LabError

BASELINE, COPY = "baseline", "baseline's copy"
ITERS = "{iters}"  # stands for the number of iterations in the argv of such cells
COUNTS = 3  # runs of each arm in a cell whose instructions are counted: they hardly differ
UNJUDGED = ("question", "why", "original", "blocks")  # keys of an experiment that no verdict depends on
FROM_BUILDING = ("arms", "programs", "missing")  # fields that a plan gets only when it is built
NOT_A_PLAN = (ValueError, LookupError, TypeError, AttributeError)  # raised if something else is read as a plan
CONFIG = re.compile(rb"hz3-config: (version=[^\0]*)\0")


@dataclass(frozen=True)
class Arm:
    file: str | None = None  # the library, relative to the root if it is inside; None: libc's malloc
    sha256: str | None = None
    config: str = ""  # hz3's config string; empty for other allocators
    version: str = ""
    env: dict[str, str] = field(default_factory=dict)
    mode: str = ""  # the mode that `make peers` found; older files have none

    @property
    def said_version(self) -> str:
        version = self.version or self.config.partition(" ")[0].removeprefix("version=")
        return f"{version}, {self.mode}" if self.mode else version


@dataclass(frozen=True)
class Cell:
    argv: list[str]
    group: str = ""
    env: dict[str, str] = field(default_factory=dict)
    counted: bool = False  # its instructions are counted, at two numbers of ITERS

    def argv_of(self, iterations: int) -> list[str]:
        return [word.replace(ITERS, str(iterations)) for word in self.argv]


@dataclass(frozen=True)
class Plan:
    kind: str  # ab, peers or compare
    name: str
    arms: dict[str, Arm]
    cells: dict[str, Cell]
    blocks: int
    seed: int = field(default_factory=lambda: secrets.randbits(32))
    aa_blocks: int = 0  # blocks with only BASELINE and COPY, before the others
    scale: float = 1.0
    programs: dict[str, str] = field(default_factory=dict)  # program: sha256
    missing: dict[str, str] = field(default_factory=dict)  # peers that were not available, and why
    experiment: Json = field(default_factory=dict)  # the experiment's file when the run began
    commit: str = ""  # what was checked out, with -dirty if a file had changed; empty without git
    until: str = ""  # "decided" or "precise": cells get more blocks until they are; see until.py and precise.py
    beside: str = ""  # the arm beside which every arm ran
    fresh: bool = True  # each run had a fresh copy of its library: measure.fresh_copy

    def arms_of(self, phase: str, cell: str) -> list[str]:
        if phase == "aa":
            return [BASELINE, COPY]
        return [arm for arm in self.arms if not (arm == COPY and self.cells[cell].counted)]

    def blocks_of(self, cell: str) -> int:
        return COUNTS if self.cells[cell].counted else self.blocks

    def timed(self) -> list[str]:
        return [name for name, cell in self.cells.items() if not cell.counted]

    def to_json(self) -> Json:
        return asdict(self)

    @classmethod
    def from_json(cls, table: Json) -> "Plan":
        arms = {name: Arm(**arm) for name, arm in table["arms"].items()}
        cells = {name: Cell(**cell) for name, cell in table["cells"].items()}
        return cls(**{"fresh": False, **table, "arms": arms, "cells": cells})

    def is_same_build(self, other: "Plan") -> bool:
        """Whether both measure the same libraries by the same programs and gates, so that their samples may be one
        run's.  They may differ in how many blocks were asked for."""

        def built(plan: "Plan") -> tuple[object, ...]:
            asked = {key: value for key, value in plan.experiment.items() if key not in UNJUDGED}
            return plan.kind, plan.arms, plan.cells, plan.scale, plan.programs, plan.fresh, asked

        return built(self) == built(other)

    def check_same_as(self, other: "Plan", but: tuple[str, ...] = ()) -> None:
        """Raises LabError unless both plans measure the same, by their digests.  Only then their samples belong
        together."""
        mine, others = self.to_json(), other.to_json()
        changed = [key for key in mine if key not in ("seed", "commit", *but) and mine[key] != others[key]]
        if changed:
            raise LabError(f"cannot resume: since the run began these have changed: {', '.join(changed)}")


def digest(file: Path) -> str:
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError as error:
        raise LabError(f"cannot read {file}: {error.strerror}") from None


def check_preloadable(path: Path) -> Path:
    """Raises LabError if the path has a character that separates entries of LD_PRELOAD."""
    if re.search(r"[\s:]", str(path)):
        raise LabError(f"LD_PRELOAD cannot hold a path with a space or a colon: {path}")
    return path


def library_arm(file: Path, root: Path, version: str = "", env: dict[str, str] | None = None, mode: str = "") -> Arm:
    config = CONFIG.search(check_preloadable(file).read_bytes()) if file.is_file() else None
    inside = file.is_relative_to(root)
    return Arm(
        str(file.relative_to(root) if inside else file),
        digest(file),
        config[1].decode() if config else "",
        version,
        env or {},
        mode,
    )
