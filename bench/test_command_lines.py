"""The programs refuse wrong command lines, take those of the lists, and docs/lab.md has them all."""

import itertools
import re
import subprocess

import pytest

from lab import ROOT, handovers, peers

MT_REMOTE = "bench_random_mixed_mt_remote_malloc"
PROGRAMS = sorted(file.stem for file in (ROOT / "bench").glob("bench_*.c"))


def refusal(program, *words):
    """The lines on stderr after a refused command line: the reason, the usage, and the question."""
    done = subprocess.run([ROOT / "out" / program, *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    why, usage, question = done.stderr.splitlines()
    assert why.startswith(f"{program}: ") and usage.startswith(f"usage: {program} ")
    return why, usage, question


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_wrong_command_line_is_refused_with_usage_and_question(program):
    _, usage, question = refusal(program, "--no-such-option")
    assert question.endswith("?")
    if "<" in usage:
        assert "is missing" in refusal(program)[0]


@pytest.mark.parametrize("words, why", [
    ("bench_mixed_st 1 2 x 4", "min must be a number"),
    ("bench_mixed_st 1 2 3 2", "min <= max"),
    ("bench_mixed_st 1 0 3 4", "ws must be a number from 1"),
    ("bench_mixed_st 1 2 3 4294967296", "max must be a number from 0 to 4294967295"),
    ("bench_mixed_st 1 2 3 4 --touch", "--touch needs one of"),
    ("bench_mixed_st 1 2 3 4 --touch no", "--touch must be one of"),
    ("bench_mixed_st 1 2 300 400 --dist app", "--dist app needs"),
    (f"{MT_REMOTE} 0 1 1 16 64 50", "threads must be a number from 1"),
    (f"{MT_REMOTE} 2 1 1 16 64 101", "remote_pct must be a number from 0 to 100"),
    (f"{MT_REMOTE} 2 1 1 16 64 50 0", "ring_slots must be a number from 1"),
    ("bench_chain 1 1 24 64", "stages must be a number from 2"),
    ("bench_chain 2 1 16 64", "17 <= min <= max"),
    ("bench_linked 1 1 1 1 32 64", "min must be a number from 33"),
    ("bench_false_sharing both 1 1 1 1", "kind must be one of active|passive"),
    ("bench_burst_idle 1 1 1 61", "idle_s must be a number from 1 to 60"),
    ("bench_burst_idle 1 2000000", "mib must have room for an object of each thread"),
    ("bench_growing 8388608 2147483648", "kib must be a number from 1 to 1048576"),
    ("bench_changing 2 16 513", "phases must be a number from 2 to 512"),
    ("bench_many_threads 1048577", "threads must be a number from 1 to 1048576"),
    ("bench_thread_churn 1048577 1048577", "alive must be a number from 1 to 1048576"),
    ("bench_handover dead 1 2000000", "mib must have room for an object"),
    ("bench_fragment_idle 1 16 2000000", "mib must have room for an object of 2000000 bytes"),
    ("bench_phase_change 1 16 65536 32 4", "mib must have room for an object of 4194304 bytes"),
    ("bench_thread_churn 3 4", "alive must be at most threads"),
])
def test_a_refusal_says_why(words, why):
    assert why in refusal(*words.split())[0]


LISTS = {path.name: [cell.argv for cell in peers.cells(path).values()]
         for path in sorted((ROOT / "bench").glob("cells-*.txt")) if path.stem not in ("cells-programs", "cells-orders")}
LISTS["handovers.txt"] = [argv for _, _, argv in handovers.commands(ROOT / "bench/handovers.txt", [2])]


@pytest.mark.parametrize("commands", LISTS.values(), ids=LISTS)
def test_lists_name_programs_that_take_their_words(commands):
    """With one argument too many, a program refuses that argument and none before it."""
    for program, *words in commands:
        places = re.findall(r" [<\[](?!-)", refusal(program, "--no-such-option")[1])
        given = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
        filled = words + ["2"] * (len(places) - len(given))
        assert refusal(program, *filled, "extra")[0] == f"{program}: too many arguments at extra"


def test_every_pattern_has_a_cell_and_the_matrix_is_whole():
    cells = {name: [" ".join(cell.argv) for cell in peers.cells(ROOT / f"bench/cells-{name}.txt").values()]
             for name in ("matrix", "patterns", "waves", "memory")}
    assert {c.split()[0] for list_ in cells.values() for c in list_} == {*PROGRAMS} - {"bench_pop"}  # of experiments
    remote = {(w[1], w[4], w[5], w[6], w[9], "--matched" in w)
              for w in map(str.split, cells["matrix"]) if MT_REMOTE in w}
    assert remote == {(threads, "16", largest, share, touch, matched)
                      for threads in ("2", "8", "32") for largest in ("2048", "32768") for share in ("0", "50", "90")
                      for touch in ("none", "ends") for matched in (False, True) if not (matched and share == "0")}
    single = {(w[3], w[4], "app" in w, w[-1]) for w in map(str.split, cells["matrix"]) if "bench_mixed_st" in w}
    assert single == {(*sizes, touch) for touch in ("none", "ends") for sizes in (
        ("16", "2048", False), ("4096", "32768", False), ("16", "32768", False), ("16", "32768", True))}


def test_the_documentation_knows_every_program():
    page = (ROOT / "docs" / "lab.md").read_text()
    for program in PROGRAMS:
        _, usage, question = refusal(program, "--no-such-option")
        parameters = usage.removeprefix(f"usage: {program} ").replace("|", "\\|")
        assert f"| `{program}` | {question} | `{parameters}` |" in page
