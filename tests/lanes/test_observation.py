"""The observation boxes print one line each at exit, in a fixed form, with figures that add up."""

import re

import pytest
from variants import run, variant

pytestmark = pytest.mark.matrix  # they are lane classic's
N, PERCENT, MEAN = r"=(\d+)", r"=(\d+\.\d)", r"=(\d+\.\d)"
PUSHES = f"push_calls{N} objs{N} cas_retry_total{N} cas_retry_max{N}"
FORMS = {
    "S44_STATS": ("HZ3_S44", f"pushed{N} refused{N} popped{N} trimmed{N}"),
    "S44_4_STATS": ("HZ3_S44_4", f"pop_calls{N} want_avg{MEAN} want_32_pct{PERCENT} drained_avg{MEAN} drained_max{N} "
                                 f"spill_hit_pct{PERCENT} fastpop_miss_pct{PERCENT} drained_p95{N}"),
    "S67_STATS": ("HZ3_S67", f"kept{N} served{N} put_back{N}"),
    "S74_STATS": ("HZ3_S74", f"refills{N} s44_calls{N} s44_objs{N} s42_calls{N} s42_objs{N} s145_objs{N} "
                             f"central_objs{N} run_objs{N}"),
    "S96_OWNER_STASH_PUSH_STATS": ("HZ3_S96_OWNER_STASH_PUSH", f"{PUSHES} push_one: {PUSHES} push_list: {PUSHES}"),
}
HOME = [
    ("classic", {}),
    ("classic", {"S112_FULL_DRAIN_EXCHANGE": 0}),
    ("classic", {"S67_SPILL_ARRAY": 0, "S44_OWNER_STASH_COUNT": 1}),
]
FREED, TAKEN = 4000, 1000


def observe(lane, changes, *arguments):
    """Returns the boxes' fields, and from the program how many objects are left in the stash and the spills."""
    program = variant(lane, **dict.fromkeys(FORMS, 1), **changes).program("lanes/boxes.c")
    done = run(program, FREED, TAKEN, *arguments, HZ3_DECAY="600s")
    lines = done.stderr.splitlines()
    assert len(lines) == len(FORMS), done.stderr
    fields = {}
    for (name, form), line in zip(FORMS.values(), lines, strict=True):
        match = re.fullmatch(rf"\[{name}\] {form}", line)
        assert match, line
        names = re.findall(r"(\w+)=", line)
        fields[name] = dict(zip(reversed(names), map(float, reversed(match.groups())), strict=True))  # sums are first
    return fields, {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", done.stdout)}


@pytest.mark.parametrize("lane, changes", HOME)
@pytest.mark.parametrize("trim", [[], ["trim"]])
def test_figures_of_a_known_workload_add_up(lane, changes, trim):
    box, left = observe(lane, changes, *trim)
    s44, s67, s74, pushes = (box[name] for name in ("HZ3_S44", "HZ3_S67", "HZ3_S74", "HZ3_S96_OWNER_STASH_PUSH"))
    assert s44["pushed"] == FREED and s44["refused"] == 0  # by a thread that has ended
    assert s44["popped"] + s44["trimmed"] + left["stashed"] + left["spilled"] == FREED
    assert s44["popped"] >= TAKEN
    whole = "S112_FULL_DRAIN_EXCHANGE" not in changes  # then the thread keeps all that it does not use
    assert (s44["trimmed"] > 0) == (bool(trim) and not whole) and (left["stashed"] > 0) == (not trim and not whole)
    assert s74["s44_objs"] == s44["popped"]
    assert s67["kept"] == s67["served"] + left["spilled"]
    assert pushes["objs"] == FREED and pushes["cas_retry_total"] == 0  # no other thread pushed
    assert 0 < box["HZ3_S44_4"]["drained_avg"] <= box["HZ3_S44_4"]["drained_max"] <= FREED
    assert box["HZ3_S44_4"]["pop_calls"] > 0 and 0 < box["HZ3_S44_4"]["want_avg"] <= 60


@pytest.mark.parametrize("lane, changes", HOME)
def test_what_a_bounded_stash_refuses_is_taken_from_the_transfer_cache(lane, changes):
    box, left = observe(lane, changes | {"S44_STASH_MAX_OBJS": 64})
    s44, s74 = box["HZ3_S44"], box["HZ3_S74"]
    assert s44["refused"] > 0 and s44["popped"] + left["stashed"] + left["spilled"] == s44["pushed"] <= 64
    assert s74["s42_calls"] > 0 and s74["s42_objs"] > 0


def test_a_full_drain_takes_all_there_is():
    box, _ = observe("classic", {})
    assert box["HZ3_S44_4"]["drained_max"] == box["HZ3_S44_4"]["drained_p95"] == FREED
    assert box["HZ3_S44_4"]["spill_hit_pct"] > 0


RING = 64  # objects that wait with the sender


@pytest.mark.parametrize("changes, pushes", [
    ({}, FREED),
    ({"S97_REMOTE_STASH_BUCKET": 1}, FREED - RING + 1),  # what a full ring turns out one by one; the rest is sorted
    ({"S146_OVERFLOW_BATCH": 8}, (FREED - RING) // 8 + RING),  # what a full ring turns out by eights; at the end one by one
], ids=str)
def test_how_many_pushes_send_the_objects_home(changes, pushes):
    box, _ = observe("classic", changes)
    assert box["HZ3_S96_OWNER_STASH_PUSH"]["objs"] == FREED
    assert box["HZ3_S96_OWNER_STASH_PUSH"]["push_calls"] == pushes


def test_a_forked_child_counts_anew():
    program = variant("classic", **dict.fromkeys(FORMS, 1)).program("lanes/boxes.c")
    lines = run(program, FREED, TAKEN, "fork", HZ3_DECAY="600s").stderr.splitlines()
    child, parent = lines[:len(FORMS)], lines[len(FORMS):]
    assert len(parent) == len(FORMS) and f" pushed={FREED} " in parent[0]
    assert {float(figure) for line in child for figure in re.findall(r"=([\d.]+)", line)} == {0}


def test_boxes_that_are_off_are_silent():
    assert run(variant("classic").program("lanes/boxes.c"), 10, 10).stderr == ""
