"""The owner stash, also in forms that no lane has.  If an owner takes nothing from its stash, the memory in it is
bounded and serves other threads."""

import pytest

from variants import run, variant

STASHES = [
    variant("scale", ADOPT_MIN=65536),
    variant("scale", ADOPT_MIN=65536, S112_FULL_DRAIN_EXCHANGE=1, S48_OWNER_STASH_SPILL=1, OWNER_STASH_INSTANCES=4),
    variant("scale", ADOPT_MIN=65536, S44_TRANSPORT_LIST=1, S44_OWNER_STASH_COUNT=1),
    variant("classic"),
    variant("classic", S112_FULL_DRAIN_EXCHANGE=0),
    variant("classic", S44_OWNER_STASH_COUNT=1),
    variant("classic", S44_OWNER_STASH_COUNT=1, DELAY=1),
]


@pytest.mark.parametrize("stash", STASHES, ids=str)
@pytest.mark.parametrize("case", ["flood 64", "flood 1000", "flood 20000", "asleep", "dead", "heir", "idle", "overtaken"])
def test_an_owner_that_does_not_look(stash, case):
    run(stash.program("lanes/bounds.c"), *case.split(), HZ3_DECAY="600s", HZ3_BACKGROUND="0")


@pytest.mark.parametrize("stash", STASHES, ids=str)
def test_all_verbs(stash):
    run(stash.program("unit/owner_stash.c", libraries=("-lcmocka",)))


@pytest.mark.parametrize("settable, given, warned", [
    (1, "3", True), (1, "32", True), (1, "many", True), (1, "16", False), (1, "auto", False),
    (0, "2", True), (0, "1", False), (0, "auto", False), (0, "lane", False),
])
def test_bad_numbers_of_instances_are_named(settable, given, warned):
    program = variant("scale", S144_SETTABLE=settable).program("lanes/idle.c")
    said = run(program, HZ3_OWNER_STASH_INSTANCES=given).stderr
    why = (" (it takes 1, 2, 4, 8, 16, auto or lane)" if settable
           else " (this build is fixed at 1: HZ3_S144_SETTABLE=0)")
    assert said == f"hz3: warning: bad value for HZ3_OWNER_STASH_INSTANCES: {given}{why}\n" * warned
