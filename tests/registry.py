"""The lanes and flags of src/base/flags.def, as the lab reads them."""

import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT))

from lab.registry import read  # noqa: E402


@dataclass(frozen=True)
class Flag:
    in_lane: dict[str, int]
    least: int
    most: int


REGISTRY = read()
LANES = REGISTRY.lanes
FLAGS = {name: Flag(dict(zip(LANES, values)), *map(int, REGISTRY.ranges[name].split("..")))
         for name, values in REGISTRY.defaults.items()}
