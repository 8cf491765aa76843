"""More threads than processors, where magazines belong to processors."""

import platform

import pytest

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
