"""Every lane, every lane with one flag changed, and some with several.  Each builds and loses no object, or the build
is refused with a message that names the flag."""

import re

import pytest
from variants import LANES, Refused, later, matrix, run, variant

THREADS = 8
SHARING = ("scale", "classic")  # lanes that have the same flips: each runs them for half as long, by a seed of its own
COMBINED = [
    variant("scale", ADOPT_MIN=65536),
    variant("scale", ADOPT_MIN=65536, DELAY=1),
    variant("scale", ADOPT_MIN=65536, S44_STASH_MAX_OBJS=64),
    variant("classic", S121_PAGE_LOCAL_REMOTE=1, REMOTE_STASH_SPARSE=0, REMOTE_FLUSH_BUDGET=0, DELAY=1),
    variant("classic", S97_REMOTE_STASH_BUCKET=1),
    variant("classic", S48_OWNER_STASH_SPILL=0, S67_SPILL_ARRAY=0, S44_OWNER_STASH_COUNT=1, S44_DRAIN_LIMIT=8),
    variant("classic", S142_CENTRAL_LOCKFREE=0, S145_CENTRAL_LOCAL_CACHE=1, DELAY=1),
    variant("classic", S112_FULL_DRAIN_EXCHANGE=0, DELAY=1),
    variant("classic", S112_FULL_DRAIN_EXCHANGE=0, NUM_SHARDS=2, S44_OWNER_STASH_COUNT=1),
    variant("classic", S44_4_EARLY_PREFETCH_DIST=2, S44_PREFETCH_DIST=2, OWNER_STASH_INSTANCES=4, DELAY=1),
    variant("classic", S67_SPILL_ARRAY=0, S44_4_SPILL_HELPER=1, S44_4_WALK_NOPREV=1, S44_4_WALK_UNROLL=4),
    variant("classic", S44_4_EARLY_PREFETCH=0, S44_4_QUICK_EMPTY_USE_EPF_HINT=0),
    variant("classic", S44_4_SKIP_QUICK_EMPTY_CHECK=1, S44_4_QUICK_EMPTY_USE_EPF_HINT=0),
    variant("classic", S146_OVERFLOW_BATCH=8, S44_STASH_MAX_OBJS=64),
]
# ThreadSanitizer finds races that the counts do not show.  (make test has stress.sanitized of lane scale.)
RACES = [
    variant(lane, "-fsanitize=thread", "-O1", "-g", "-Wno-tsan", **changes) for lane, changes in [
        ("scale", {}),
        ("classic", {}),
        ("scale", {"ADOPT_MIN": 65536}),
        ("classic", {"OWNER_STASH_INSTANCES": 4}),
        ("classic", {"S121_PAGE_LOCAL_REMOTE": 1, "REMOTE_STASH_SPARSE": 0, "REMOTE_FLUSH_BUDGET": 0,
                     "S145_CENTRAL_LOCAL_CACHE": 1}),
        ("classic", {"S112_FULL_DRAIN_EXCHANGE": 0, "S44_OWNER_STASH_COUNT": 1, "S142_CENTRAL_LOCKFREE": 0}),
    ]]


def pytest_generate_tests(metafunc):
    if "flip" in metafunc.fixturenames:
        flips = [flip for flip in matrix(metafunc.config.getoption("--long")) if flip.changes]
        metafunc.parametrize("flip", [*map(variant, LANES), *later(flips)], ids=str)


@pytest.fixture(scope="session")
def conserve(request):
    """Runs conserve on a variant, once for all variants that are the same program."""
    long, passed = request.config.getoption("--long"), set()

    def conserve(variant, seconds=0.8, seed=1, **environment):
        program = variant.program("lanes/conserve.c", "lanes/audit.c")
        if (program, *environment.values()) not in passed:
            run(program, 6 if long else seconds, THREADS, seed, **environment)
            passed.add((program, *environment.values()))
    return conserve


def test_a_flip_is_refused_by_name_or_loses_nothing(flip, conserve):
    try:
        if flip.changes and flip.lane in SHARING:
            conserve(flip, seconds=0.4, seed=1 + SHARING.index(flip.lane))
        else:
            conserve(flip)
    except Refused as refused:
        assert flip.changes, refused
        assert re.search(rf'static assertion failed: ".*\b{flip.changes[0][0]}\b', str(refused)), refused


@pytest.mark.matrix
@pytest.mark.parametrize("flags", [
    {"OWNER_STASH_INSTANCES": 2}, {"S144_SETTABLE": 1}, {"S44_OWNER_STASH_COUNT": 1}, {"S44_PREFETCH_DIST": 2},
    {"S44_4_WALK_NOPREV": 1}, {"S44_4_WALK_UNROLL": 4}, {"S44_4_SPILL_HELPER": 1}, {"S44_4_EARLY_PREFETCH_DIST": 2},
    {"S44_DRAIN_LIMIT": 8, "S48_OWNER_STASH_SPILL": 0, "S67_SPILL_ARRAY": 0},
    {"S44_4_SKIP_QUICK_EMPTY_CHECK": 1, "S44_4_QUICK_EMPTY_USE_EPF_HINT": 0},
], ids=str)
def test_what_a_stash_would_have_is_refused_without_it(flags):
    with pytest.raises(Refused, match=rf'static assertion failed: "[^"]*HZ3_{next(iter(flags))}\b[^"]*_OWNER_STASH=1"'):
        variant("classic", S44_OWNER_STASH=0, **flags).program("lanes/idle.c")


@pytest.mark.matrix
@pytest.mark.parametrize("combined", COMBINED, ids=str)
def test_combinations_lose_nothing(combined, conserve):
    conserve(combined)


@pytest.mark.matrix
@pytest.mark.parametrize("instances", ["2", "16", "auto"])
def test_instances_set_at_start_lose_nothing(instances, conserve):
    conserve(variant("classic", S144_SETTABLE=1), HZ3_OWNER_STASH_INSTANCES=instances)


@pytest.mark.parametrize("raced", later(RACES), ids=str)
def test_no_races(raced, conserve):
    conserve(raced, TSAN_OPTIONS="halt_on_error=1", HZ3_DECAY="20")
