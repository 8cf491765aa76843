"""An owner that does not look holds nobody's memory: what is in flight to it is bounded and serves whoever needs it."""

import pytest

from variants import run, variant

STASHES = [
    variant("scale", ADOPT=0, ADOPT_MIN=0),
    variant("scale", ADOPT=0, ADOPT_MIN=0, S112_FULL_DRAIN_EXCHANGE=1, S48_OWNER_STASH_SPILL=1, OWNER_STASH_INSTANCES=4),
    variant("scale", ADOPT=0, ADOPT_MIN=0, S44_TRANSPORT_LIST=1, S44_OWNER_STASH_COUNT=1),
    variant("classic"),
    variant("classic", S112_FULL_DRAIN_EXCHANGE=0),
    variant("classic", S44_OWNER_STASH_COUNT=1),
]


@pytest.mark.parametrize("stash", STASHES, ids=str)
@pytest.mark.parametrize("case", ["flood 64", "flood 1000", "flood 20000", "asleep", "dead", "heir", "idle"])
def test_an_owner_that_does_not_look(stash, case):
    run(stash.program("lanes/bounds.c"), *case.split(), HZ3_DECAY="600s", HZ3_BACKGROUND="0")
