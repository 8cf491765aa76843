"""The counter of handed-over lines counts none with one thread, and many where threads pass objects on."""

import pytest

from lab import LabError, build, handovers, registry


@pytest.fixture(scope="module")
def counter():
    build.Builder(registry.read()).benches(["bench_mixed_st", "bench_prodcons"])
    return handovers.library("scale")


def test_commands_are_made_for_each_number_of_threads(tmp_path):
    file = tmp_path / "cells.txt"
    file.write_text("# nothing\nbench_x T/2 T {600} 16 --touch none # why\n")
    assert list(handovers.commands(file, [1, 8])) == [
        ("x T/2 T 600/T 16 --touch none", 1, ["bench_x", "1", "1", "600", "16", "--touch", "none"]),
        ("x T/2 T 600/T 16 --touch none", 8, ["bench_x", "4", "8", "75", "16", "--touch", "none"]),
    ]
    file.write_text("# nothing\n")
    with pytest.raises(LabError, match="no commands"):
        list(handovers.commands(file, [2]))


def test_one_thread_hands_nothing_over(counter):
    count = handovers.count(counter, 1, ["bench_mixed_st", "20000", "400", "16", "2048"])
    assert count.all_written == 0 and count.fetched == 0


def test_what_passes_from_thread_to_thread_is_counted(counter):
    argv = ["bench_prodcons", "1", "1", "100000", "16", "1024", "--touch", "none"]
    first, second = handovers.count(counter, 2, argv), handovers.count(counter, 2, argv)
    # One thread marks state bytes as live, the other as free, so each line changes hands at least once for each batch.
    assert first.written["states"] > 0.5
    assert first.written["magazines"] > 1 / 30
    assert first.written["bitmaps"] < 0.1
    assert abs(first.all_written - second.all_written) < 0.1 * first.all_written


def test_a_program_that_fails_is_an_error(counter):
    with pytest.raises(LabError, match="bench_prodcons"):
        handovers.count(counter, 2, ["bench_prodcons"])
