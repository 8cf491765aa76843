"""tools/coverage.py: sums by room and by floor."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

import coverage


def test_a_room_is_its_source_with_its_header_and_a_floor_is_its_rooms():
    by_all = {"back/run.c": (90, 80), "back/run.h": (10, 10), "back/range.c": (100, 50), "os/os.h": (4, 0)}
    by_unit = {"back/run.c": (90, 40), "back/run.h": (10, 5)}
    assert coverage.rows(by_unit, by_all) == [
        "| **back** | 200 | 22 % | 70 % |  |",
        "| `back/range` | 100 | 0 % | 50 % |  |",
        "| `back/run` | 100 | 45 % | 90 % | yes |",
        "| **os** | 4 | 0 % | 0 % |  |",
        "| `os/os` | 4 | 0 % | 0 % |  |",
    ]
