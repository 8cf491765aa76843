"""Reads the lanes and flags of src/base/flags.def, for all Python here.  (CMake reads the file itself.)"""

import re
from dataclasses import dataclass
from pathlib import Path

from lab import ROOT, LabError

FILE = ROOT / "src/base/flags.def"
LANES = re.compile(r"^HZ3_LANES\(([^)]*)\)", re.MULTILINE)
SOURCE = re.compile(r"^HZ3_SOURCE\(([\w/.]+)\s*,\s*(\w+)\s*,\s*([\w/.]+)\)", re.MULTILINE)
HEADER = re.compile(r"^HZ3_HEADER\((\w+),\s*(\w+),\s*(\d+),\s*([\w/.]+),\s*([\w/.]+)\)", re.MULTILINE)
ROW = re.compile(r"^HZ3_FLAG\((HZ3_\w+)((?:\s*,\s*\d+)+)\s*,\s*\"(\d+)\.\.(\d+)\"", re.MULTILINE)


@dataclass(frozen=True)
class Flag:
    in_lane: dict[str, int]
    least: int
    most: int


@dataclass(frozen=True)
class Registry:
    lanes: tuple[str, ...]
    flags: dict[str, Flag]
    sources: tuple[tuple[str, str, str], ...] = ()  # files below src, each with the flag or header that it is for
    choices: tuple[tuple[str, str, int, str, str], ...] = ()  # the rows of headers that the build chooses

    def takes_part(self, source: str, values: dict[str, int]) -> bool:
        """Whether a source below src is compiled with these values of the flags."""
        means = values | self.headers(values)
        return all(str(means[name]) == wanted for file, name, wanted in self.sources if file == source)

    def headers(self, values: dict[str, int]) -> dict[str, str]:
        """The header below src that each name means with these values of the flags."""
        means = {name: otherwise for name, _, _, _, otherwise in self.choices}
        return means | {name: then for name, flag, wanted, then, _ in self.choices if values[flag] == wanted}

    def may_be(self, name: str) -> set[str]:
        """The headers that the name means in one build or another."""
        return {file for row in self.choices if row[0] == name for file in row[3:]}

    def resolve(self, lane: str, flags: dict[str, int]) -> dict[str, int]:
        """Every flag's value in `lane` with `flags` changed."""
        if lane not in self.lanes:
            raise LabError(f"there is no lane '{lane}'; the lanes are: {', '.join(self.lanes)}")
        for name, value in flags.items():
            self._check(name, value)
        return {name: flags.get(name, flag.in_lane[lane]) for name, flag in self.flags.items()}

    def _check(self, name: str, value: int) -> None:
        if name not in self.flags:
            raise LabError(f"there is no flag {name} in src/base/flags.def")
        if type(value) is not int:
            raise LabError(f"{name}={value!r}: the value of a flag is a whole number")
        flag = self.flags[name]
        if not flag.least <= value <= flag.most:
            raise LabError(f"{name}={value} is out of range, which is {flag.least}..{flag.most}")


def read(file: Path = FILE) -> Registry:
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
