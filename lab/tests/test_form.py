"""The project's Python passes its tools, with the settings in pyproject.toml.  The lock files are complete."""

import re
import subprocess
import sys
import tomllib

import pytest

from lab import ROOT

LOCKS = {"lab": "lab/requirements.txt", "test": "tests/requirements.txt", "programs": "bench/requirements.txt"}


@pytest.mark.parametrize("argv", [
    ["ruff", "check", "--no-cache", "lab", "look", "tests", "peers", "bench"],
    ["ruff", "format", "--no-cache", "--check", "lab", "look"],
    ["mypy", "--cache-dir", "build/mypy"],
], ids=" ".join)  # fmt: skip
def test_a_tool_has_nothing_to_say(argv):
    done = subprocess.run([sys.executable, "-m", *argv], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("part", LOCKS)
def test_the_lock_has_what_is_asked_for_and_a_digest_of_every_package(part):
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wanted = asked["project"]["dependencies"] if part == "lab" else asked["dependency-groups"][part]
    text = (ROOT / LOCKS[part]).read_text()
    entries = re.findall(r"^([a-z0-9-]+==\S+)((?:[^\\\n]|\\\n)*)", text, re.MULTILINE)
    locked = {name for name, _ in entries}
    assert wanted and set(wanted) <= locked
    assert all("--hash=sha256:" in rest for _, rest in entries)
    assert "://" not in text  # users may have their own registry
