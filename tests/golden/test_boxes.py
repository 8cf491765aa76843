"""Each value of a flag that the build accepts changes the code.  A box that is off adds no code."""

import re
import subprocess
from dataclasses import replace

import pytest
from variants import Refused, matrix, run, variant

# Flips that only rewrite the source, so that the compiler makes the same code.  There is none at present.
RESHAPINGS = {}


def as_shipped(one):
    """Its code, as much optimized as a lane is: then it may differ where it else does not."""
    return replace(one, options=()).code()


@pytest.mark.matrix
@pytest.mark.timeout(3600)  # if it runs first, it has to make all the builds
def test_every_accepted_flip_changes_the_code(request):
    plain, same = {}, set()
    for one in matrix(request.config.getoption("--long")):
        try:
            code = one.code()
        except Refused:
            continue
        if not one.changes:
            plain[one.lane] = code
        elif code == plain[one.lane] and as_shipped(one) == as_shipped(replace(one, changes=())):
            same.add(one)
    excepted = RESHAPINGS.keys()
    assert {str(one) for one in same if one.changes[0][0] not in excepted} == set()
    assert {one.changes[0][0] for one in same} >= excepted, "an exception that is none any more"


def test_small_memory_changes_the_defaults():
    said = [run(variant("scale", SMALL_MEMORY=value).program("lanes/idle.c"), HZ3_VERBOSE="1").stderr
            for value in (0, 1)]
    assert "HZ3_DECAY=1000ms = 1000 (default)" in said[0] and "HZ3_DECAY=100ms = 100 (default)" in said[1]


def test_observation_that_is_off_leaves_no_trace(library):
    symbols = subprocess.run(["nm", library], check=True, capture_output=True, text=True).stdout
    assert "hz3_thread" in symbols
    assert not re.findall(r"\b\w*(?:counter|rmw|(?<!out)boxes|delay)\w*", symbols)
