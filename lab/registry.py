"""Reads the lanes and flags of src/base/flags.def, and of classic/flags.def, for all Python here.  (CMake reads the
files itself.)"""

import re
from dataclasses import dataclass
from pathlib import Path

from lab import ROOT, LabError

FILE = ROOT / "src/base/flags.def"
ORDERS = ROOT / "classic/flags.def"  # lane classic's own flags; its others are FILE's, with lane scale's values
LANES = re.compile(r"^HZ3_LANES\(([^)]*)\)", re.MULTILINE)
SOURCE = re.compile(r"^HZ3_SOURCE\(([\w/.]+)\s*,\s*(\w+)\s*,\s*([\w/.]+)\)", re.MULTILINE)
HEADER = re.compile(r"^HZ3_HEADER\((\w+),\s*(\w+),\s*(\d+),\s*([\w/.]+),\s*([\w/.]+)\)", re.MULTILINE)
VALUE = re.compile(r"^HZ3_VALUE\((\w+),\s*(\d+)\)", re.MULTILINE)
ROW = re.compile(r"^HZ3_FLAG\((HZ3_\w+)((?:\s*,\s*\d+)+)\s*,\s*\"(\d+)\.\.(\d+)\"", re.MULTILINE)


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


def _read(file: Path) -> Registry:
    if not file.is_file():
        raise LabError(f"no registry of flags at {file}")
    text = file.read_text()
    row = LANES.search(text)
    if not row:
        raise LabError(f"{file}: no row that names the lanes")
    lanes = tuple(re.findall(r"\w+", row[1]))
    rows = {
        m[1]: ([int(value) for value in re.findall(r"\d+", m[2])], int(m[3]), int(m[4])) for m in ROW.finditer(text)
    }
    wrong = [name for name, (values, *_) in rows.items() if len(values) != len(lanes)]
    if wrong or len(rows) != len(re.findall(r"^HZ3_FLAG\(", text, re.MULTILINE)):
        raise LabError(
            f"{file}: rows that do not have one value for each of the lanes {', '.join(lanes)}, and a range: {wrong}"
        )
    flags = {
        name: Flag(dict(zip(lanes, values, strict=True)), least, most) for name, (values, least, most) in rows.items()
    }
    choices = tuple((name, flag, int(wanted), *files) for name, flag, wanted, *files in HEADER.findall(text))
    return Registry(lanes, flags, tuple(SOURCE.findall(text)), choices)


def read(file: Path = FILE, orders: Path | None = None) -> Registry:
    """The registry of both libraries, or of a file alone."""
    known = _read(file)
    orders = ORDERS if file == FILE else orders
    if not orders:
        return known
    theirs = _read(orders)
    values = {name: int(value) for name, value in VALUE.findall(orders.read_text())}
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
