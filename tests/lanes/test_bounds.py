"""The owner stash, also in forms that no lane has.  If an owner takes nothing from lane scale's stash, the memory in it
is bounded and serves other threads; lane classic's is bounded by a number of objects alone, and serves its owner."""

import pytest
from variants import later, run, variant

RETURNS = variant("scale", ADOPT_MIN=65536)
STASHES = [
    RETURNS,
    variant("classic"),
    variant("classic", S112_FULL_DRAIN_EXCHANGE=0),
    variant("classic", S44_OWNER_STASH_COUNT=1),
    variant("classic", S44_OWNER_STASH_COUNT=1, DELAY=1),
    variant("classic", S44_DRAIN_LIMIT=5, S48_OWNER_STASH_SPILL=0, S67_SPILL_ARRAY=0),
    variant("classic", S67_SPILL_ARRAY=0, S44_STASH_MAX_OBJS=300),
    variant("classic", S44_4_WALK_NOPREV=1, S44_4_WALK_UNROLL=4),
    variant("classic", S44_4_WALK_UNROLL=8),
    variant("classic", OWNER_STASH_INSTANCES=4),
    variant("classic", OWNER_STASH_INSTANCES=16, S44_OWNER_STASH_COUNT=1),
    variant("classic", S144_SETTABLE=1),
]


@pytest.mark.parametrize("case", ["flood 64", "flood 1000", "flood 20000", "asleep", "dead", "heir", "idle", "overtaken"])
def test_an_owner_that_does_not_look(case):
    run(RETURNS.program("lanes/bounds.c"), *case.split(), HZ3_DECAY="600s", HZ3_BACKGROUND="0")


@pytest.mark.parametrize("stash", later(STASHES), ids=str)
def test_all_verbs(stash):
    for test in ("classic/owner_stash.c", "classic/burst.c") if stash.lane == "classic" else ("unit/owner_stash.c",):
        run(stash.program(test, libraries=("-lcmocka",)))


@pytest.mark.matrix
def test_a_list_with_a_count_beside_its_head():
    run(variant("classic", S44_OWNER_STASH_COUNT=1).program("classic/list.c", libraries=("-lcmocka",)))


@pytest.mark.matrix
@pytest.mark.parametrize("changes", [{}, {"S142_CENTRAL_LOCKFREE": 0}], ids=str)
def test_the_cache_before_central(changes):
    run(variant("classic", S145_CENTRAL_LOCAL_CACHE=1, **changes).program("classic/refill.c", libraries=("-lcmocka",)))


@pytest.mark.matrix
@pytest.mark.parametrize("given, warned", [("many", True), ("0", True), ("3", False), ("16", False), ("auto", False)])
def test_bad_numbers_of_instances_are_named(given, warned):
    program = variant("classic", S144_SETTABLE=1).program("lanes/idle.c")
    said = run(program, HZ3_OWNER_STASH_INSTANCES=given).stderr
    why = " (it takes a number from 1 on, or auto)"
    assert said == f"hz3: warning: bad value for HZ3_OWNER_STASH_INSTANCES: {given}{why}\n" * warned
