"""What malloc and free cost where a thread leaves its loaded magazine, counted by valgrind, which no noise changes."""

import functools
import re
import shutil
import subprocess

import pytest

from lab import ROOT

MAGAZINE = 30  # objects of 64 bytes in a magazine with all its room


@pytest.fixture(autouse=True)
def valgrind():
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is missing")


@functools.cache
def collected(library, n, size, waves, order, folder):
    """The instructions of a process that makes so many waves of n objects.  Memory stays, so no
    pass gives any back: passes come with time, and valgrind takes fifty times as long, more beside other tests."""
    counts = folder / f"{n}-{size}-{waves}-{order}"
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={counts}", ROOT / "out/bench_waves", "1",
               str(n * waves), str(n), str(size), "--order", order]
    env = {"LD_PRELOAD": str(library), "HZ3_DECAY": "1000s"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    assert f"alloc={library.name}" in done.stdout
    return int(re.search(r"^totals: (\d+)$", counts.read_text(), re.M)[1])


def of_a_wave(preload, folder, n, size=64, order="first"):
    few, many = (40, 240) if n < 10000 else (10, 30)
    less, more = (collected(preload.library, n, size, waves, order, folder) for waves in (few, many))
    return (more - less) / (many - few)


def beyond_hits(preload, folder, n, size=64, order="first"):
    """The instructions of a wave, less those of as many calls that stay in the loaded magazine."""
    hit = MAGAZINE // 2
    return of_a_wave(preload, folder, n, size, order) - n / hit * of_a_wave(preload, folder, hit, size, order)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("counts")


def test_a_change_of_the_two_magazines_is_a_few_instructions(preload, folder):
    """A wave of one magazine and a half changes them once when it allocates, and once when it frees."""
    assert beyond_hits(preload, folder, MAGAZINE * 3 // 2) / 2 <= 75


def test_an_exchange_with_what_threads_share_is_cheap(preload, folder):
    """Each way; the calls of free that find a magazine full are among it.  A class moves several at once by then."""
    n = 1600
    exchanges = 2 * (n // MAGAZINE - 2)
    assert beyond_hits(preload, folder, n) / exchanges <= 120


@pytest.mark.parametrize("order", ["first", "last"])
@pytest.mark.parametrize("n, most", [(20000, 31), (60000, 70)])
def test_objects_that_go_back_into_their_runs_go_by_the_word(preload, folder, n, most, order):
    """More than the transfer cache holds of a class, as where a program builds and drops a large structure."""
    assert beyond_hits(preload, folder, n, order=order) / n <= most
