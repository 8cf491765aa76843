import os
import signal
from dataclasses import dataclass
from pathlib import Path

import pytest

from lab.registry import read

ROOT = Path(__file__).resolve().parent.parent
ALL_LANES = read().lanes
LONGEST = ("test_boxes.py", "test_matrix.py", "test_install.py", "test_build.py", "test_conform.py", "test_orders.py",
           "test_until.py", "test_portable.py", "test_lab_files.py")  # the files whose tests take longest
LANES = ("scale", "fast")  # for tests with whole programs and of memory figures; make test_matrix has the second


def pytest_configure():
    """Lets programs that tests start be interrupted, also where a shell's background job or nohup runs the tests."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number is signal.SIGINT else signal.SIG_DFL)


def pytest_addoption(parser):
    parser.addoption("--lane", action="append", choices=ALL_LANES, help="test this lane only (may be repeated)")
    parser.addoption("--library", type=Path, help="test this library instead of the lane's own")
    parser.addoption("--long", action="store_true", help="test every variant of every lane, and for longer")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Starts the longest files first, so that at the end no worker is still busy alone."""
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))


@dataclass(frozen=True)
class Preload:
    lane: str
    library: Path
    env: dict


def pytest_generate_tests(metafunc):
    if "preload" in metafunc.fixturenames:
        golden = "golden" in metafunc.definition.path.parts
        lanes = ALL_LANES if golden else LANES
        lanes = [pytest.param(lane, marks=() if golden or lane == LANES[0] else pytest.mark.matrix) for lane in lanes
                 if lane in (metafunc.config.getoption("--lane") or lanes)]
        metafunc.parametrize("preload", lanes, indirect=True, scope="session")


@pytest.fixture(scope="session")
def preload(request):
    """One lane's library, and the environment that preloads it."""
    lane = request.param
    library = request.config.getoption("--library") or ROOT / f"libhakozuna_hz3_{lane}.so"
    if not library.is_file():
        raise FileNotFoundError(f"{library} is not built: make all_ldpreload_{lane}")
    return Preload(lane, library, {**os.environ, "LD_PRELOAD": str(library)})
