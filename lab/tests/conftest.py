import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))


@pytest.fixture(autouse=True)
def processors_that_stay(monkeypatch, request):
    """Tests run side by side, where no reading is to be had: each would wait for it in vain."""
    if "line" not in request.node.name:
        monkeypatch.setattr("lab.machine.line_ns", lambda: 0.0)
        monkeypatch.setattr("lab.session.PATIENCE", 0.0)
