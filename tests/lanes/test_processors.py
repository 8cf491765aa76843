"""More threads than processors, in builds where magazines belong to processors."""

import platform
import shutil
import subprocess

import pytest

from lab import ROOT
from variants import run, variant

LIBC = tuple(int(part) for part in platform.libc_ver()[1].split(".")[:2])
WITHOUT = {"GLIBC_TUNABLES": "glibc.pthread.rseq=0"}


@pytest.mark.parametrize("flags", [{}, {"FREE_CHECK": 0}], ids=str)
@pytest.mark.parametrize("case, environment", [("hold", {}), ("fork", {}), ("stepped", {}), ("fall-back", WITHOUT)], ids=str)
def test_more_threads_than_processors(case, environment, flags):
    if platform.machine() != "x86_64" or LIBC < (2, 35):
        pytest.skip("restartable sequences need x86-64 and glibc 2.35")
    program = variant("scale", CPU_MAGAZINES=1, **flags).program("lanes/processors.c")
    run(program, case, HZ3_DECAY="600s", **environment)


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
def test_no_sequences_under_thread_sanitizer(compiler, tmp_path):
    if platform.machine() != "x86_64" or not shutil.which(compiler):
        pytest.skip(f"needs x86-64 and {compiler}")

    (tmp_path / "hz3_flags.h").touch()

    def rseq(*options):
        argv = [compiler, *options, "-E", "-I", tmp_path, "-I", ROOT / "src", ROOT / "src/os/rseq.h"]
        return "__rseq_offset" in subprocess.run(argv, check=True, capture_output=True, text=True).stdout

    assert rseq() and not rseq("-fsanitize=thread")
