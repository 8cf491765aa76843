"""The owner stash, also in forms that no lane has.  If an owner takes nothing from its stash, the memory in it is
bounded and serves other threads."""

import pytest
from variants import run, variant

STASHES = [
    variant("scale", ADOPT_MIN=65536),
    variant("classic"),
    variant("classic", S112_FULL_DRAIN_EXCHANGE=0),
    variant("classic", S44_OWNER_STASH_COUNT=1),
    variant("classic", S44_OWNER_STASH_COUNT=1, DELAY=1),
    variant("classic", S44_TRANSPORT_LIST=0, S44_OWNER_STASH_FASTPOP=0, S67_SPILL_ARRAY=0, S44_PREFETCH=0,
            S44_4_WALK_PREFETCH_UNCOND=0, S44_4_EARLY_PREFETCH=0, S44_4_QUICK_EMPTY_USE_EPF_HINT=0,
            S97_REMOTE_STASH_BUCKET=1, OWNER_STASH_INSTANCES=4),
]


@pytest.mark.parametrize("stash", STASHES, ids=str)
@pytest.mark.parametrize("case", ["flood 64", "flood 1000", "flood 20000", "asleep", "dead", "heir", "idle", "overtaken"])
def test_an_owner_that_does_not_look(stash, case):
    if case == "heir" and "OWNER_STASH_INSTANCES" in str(stash):
        pytest.skip("a pop looks into one of its bins, and then into runs")
    run(stash.program("lanes/bounds.c"), *case.split(), HZ3_DECAY="600s", HZ3_BACKGROUND="0")


@pytest.mark.parametrize("stash", STASHES, ids=str)
def test_all_verbs(stash):
    test = "classic" if stash.lane == "classic" else "unit"
    run(stash.program(f"{test}/owner_stash.c", libraries=("-lcmocka",)))


@pytest.mark.parametrize("given, warned", [("many", True), ("0", True), ("3", False), ("16", False), ("auto", False)])
def test_bad_numbers_of_instances_are_named(given, warned):
    program = variant("classic", S144_SETTABLE=1).program("lanes/idle.c")
    said = run(program, HZ3_OWNER_STASH_INSTANCES=given).stderr
    why = " (it takes a number, or auto)"
    assert said == f"hz3: warning: bad value for HZ3_OWNER_STASH_INSTANCES: {given}{why}\n" * warned
