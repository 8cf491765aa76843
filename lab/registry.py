"""The lanes and flags of src/base/flags.def."""

import re
from dataclasses import dataclass
from pathlib import Path

from lab import ROOT, LabError

FILE = ROOT / "src/base/flags.def"
LANES = re.compile(r"^HZ3_LANES\(([^)]*)\)", re.MULTILINE)
ROW = re.compile(r"^HZ3_FLAG\((HZ3_\w+)((?:\s*,\s*\d+)+)\s*,\s*\"([^\"]*)\"", re.MULTILINE)


@dataclass(frozen=True)
class Registry:
    lanes: tuple[str, ...]
    defaults: dict[str, tuple[int, ...]]  # flag: its value in each lane
    ranges: dict[str, str]

    def resolve(self, lane: str, flags: dict[str, int]) -> dict[str, int]:
        """Every flag's value in `lane` with `flags` changed."""
        if lane not in self.lanes:
            raise LabError(f"there is no lane '{lane}'; the lanes are: {', '.join(self.lanes)}")
        for name, value in flags.items():
            self._check(name, value)
        column = self.lanes.index(lane)
        return {name: flags.get(name, values[column]) for name, values in self.defaults.items()}

    def _check(self, name: str, value: int) -> None:
        if name not in self.defaults:
            raise LabError(f"there is no flag {name} in src/base/flags.def")
        if type(value) is not int:
            raise LabError(f"{name}={value!r}: the value of a flag is a whole number")
        bounds = re.fullmatch(r"(\d+)\.\.(\d+)", self.ranges[name])
        if bounds and not int(bounds[1]) <= value <= int(bounds[2]):
            raise LabError(f"{name}={value} is out of range, which is {self.ranges[name]}")


def read(file: Path = FILE) -> Registry:
    if not file.is_file():
        raise LabError(f"no registry of flags at {file}")
    text = file.read_text()
    row = LANES.search(text)
    if not row:
        raise LabError(f"{file}: no row that names the lanes")
    lanes = tuple(re.findall(r"\w+", row[1]))
    rows = {m[1]: (tuple(int(v) for v in re.findall(r"\d+", m[2])), m[3]) for m in ROW.finditer(text)}
    wrong = [name for name, (values, _) in rows.items() if len(values) != len(lanes)]
    if wrong or len(rows) != len(re.findall(r"^HZ3_FLAG\(", text, re.MULTILINE)):
        raise LabError(f"{file}: rows that do not have one value for each of the lanes {', '.join(lanes)}: {wrong}")
    return Registry(lanes, {n: v for n, (v, _) in rows.items()}, {n: r for n, (_, r) in rows.items()})
