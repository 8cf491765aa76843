"""The judge of the programs refuses what it should."""

import contextlib
import gzip

import pytest
import rows
import servers

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


def test_bodies_of_answers_are_found_however_they_were_sent():
    small = gzip.compress(b"small")
    chunks = b"%x\r\n%s\r\n3\r\n%s\r\n0\r\n\r\n" % (len(small) - 3, small[:-3], small[-3:])
    said = (b"HTTP/1.1 200 OK\r\nDate: today\r\nContent-Length: 5\r\n\r\nplain"
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n" + chunks +
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    assert list(servers.bodies(said)) == [b"plain", b"small", b""]


def test_programs_that_are_skipped_have_a_status_of_their_own(monkeypatch, capsys):
    monkeypatch.setattr(rows, "ROWS", {"there": rows.Row(None, 1, {}), "absent": rows.Row(None, 1, {"no-such-command": "x"})})
    monkeypatch.setattr(rows, "library_arm", lambda *_: Arm())
    monkeypatch.setattr(rows, "taker", lambda _: contextlib.nullcontext(lambda *_: GOOD | {"processes": 1.0}))
    for names, status, said in ((["there"], 0, "1 passed, 0 failed, 0 skipped"),
                                (["there", "absent"], 77, "1 passed, 0 failed, 1 skipped")):
        monkeypatch.setattr("sys.argv", ["rows.py", *(word for name in names for word in ("--row", name))])
        assert rows.main() == status
        assert capsys.readouterr().out.splitlines()[-1] == said
