"""The number of atomic read-modify-writes that a remote free costs.  `pytest -s` shows the figures."""

import re

import pytest
from variants import run, variant


def atomics(lane, traffic, **changes):
    program = variant(lane, ATOMIC_STATS=1, **changes).program("lanes/atomics.c")
    said = run(program, traffic, HZ3_DECAY="1000s").stdout  # so that no pass of reclaim is counted
    figure = float(re.search(r"atomics_per_remote_free=(\S+)", said)[1])
    print(f"{figure:.5f} atomics per remote free: lane {lane} {changes}, {traffic} traffic")
    return figure


@pytest.mark.matrix
def test_one_for_each_object_where_objects_are_linked():
    assert 0.9 <= atomics("classic", "one_way") <= 2


def test_one_for_many_objects_where_magazines_go_home():
    assert 0 < atomics("scale", "one_way", ADOPT_MIN=65536) <= 1 / 16


def test_none_where_objects_are_adopted_and_traffic_is_symmetric():
    assert atomics("scale", "symmetric") == 0
