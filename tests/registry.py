"""The lanes and flags of src/base/flags.def, for the tests."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "src/base/flags.def"


@dataclass(frozen=True)
class Flag:
    name: str
    in_lane: dict[str, int]
    least: int
    most: int


def _read() -> tuple[tuple[str, ...], dict[str, Flag]]:
    text = FILE.read_text()
    lanes = tuple(re.search(r"^HZ3_LANES\((.*)\)$", text, re.M)[1].split(", "))
    flags = {}
    for name, values, least, most in re.findall(r'^HZ3_FLAG\((\w+)((?:, *\d+)+), "(\d+)\.\.(\d+)"', text, re.M):
        values = [int(value) for value in values.split(",")[1:]]
        flags[name] = Flag(name, dict(zip(lanes, values, strict=True)), int(least), int(most))
    assert len(flags) == len(re.findall(r"^HZ3_FLAG\(", text, re.M)), f"a row of {FILE} is not understood"
    return lanes, flags


LANES, FLAGS = _read()
