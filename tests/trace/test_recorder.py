"""hz3 record of programs that have much of their own: operators, handlers of signals, functions of their allocator.  They
run as they do without it, and nothing is lost."""

import subprocess
from collections import Counter

import pytest
import trace_file
from trace_file import ALIGNED, MALLOC
from tracing import ROOT, build, preloading, record


@pytest.mark.parametrize("under", [None, "hz3", "libjemalloc.so.2"])
@pytest.mark.parametrize("source", ["operators.cpp", "replaced_operators.cpp"])
def test_operators_do_what_the_standard_says(under, source, tmp_path):
    """They call a program's own operators, and its new-handler."""
    env = preloading(under)
    of_any = ["-DHZ3_TEST_STANDIN=1", "-D_GNU_SOURCE", f"-I{ROOT / 'tests'}"]
    subprocess.run(["cc", "-c", ROOT / "tests/support.c", *of_any, "-o", tmp_path / "support.o"], check=True)
    program = build(tmp_path / "operators", "g++", "-std=c++17", "-Wno-sized-deallocation", *of_any,
                    ROOT / "tests/api" / source, tmp_path / "support.o")
    record(tmp_path / "t", program, env=env)
    if source == "replaced_operators.cpp":
        events, _ = trace_file.read(tmp_path / "t")
        found = Counter((event.kind, event.size, event.align) for event in events)
        assert found[MALLOC, 100 + 64, 0] == found[ALIGNED, 192, 6] == 6
