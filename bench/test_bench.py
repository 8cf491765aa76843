"""The benchmark programs and compare.py tell the truth.  Needs out/ built and Debian's jemalloc.

    python3 -m pytest bench
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import compare

JEMALLOC = compare.library("jemalloc")[1]
MT_REMOTE = "bench_random_mixed_mt_remote_malloc"
QUICK = [
    f"{MT_REMOTE} 4 20000 50 16 2048 50",
    "bench_mixed_st 20000 50 16 32768 --dist app --touch all",
    "bench_prodcons 2 3 20000 16 1024 --touch ends",
    "bench_burst_idle 16 1000 3 1",
    "bench_fragment_idle 8 16 4096 64 1",
    "bench_thread_churn 30 7",
    "bench_handover dead 4",
    "bench_many_threads 20",
]


def run(command, path=None):
    return compare.run(command.split(), "test", path)


@pytest.mark.parametrize("path", [None, JEMALLOC], ids=["glibc", "jemalloc"])
@pytest.mark.parametrize("command", QUICK)
def test_every_program_gives_one_line_from_the_right_allocator(command, path):
    result = run(command, path)  # ends the test where line or identity is wrong
    assert result["bench"] == command.split()[0]
    assert 0 < result["end_kib"] < 64 * 1024


def test_identity_of_a_library_without_malloc_is_refused(tmp_path):
    no_malloc = shutil.copy(compare.installed("libdl.so.2").resolve(), tmp_path / "liballoc.so")
    with pytest.raises(SystemExit, match="served malloc"):
        run("bench_mixed_st 10 10 16 64", Path(no_malloc))


def test_two_builds_of_one_name_are_told_apart(tmp_path):
    copy = Path(shutil.copy(JEMALLOC, tmp_path / JEMALLOC.name))
    result = run("bench_mixed_st 10 10 16 64", copy)
    with pytest.raises(SystemExit, match="served malloc"):
        compare.check_identity(result, "jemalloc", JEMALLOC)


@pytest.mark.parametrize("remote", [0, 50, 90])
def test_remote_share_is_the_one_asked_for(remote):
    result = run(f"{MT_REMOTE} 4 100000 100 16 64 {remote}", JEMALLOC)
    assert float(result["effective_remote_pct"]) == pytest.approx(remote, abs=1)
    assert result["overflow"] == "ok"


def test_one_thread_sends_nothing():
    assert run(f"{MT_REMOTE} 1 10000 100 16 64 90")["remote_sent"] == "0"


def test_overflow_is_reported_and_matched_avoids_it():
    crowded = f"{MT_REMOTE} 4 100000 100 16 64 90 3"
    free_for_all, matched = run(crowded), run(crowded + " --matched")
    assert free_for_all["overflow"] == "above_0.1%"
    assert (matched["overflow_sent"], matched["overflow"]) == ("0", "ok")


def test_the_programs_own_memory_is_in_no_figure():
    result = run(f"{MT_REMOTE} 4 1000 100 16 64 50 1048576")
    assert result["own_kib"] > 32 * 1024
    assert 0 < result["peak_kib"] < 8 * 1024


def test_touching_commits_what_not_touching_leaves_alone():
    touched, untouched = (run(f"bench_mixed_st 2000 1000 100000 110000 --touch {how}") for how in ("all", "none"))
    assert touched["peak_kib"] > 40 * 1024 > untouched["peak_kib"]


def test_idle_sees_memory_that_is_given_back(monkeypatch):
    burst = "bench_burst_idle 64 1000 4 1"
    assert run(burst, JEMALLOC)["end_share"] > 0.9
    monkeypatch.setenv("MALLOC_CONF", "dirty_decay_ms:0,muzzy_decay_ms:0,tcache:false")
    assert run(burst, JEMALLOC)["end_share"] < 0.3


def test_handover_tells_reuse_from_doubling():
    again = {mode: run(f"bench_handover {mode} 32", JEMALLOC)["again_ratio"] for mode in ("sleep", "dead")}
    assert again["dead"] < 1.2 and again["sleep"] > 1.7


def test_a_wrong_command_line_is_an_error_without_a_line():
    program = compare.PROGRAMS / "bench_mixed_st"
    for words in (["1", "2", "3"], ["1", "2", "3", "4", "5"], ["1", "2", "x", "4"], ["1", "2", "3", "2"],
                  ["1", "2", "3", "4", "--touch"], ["1", "2", "3", "4", "--touch", "no"], ["1", "2", "3", "4", "--no"]):
        done = subprocess.run([program, *words], capture_output=True, text=True)
        assert done.returncode != 0 and done.stdout == "" and done.stderr != ""


def test_table_gives_median_range_and_ratio():
    runs = {"a": [1e6, 4e6, 2e6], "b": [3e6, 1e6, 9e6]}
    results = {name: [{"ops_per_s": v, "own_kib": 7.0} for v in values] for name, values in runs.items()}
    assert compare.table(results, "a") == [
        ["", "ops_per_s", "[range]", "ratio"],
        ["a", "2.00M", "[1.00M 4.00M]", "1.00x"],
        ["b", "3.00M", "[1.00M 9.00M]", "1.50x"],
    ]


def test_cells_and_raw_lines(tmp_path):
    cells, raw = tmp_path / "cells", tmp_path / "raw"
    cells.write_text("# two\nbench_mixed_st 1000 10 16 64\n\nbench_mixed_st 2000 10 16 64 # last\n")
    script = Path(compare.__file__)
    subprocess.run([sys.executable, script, "glibc", "jemalloc", "--blocks", "3", "--cells", cells, "--jsonl", raw],
                   check=True, stdout=subprocess.DEVNULL, env=os.environ)
    lines = raw.read_text().splitlines()
    assert len(lines) == 2 * 2 * 3
    for block in range(0, len(lines), 2):
        assert {compare.json.loads(line)["library"] for line in lines[block:block + 2]} == {"glibc", "jemalloc"}
