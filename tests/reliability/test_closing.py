"""The runner of the loads says in its last line what was skipped, and ends with a status of its own."""

import importlib.util
import re
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location("reliability_rows", Path(__file__).with_name("rows.py"))
GOOD, SKIPPED, BAD = "echo tried=3 held=3", "echo skipped: not here; exit 77", "echo tried=3 held=2"


@pytest.fixture
def rows(monkeypatch):
    module = importlib.util.module_from_spec(SPEC)
    monkeypatch.setitem(__import__("sys").modules, SPEC.name, module)  # dataclasses look there
    SPEC.loader.exec_module(module)
    monkeypatch.setattr(module, "program", lambda row, lane: (Path("/bin/sh"), {}))
    return module


@pytest.mark.parametrize("scripts, status, counts", [
    ((GOOD, GOOD), 0, "2 passed, 0 failed, 0 skipped"),
    ((GOOD, SKIPPED), 77, "1 passed, 0 failed, 1 skipped"),
    ((BAD, SKIPPED), 1, "0 passed, 1 failed, 1 skipped"),
])
def test_what_is_skipped_is_said_and_has_a_status(rows, monkeypatch, capsys, scripts, status, counts):
    monkeypatch.setattr(rows, "ROWS", [rows.Row("soak", "x", ("-c", script), lanes=("scale",)) for script in scripts])
    monkeypatch.setattr("sys.argv", ["rows.py", "--row", "soak"])
    assert rows.main() == status
    assert re.fullmatch(rf"{counts}, in \d+ s", capsys.readouterr().out.splitlines()[-1])
