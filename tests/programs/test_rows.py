"""The judge of the programs refuses what it should."""

import pytest
import rows

from lab.plan import Arm

ARMS = {"glibc": Arm(), "hz3": Arm()}


def judged(monkeypatch, glibc, hz3, **needs):
    monkeypatch.setitem(rows.ROWS, "true", rows.Row(None, 1, needs))
    return rows.cells("true", ARMS, lambda name, arm, cell: {**(glibc if name == "glibc" else hz3), "processes": 1.0})


GOOD = {"after_kib": 10240, "peak_kib": 1 << 30, "answer": "42"}


@pytest.mark.parametrize(
    "hz3, tried, wrong",
    [
        (GOOD | {"after_kib": 11264}, ["1", "1"], ""),
        (GOOD | {"after_kib": 11265}, ["3", "3"], "memory: 1.10 times glibc's"),
        (GOOD | {"answer": "43"}, ["1", "0"], "answers: {'glibc': '42', 'hz3': '43'}"),
    ],
)
def test_answers_and_memory_count(monkeypatch, hz3, tried, wrong):
    row, said = judged(monkeypatch, GOOD, hz3)
    assert row[1:3] == tried and said == wrong


def test_no_answer_is_none(monkeypatch):
    nothing = GOOD | {"answer": ""}
    assert judged(monkeypatch, nothing, nothing)[1].startswith("answers: ")


def test_what_is_missing_is_named(monkeypatch):
    row, said = judged(monkeypatch, GOOD, GOOD, **{"no-such-command": "its-package"})
    assert said == "skipped: not installed: its-package" and row == ["true", "0", "0"]
