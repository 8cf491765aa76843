"""Python's own tests, run by the distribution's Python or, if it has none, by the Python that runs this."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

CONTAINERS = "test_dict test_list test_bytes test_unicode test_set test_json test_gc test_weakref test_memoryview"
THREADS = "test_thread test_threading test_threading_local test_queue"
CLASSES = ("POSIXProcessTestCase", "ThreadPoolAsCompletedTest", "ThreadPoolInitializerTest", "ThreadPoolShutdownTest")
# This test's reference search is wrong if both strings happen to be empty (python/cpython#105639).
NOT = "--ignore=test_find_periodic_pattern"
RUNS = {
    "whole": [*THREADS.split(), *CONTAINERS.split()],
    "in part": ["test_subprocess", "test_concurrent_futures", *(f"--match=*.{name}.*" for name in CLASSES)],
}


@pytest.fixture(scope="module")
def python():
    base = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    for candidate in ("/usr/bin/python3", base):
        if subprocess.run([candidate, "-c", "import test.test_dict"], capture_output=True).returncode == 0:
            return str(candidate)
    pytest.skip("libpython3-testsuite (Debian: libpython3.11-testsuite) is not installed")


def heed_interrupts():
    """A shell's background processes ignore SIGINT, and test_threading fails then."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("arguments", RUNS.values(), ids=RUNS)
def test_own_tests(host, python, arguments):
    options = {"stdout": subprocess.PIPE, "preexec_fn": heed_interrupts}
    with host.running(python, "-m", "test", "-q", "-j4", NOT, *arguments, **options) as regrtest:
        report, _ = regrtest.communicate()
        assert regrtest.returncode == 0, report.decode()
