"""The lanes and flags of src/base/flags.def, and of classic/flags.def, for all Python here, as cmake/registry.cmake reads
them."""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from lab import ROOT, LabError

FILE = ROOT / "src/base/flags.def"
ORDERS = ROOT / "classic/flags.def"  # lane classic's own flags; its others are FILE's, with lane scale's values
READER = ROOT / "cmake/registry.cmake"
RANGE = re.compile(r"(\d+)\.\.(\d+)")


@dataclass(frozen=True)
class Flag:
    in_lane: dict[str, int]  # of the lanes that have the flag
    least: int
    most: int


@dataclass(frozen=True)
class Registry:
    lanes: tuple[str, ...]
    flags: dict[str, Flag]
    sources: tuple[tuple[str, str, str], ...] = ()  # files, each with the flag or header that it is for
    choices: tuple[tuple[str, str, int, str, str], ...] = ()  # the rows of headers that the build chooses
    orders: tuple[str, ...] = ()  # the lanes of the library in classic/

    def trees(self, lane: str) -> tuple[str, ...]:
        """The folders that have the lane's files.  A file of the first stands for one of the same path in the next."""
        return ("classic", "src") if lane in self.orders else ("src",)

    def takes_part(self, source: str, values: dict[str, int]) -> bool:
        """Whether a source is compiled with these values of the flags."""
        means = values | self.headers(values)
        rows = [(name, wanted) for file, name, wanted in self.sources if file == source and name in means]
        return all(str(means[name]) == wanted for name, wanted in rows)

    def headers(self, values: dict[str, int]) -> dict[str, str]:
        """The header that each name means with these values of the flags."""
        choices = [row for row in self.choices if row[1] in values]
        means = {name: otherwise for name, _, _, _, otherwise in choices}
        return means | {name: then for name, flag, wanted, then, _ in choices if values[flag] == wanted}

    def may_be(self, name: str) -> set[str]:
        """The headers that the name means in one build or another."""
        return {file for row in self.choices if row[0] == name for file in row[3:]}

    def of(self, lane: str) -> dict[str, int]:
        """Every flag of the lane, and its value there."""
        if lane not in self.lanes:
            raise LabError(f"there is no lane '{lane}'; the lanes are: {', '.join(self.lanes)}")
        return {name: flag.in_lane[lane] for name, flag in self.flags.items() if lane in flag.in_lane}

    def resolve(self, lane: str, flags: dict[str, int]) -> dict[str, int]:
        """Every flag's value in `lane` with `flags` changed."""
        values = self.of(lane)
        for name, value in flags.items():
            self._check(lane, name, value)
        return {name: flags.get(name, own) for name, own in values.items()}

    def _check(self, lane: str, name: str, value: int) -> None:
        if name not in self.flags:
            raise LabError(f"there is no flag {name} in src/base/flags.def or classic/flags.def")
        flag = self.flags[name]
        if lane not in flag.in_lane:
            raise LabError(f"lane {lane} has no flag {name}; of {', '.join(flag.in_lane)}")
        if type(value) is not int:
            raise LabError(f"{name}={value!r}: the value of a flag is a whole number")
        if not flag.least <= value <= flag.most:
            raise LabError(f"{name}={value} is out of range, which is {flag.least}..{flag.most}")


def rows(file: Path) -> dict[str, list[list[str]]]:
    """The rows of a file such as flags.def by their names, each with its fields."""
    done = subprocess.run(["cmake", f"-DHZ3_ROWS={file}", "-P", READER], capture_output=True, text=True)
    if done.returncode:
        raise LabError(f"cmake cannot read {file}: {done.stderr.strip()}")
    found: dict[str, list[list[str]]] = {}
    for line in done.stdout.splitlines():
        name, *fields = line.split("\t")
        found.setdefault(name, []).append(fields)
    return found


def _flag(lanes: tuple[str, ...], fields: list[str]) -> Flag | None:
    """The flag of a row: a value for each lane, then the range, what it changes, and the verdict."""
    values, rest = fields[: len(lanes)], fields[len(lanes) :]
    between = RANGE.fullmatch(rest[0]) if len(rest) == 3 else None
    if not between or not all(map(str.isdecimal, values)):
        return None
    return Flag(dict(zip(lanes, map(int, values), strict=True)), int(between[1]), int(between[2]))


def _read(file: Path) -> tuple[Registry, dict[str, list[list[str]]]]:
    if not file.is_file():
        raise LabError(f"no registry of flags at {file}")
    found = rows(file)
    if "HZ3_LANES" not in found:
        raise LabError(f"{file}: no row that names the lanes")
    lanes = tuple(found["HZ3_LANES"][0])
    flags = {name: _flag(lanes, fields) for name, *fields in found.get("HZ3_FLAG", [])}
    if wrong := [name for name, flag in flags.items() if not flag]:
        raise LabError(
            f"{file}: rows that do not have one value for each of the lanes {', '.join(lanes)}, and a range: {wrong}"
        )
    choices = tuple(
        (name, flag, int(value), then, other) for name, flag, value, then, other in found.get("HZ3_HEADER", [])
    )
    sources = tuple((source, flag, wanted) for source, flag, wanted in found.get("HZ3_SOURCE", []))
    return Registry(lanes, {name: flag for name, flag in flags.items() if flag}, sources, choices), found


def read(file: Path = FILE, orders: Path | None = None) -> Registry:
    """The registry of both libraries, or of a file alone."""
    known, _ = _read(file)
    orders = ORDERS if file == FILE else orders
    if not orders:
        return known
    theirs, their_rows = _read(orders)
    values = {name: int(value) for name, value in their_rows.get("HZ3_VALUE", [])}
    flags = dict(known.flags)
    for lane in theirs.lanes:
        for name, flag in known.flags.items():
            own = values.get(name, flag.in_lane["scale"])
            flags[name] = Flag({**flags[name].in_lane, lane: own}, flag.least, flag.most)
    for name, flag in theirs.flags.items():
        others = flags[name].in_lane if name in flags else {}
        flags[name] = Flag({**others, **flag.in_lane}, flag.least, flag.most)
    return Registry(
        known.lanes + theirs.lanes, flags, known.sources + theirs.sources, known.choices + theirs.choices, theirs.lanes
    )
