"""Work order S44-4: a form of the walk is worth something only if a pop costs less in it.  valgrind counts instructions,
where the order has the self% of perf, which virtual machines have no counters for.  `pytest -s` shows the figures."""

import re

import pytest
from variants import run, variant

ROUNDS, OBJECTS = 2000, 32


def an_object(folder, **changes):
    """The instructions of a pop for each object that it hands out."""
    program = variant("classic", **changes).program("classic/pop.c")
    under = folder / "callgrind"
    under.write_text(f"#!/bin/sh\nexec valgrind -q --tool=callgrind --toggle-collect=hz3_owner_stash_pop_batch "
                     f"--callgrind-out-file={folder}/counts {program} \"$@\"\n")
    under.chmod(0o755)
    run(under, ROUNDS)
    (total,) = re.findall(r"^totals: (\d+)$", (folder / "counts").read_text(), re.MULTILINE)
    figure = int(total) / (ROUNDS * OBJECTS)
    print(f"{figure:.2f} instructions of pop_batch for each object: {changes}")
    return figure


@pytest.mark.parametrize("form", [{"S44_4_WALK_UNROLL": 4}, {"S44_4_WALK_UNROLL": 8}], ids=str)
def test_a_walk_of_several_costs_less(form, tmp_path):
    assert an_object(tmp_path, **form) < an_object(tmp_path)


def test_what_the_other_forms_cost_is_shown(tmp_path):
    base = an_object(tmp_path)
    for form in ("S44_4_WALK_NOPREV", "S44_4_SPILL_HELPER"):
        assert abs(an_object(tmp_path, **{form: 1}) - base) < 1  # they change a pop, and not each of its objects
