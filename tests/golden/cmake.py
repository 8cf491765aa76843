"""Builds hz3 by CMake in folders of the tests', and by make in build/."""

import os
import re
import subprocess

from lab import ROOT


def configure(root, build, *definitions, **environment):
    return subprocess.run(
        ["cmake", "-S", root, "-B", build, "-DHZ3_TESTS=OFF", "-DHZ3_BENCH=OFF", *definitions],
        capture_output=True, text=True, env={**os.environ, **environment},
    )


def build(directory, *arguments):
    done = subprocess.run(["cmake", "--build", directory, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def without_job_server():
    """The environment, with the variables of the make that runs the tests, but without its job server."""
    return {**os.environ, "MAKEFLAGS": re.sub(r"-j\d*|--jobserver-\S+", "", os.environ.get("MAKEFLAGS", ""))}


def make(*words, cwd=ROOT):
    return subprocess.run(["make", *words], cwd=cwd, capture_output=True, text=True, env=without_job_server())
