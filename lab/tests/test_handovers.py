"""The counter of handed-over lines counts none with one thread, and many where threads pass objects on."""

import statistics

import pytest

from lab import LabError, build, handovers, peers, registry
from lab.plan import Plan


@pytest.fixture(scope="module")
def counter():
    build.Builder(registry.read()).benches(["bench_mixed_st", "bench_prodcons"])
    return handovers.library("scale")


def test_commands_are_made_for_each_number_of_threads(tmp_path):
    file = tmp_path / "cells.txt"
    file.write_text("# nothing\nbench_x T/2 T {600} 16 --touch none # why\n")
    assert list(handovers.commands(file, [2, 8])) == [
        ("x T/2 T 600/T 16 --touch none", 2, ["bench_x", "1", "2", "300", "16", "--touch", "none"]),
        ("x T/2 T 600/T 16 --touch none", 8, ["bench_x", "4", "8", "75", "16", "--touch", "none"]),
    ]
    with pytest.raises(LabError, match="T/2 is no whole number where T is 3"):
        list(handovers.commands(file, [3]))
    file.write_text("# nothing\n")
    with pytest.raises(LabError, match="no commands"):
        list(handovers.commands(file, [2]))


def test_what_has_few_iterations_keeps_them(tmp_path):
    file = tmp_path / "cells.txt"
    file.write_text("bench_x {24} 8\nbench_x {30000} 8\nbench_x {100000} 8\n")
    assert [cell.argv[1] for cell in peers.cells(file, 0.02, 1000).values()] == ["24", "1000", "2000"]


def test_one_thread_hands_nothing_over(counter):
    count = handovers.count(counter, 1, ["bench_mixed_st", "20000", "400", "16", "2048"])
    assert count.all_written == 0 and count.fetched == 0


def test_what_passes_from_thread_to_thread_is_counted(counter):
    argv = ["bench_prodcons", "1", "1", "100000", "16", "1024", "--touch", "none"]
    counts = [handovers.count(counter, 2, argv) for _ in range(10)]
    first = counts[0]
    # One thread marks state bytes as live, the other as free, so each line changes hands at least once for each batch.
    assert first.written["states"] > 0.5
    assert first.written["magazines"] > 1 / 30
    assert first.written["bitmaps"] < 0.1
    # How far the consumer lags differs from run to run, and with it each count, by a fifth under load.
    once, again = (statistics.median(count.all_written for count in half) for half in (counts[:5], counts[5:]))
    assert abs(once - again) < 0.3 * once


def test_settings_from_outside_reach_no_count(tmp_path, monkeypatch):
    program = tmp_path / "out/fake"
    program.parent.mkdir()
    words = " ".join(f"written_{kind}=1 fetched_{kind}=1" for kind in handovers.KINDS)
    program.write_text(
        f'#!/bin/sh\necho "handovers: mallocs=$HZ3_HEAPS {words}" >&2\nexit "${{HZ3_THREAD_CACHE:-0}}"\n'
    )
    program.chmod(0o755)
    monkeypatch.setattr(handovers, "ROOT", tmp_path)
    monkeypatch.setenv("HZ3_HEAPS", "1")
    monkeypatch.setenv("HZ3_THREAD_CACHE", "1")
    assert handovers.count(tmp_path / "none.so", 3, ["fake"]).written["heads"] == 1 / 6


def test_a_program_that_fails_is_an_error(counter):
    with pytest.raises(LabError, match="bench_prodcons"):
        handovers.count(counter, 2, ["bench_prodcons"])


def test_counts_of_cells_are_kept_for_plans_of_any_length(counter, tmp_path, monkeypatch):
    cells = tmp_path / "bench/cells-two.txt"
    cells.parent.mkdir()
    cells.write_text("bench_prodcons 1 1 {10000000} 16 1024 --touch none\nbench_mixed_st {10000000} 400 16 2048\n")
    monkeypatch.setattr(handovers, "KEPT", tmp_path / "handovers.json")
    plan = Plan("peers", "peers-cells-two", {}, {}, 3, scale=0.5)
    assert handovers.kept(plan) == {}
    handovers.keep(counter, cells)
    monkeypatch.setattr(handovers, "ROOT", tmp_path)
    kept = handovers.kept(plan)
    assert kept["prodcons 1 1 5000000 16 1024 --touch none"] > 0.5 and kept["mixed_st 5000000 400 16 2048"] == 0
    cells.write_text("bench_prodcons 1 1 {10000000} 16 1024 --touch all\n")
    assert handovers.kept(plan) == {}
