"""The slowest thousandth of calls beside the peers', in words."""

import math

from lab import words
from lab.ahead import LANE
from lab.comparison import Comparison
from lab.headline import than
from lab.overview import memory_said
from lab.page import points
from lab.peers import REFERENCE
from lab.quartile import MIDDLE, Ratio, mean, ratio, shows
from lab.versus import pairs

CALLS = ("malloc", "free")


def against(comparison: Comparison, peer: str) -> dict[tuple[str, str], Ratio]:
    """How long LANE's slowest thousandth of calls take, times the peer's, in each test and for each call.  A test that
    was sound once has no interval, and is left out: the mean would have none, and be said to be no difference."""
    found = {}
    for cell, call in ((cell, call) for cell in comparison.timed for call in CALLS):
        of = pairs(comparison.run, cell, f"{call}_p999_ns", LANE, peer)
        if of is not None and len(of[0]) > 1:
            found[cell, call] = ratio(of[0], of[1], MIDDLE)
    return found


def said(comparison: Comparison) -> str:
    """The paragraph on them, or nothing."""
    by_peer = {peer: of for peer in comparison.peers if (of := against(comparison, peer))}
    if not by_peer:
        return ""
    means = {peer: mean(of.values()) for peer, of in by_peer.items()}
    best = max(means, key=lambda peer: means[peer].log)
    beside = [f"{beyond(means[peer])} {peer}'s" for peer in dict.fromkeys((REFERENCE, best)) if peer in means]
    furthest: dict[tuple[str, str], Ratio] = {}
    for of in by_peer.values():
        for test, one in of.items():
            if one.log > 0 and shows(one.estimate()):
                furthest[test] = max(one, furthest.get(test, one))
    worst = sorted(furthest, key=lambda test: -furthest[test].log)[:3]
    rows = [
        f"{memory_said(math.exp(furthest[cell, call].log))} time for {call} where {words.program(comparison, cell)}"
        for cell, call in worst
    ]
    behind = f" It is furthest behind here:\n\n{points(rows)}" if rows else "\n"
    taken = f"{' and '.join(beside)}, the best of the others"
    return f"In small programs hz3's slowest thousandth of calls takes {taken}.{behind}"


def beyond(of: Ratio) -> str:
    found = of.estimate()
    return than(memory_said(found[0] if shows(found) else 1.0), "time")
