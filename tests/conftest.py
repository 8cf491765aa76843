import os
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LANES = ("scale", "fast")


def pytest_addoption(parser):
    parser.addoption("--lane", action="append", choices=LANES, help="test this lane only (may be repeated)")


@dataclass(frozen=True)
class Preload:
    lane: str
    library: Path
    env: dict


@pytest.fixture(scope="session", params=LANES)
def preload(request):
    """One lane's library, and the environment that preloads it."""
    lane = request.param
    if lane not in (request.config.getoption("--lane") or LANES):
        pytest.skip(f"lane {lane} is excluded by --lane")
    library = ROOT / f"libhakozuna_hz3_{lane}.so"
    if not library.is_file():
        raise FileNotFoundError(f"{library} is not built: make all_ldpreload_{lane}")
    return Preload(lane, library, {**os.environ, "LD_PRELOAD": str(library)})
