"""Records programs, and plays traces."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HZ3 = ROOT / "bin/hz3"
HERE = Path(__file__).parent
PLAYER = [ROOT / "trace/play.c", ROOT / "trace/compose.c"]


def build(target, *words):
    subprocess.run([*words, "-o", target, "-pthread", "-ldl"], check=True)
    return target


def record(path, *command, status=0, said="", **options):
    done = subprocess.run([HZ3, "record", "-o", path, "--", *command], capture_output=True, text=True, **options)
    assert done.returncode == status, done.stderr
    assert said in done.stderr if said else done.stderr == ""
    return done


def preloading(library):
    """The environment that preloads it, if any; skips the test where it is not installed."""
    library = {"hz3": str(ROOT / "libhakozuna_hz3_scale.so")}.get(library, library)
    if library and "/" not in library and library not in subprocess.run(
            ["ldconfig", "-p"], capture_output=True, text=True, env={"PATH": "/sbin:/usr/sbin:/bin"}).stdout:
        pytest.skip(f"{library} is not installed")
    return {**os.environ, **({"LD_PRELOAD": library} if library else {})}


def play(player, *arguments, env=()):
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0", **dict(env)}
    return subprocess.run([player, *arguments], capture_output=True, text=True, timeout=60, env=env)


def words(done):
    assert done.returncode == 0, done.stderr
    return dict(re.findall(r'(\w+)=("[^"]*"|\S*)', done.stdout))
