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
    assert [coverage.row(key, *counts) for key, counts in coverage.sums(by_unit, by_all).items()] == [
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


def test_each_room_but_no_floor_needs_95_percent_of_its_lines():
    by_all = {"back/run.c": lines(90, 85), "back/run.h": lines(10, 10), "back/range.c": lines(100, 94), "os/os.h": lines(4, 3),
              "variants/no_box.h": lines(4, 0)}
    assert coverage.below(coverage.sums({}, by_all)) == ["back/range", "os/os"]


def test_the_status_is_1_where_the_tests_reach_too_little(monkeypatch, capsys):
    text = (coverage.ROOT / "src/api/slow.c").read_text().splitlines()
    refusal = 1 + next(n for n, line in enumerate(text) if coverage.REFUSES.search(line))
    monkeypatch.setattr(coverage, "BUILDS", [("scale", (), ".")])
    for step in "make", "run":
        monkeypatch.setattr(coverage, step, lambda *_, **__: None)

    def status(counts):
        monkeypatch.setattr(coverage, "reached", lambda build: {"api/slow.c": counts})
        return coverage.main()

    assert status({1: (1, True), refusal: (1, True)}) == 0
    assert status({refusal: (1, False)}) == 1
    assert status({1: (0, True), refusal: (1, True)}) == 1
    assert "Rooms below 95%: api/slow." in capsys.readouterr().out
