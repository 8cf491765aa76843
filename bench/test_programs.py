"""bench/programs.py measures what it says, or ends."""

import importlib.util
import shutil
import signal
import subprocess
import sys
import time

import pytest

from lab import ROOT, LabError, samples
from lab.plan import Cell

spec = importlib.util.spec_from_file_location("programs", ROOT / "bench/programs.py")
programs = importlib.util.module_from_spec(spec)
spec.loader.exec_module(programs)
SCALE = ROOT / "libhakozuna_hz3_scale.so"


@pytest.fixture
def taker(tmp_path, monkeypatch):
    monkeypatch.setitem(programs.PROGRAMS, "true", lambda env, folder: programs.cost(["true"], env, folder))
    return programs.Taker(tmp_path)


def test_who_served_is_proved(taker, tmp_path):
    assert taker("other", taker.arm(SCALE, "b.so"), Cell(["true"]))["peak_kib"] < 10000, "its own, and not the caller's"
    (tmp_path / "text").write_text("no library")
    with pytest.raises(LabError, match="libc.so.* served malloc"):
        taker("other", taker.arm(tmp_path / "text", "a.so"), Cell(["true"]))
    subprocess.run(["cc", "-shared", "-xc", "/dev/null", "-o", tmp_path / "empty"], check=True)
    with pytest.raises(LabError, match="libc.so.* served malloc"):
        taker("other", taker.arm(tmp_path / "empty", "a.so"), Cell(["true"]))


@pytest.mark.parametrize("command, ready, said", [
    ("exit 3", False, "does not serve: status 3"),
    ("sleep 60", False, "does not serve"),
    ("trap : TERM; while :; do sleep 0.1; done", True, "does not end"),
    ("trap 'exit 4' TERM; while :; do sleep 0.1; done", True, "ended with status 4"),
])
def test_a_server_that_fails_ends_it_soon(taker, tmp_path, monkeypatch, command, ready, said):
    monkeypatch.setattr(programs, "PATIENCE", 0.5)
    began = time.monotonic()
    with pytest.raises(LabError, match=said):
        programs.served(["sh", "-c", command], {"LD_PRELOAD": ""}, tmp_path, lambda: ready, lambda: time.sleep(0.2),
                        signal.SIGTERM)
    assert time.monotonic() - began < 5


def test_git_clones_the_repository_that_it_belongs_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(programs, "cost", lambda command, env, folder: command)
    assert programs.git({}, tmp_path)[-1] == ROOT


def test_the_interval_is_that_of_the_pairs():
    assert programs.estimate([[1.1] * 7, [1.1] * 7]) == "1.100x [1.100 1.100]"
    mean, low, high = (float(word.strip("x[]")) for word in programs.estimate([[1, 2, 4], [1, 2, 4]]).split())
    assert low < mean == 2 < high


@pytest.mark.skipif(not shutil.which("perl"), reason="perl is not installed")
def test_every_sample_is_kept(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(programs, "RESULTS", tmp_path)
    monkeypatch.setattr(sys, "argv", ["programs.py", "--pairs", "1", "--only", "perl", str(SCALE), str(SCALE)])
    programs.main()
    assert "\ngeometric mean, peak RSS: " in capsys.readouterr().out
    (kept,) = tmp_path.glob("*.jsonl")
    (block,) = samples.Samples.load(kept).blocks("perl", "ab")
    assert set(block) == {"baseline", "other"} and block["other"]["cpu_s"] > 0
    assert str(tmp_path) not in kept.read_text()
