"""If one thread allocates and another frees, resident memory stays near live memory, however long this goes on."""

import re

import pytest
from variants import later, run, variant

SMALL_CACHES = {"HZ3_THREAD_CACHE": "256K", "HZ3_CACHE_TOTAL": "2M", "HZ3_TRANSFER_CACHE": "64K", "HZ3_DECAY": "100ms"}


@pytest.mark.parametrize("lane", ["scale", *later(["classic", "fast"])])
@pytest.mark.parametrize("pattern", ["8 1", "1 8", "ring 8"])
def test_memory_stays_near_what_is_live(lane, pattern, request):
    seconds = 30 if request.config.getoption("--long") else 2
    said = run(variant(lane).program("lanes/patterns.c"), *pattern.split(), seconds, **SMALL_CACHES).stdout
    figure = {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", said)}
    assert figure["passed"] > 10 * 8 * 4096  # the channels were full many times
    assert figure["peak_rss"] <= 1.5 * figure["peak_live"] + figure["cached"], said
