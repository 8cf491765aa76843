"""tools/coverage.py: sums by room and by floor, and refusals with a branch that was not taken."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "tools"))

import coverage


def lines(count, run):
    return {number: (int(number < run), True) for number in range(count)}


def test_a_room_is_its_source_with_its_header_and_a_floor_is_its_rooms():
    by_all = {"back/run.c": lines(90, 80), "back/run.h": lines(10, 10), "back/range.c": lines(100, 50), "os/os.h": lines(4, 0)}
    by_unit = {"back/run.c": lines(90, 40), "back/run.h": lines(10, 5)}
    assert coverage.rows(by_unit, by_all) == [
        "| **back** | 200 | 22 % | 70 % |  |",
        "| `back/range` | 100 | 0 % | 50 % |  |",
        "| `back/run` | 100 | 45 % | 90 % | yes |",
        "| **os** | 4 | 0 % | 0 % |  |",
        "| `os/os` | 4 | 0 % | 0 % |  |",
    ]


def test_a_refusal_counts_where_each_branch_of_its_line_was_taken():
    source = "return hz3_no_memory();\nif (!p) return ENOMEM;\nif (!p) return ENOMEM;\nreturn p;\nreturn ENOMEM;"
    counts = {"a.c": {1: (1, True), 2: (1, False), 3: (1, True), 4: (0, False), 5: (0, True)}}
    assert coverage.refusals(counts, lambda file: source) == (
        4, ["a.c:2: if (!p) return ENOMEM;", "a.c:5: return ENOMEM;"])
