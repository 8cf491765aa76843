"""profile_cost.py measures nothing but what it says."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import profile_cost
import pytest

needs_redis = pytest.mark.skipif(
    not shutil.which("redis-server") or not profile_cost.LIBRARY.is_file(), reason="no Redis, or no lane scale"
)


@pytest.mark.parametrize("words, why", [
    ("--blocks 6", "6 is not a number from 7"), ("--blocks -8", "-8 is not a number from 7"),
    ("--requests x", "x is not a number from 60")])
def test_wrong_words_are_refused(words, why, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["profile_cost.py", *words.split()])
    with pytest.raises(SystemExit):
        profile_cost.main()
    assert why in capsys.readouterr().err


def test_a_library_that_is_not_built_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["profile_cost.py"])
    monkeypatch.setattr(profile_cost, "LIBRARY", Path("/libnone.so"))
    monkeypatch.setattr(shutil, "which", str)
    with pytest.raises(SystemExit):
        profile_cost.main()
    assert "there is no libnone.so: make all_ldpreload_scale" in capsys.readouterr().err


def test_instructions_of_code_without_a_file_are_nobody_s():
    lines = ["ob=(1) /usr/lib/libone.so", "fn=(1) a", "1 10", "cob=(2) ???", "cfn=(2) b", "calls=1 0", "+2 70",
             "ob=(2)", "fn=(2)", "1 5", "ob=(3) ???", "fn=(3) c", "1 7", "ob=(1)", "fn=(1)", "* 1"]
    assert profile_cost.by_object(lines) == {"libone.so": 11, "???": 12}


@needs_redis
def test_a_profile_that_was_not_made_is_no_figure():
    assert profile_cost.serve(600, "512K")[0] > 0
    with pytest.raises(SystemExit, match="did not do what it should"):
        profile_cost.serve(600, "much")


@needs_redis
def test_a_library_that_was_not_preloaded_is_no_figure(monkeypatch, tmp_path):
    monkeypatch.setattr(profile_cost, "LIBRARY", tmp_path / "libnone.so")
    with pytest.raises(SystemExit, match="did not do what it should"):
        profile_cost.serve(600, "")


@needs_redis
def test_a_server_that_fails_at_its_end_is_no_figure(monkeypatch):
    wait4 = os.wait4

    def failed(*asked):
        pid, _, usage = wait4(*asked)
        return pid, 3 << 8, usage

    monkeypatch.setattr(os, "wait4", failed)
    with pytest.raises(SystemExit, match="did not do what it should"):
        profile_cost.serve(600, "")


@needs_redis
def test_no_server_stays_where_the_load_fails(monkeypatch):
    started, popen = [], subprocess.Popen
    monkeypatch.setattr(profile_cost, "LOAD", ["--no-such-option"])
    monkeypatch.setattr(subprocess, "Popen", lambda *args, **options: started.append(popen(*args, **options)) or started[-1])
    with pytest.raises(subprocess.CalledProcessError):
        profile_cost.serve(600, "")
    assert all(child.poll() is not None for child in started)
