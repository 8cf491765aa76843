"""Who sorts what it frees for others, in builds that no lane is."""

import pytest

from variants import run, variant


@pytest.mark.parametrize("options", [(), ("-fsanitize=thread", "-O1", "-g", "-Wno-tsan")], ids=["plain", "raced"])
@pytest.mark.parametrize("sort", [0, 1, 2])
def test_who_sorts(sort, options):
    sorting = variant("scale", *options, OVERFLOW_SORT=sort, DEBUG=1)
    run(sorting.program("unit/sorting.c", libraries=("-lcmocka",)), TSAN_OPTIONS="halt_on_error=1")
