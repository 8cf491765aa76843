"""The time that one call in a thousand exceeds, beside the peers', in words."""

import math
from collections import defaultdict
from statistics import fmean, stdev

from lab import words
from lab.ahead import LANE
from lab.comparison import Comparison
from lab.headline import than, told
from lab.overview import memory_said
from lab.page import points
from lab.peers import REFERENCE
from lab.quartile import MIDDLE, Ratio, ratio, shows
from lab.versus import CALLS, pairs


def against(comparison: Comparison, peer: str) -> dict[tuple[str, str], Ratio]:
    """The time that one call in a thousand exceeds on LANE, times that on the peer, in each test and for each call.  A
    test that was sound once has no interval, and is left out."""
    found = {}
    for cell, call in ((cell, call) for cell in comparison.timed for call in CALLS):
        of = pairs(comparison.run, cell, f"{call}_p999_ns", LANE, peer)
        if of is not None and len(of[0]) > 1:
            found[cell, call] = ratio(of[0], of[1], MIDDLE)
    return found


def mean(of: dict[tuple[str, str], Ratio]) -> Ratio:
    """The geometric mean over the tests, with the interval by how far these differ: no single one decides."""
    by_test = defaultdict(list)
    for (test, _), one in of.items():
        by_test[test].append(one.log)
    logs = [fmean(calls) for calls in by_test.values()]
    error = stdev(logs) / math.sqrt(len(logs)) if len(logs) > 1 else math.inf
    return Ratio(fmean(logs), error, len(logs) - 1)


def said(comparison: Comparison) -> str:
    """The paragraph on it, or nothing."""
    by_peer = {peer: of for peer in comparison.peers if (of := against(comparison, peer))}
    if not by_peer:
        return ""
    tests = len({cell for of in by_peer.values() for cell, _ in of})
    means = {peer: mean(of) for peer, of in by_peer.items()}
    best = max(means, key=lambda peer: means[peer].log)
    beside = [f"{than(told(means[peer]))} {peer}'s" for peer in dict.fromkeys((REFERENCE, best)) if peer in means]
    furthest: dict[tuple[str, str], Ratio] = {}
    for of in by_peer.values():
        for test, one in of.items():
            if one.log > 0 and shows(one.estimate()):
                furthest[test] = max(one, furthest.get(test, one))
    worst = sorted(furthest, key=lambda test: -furthest[test].log)[:2]
    rows = [
        f"{memory_said(math.exp(furthest[cell, call].log))} time for {call} where {words.program(comparison, cell)}"
        for cell, call in worst
    ]
    behind = f" It is furthest behind here:\n\n{points(rows)}" if rows else "\n"
    taken = f"{' and '.join(beside)}, the best of the others"
    return f"In {tests} of {len(comparison.timed)} small programs, the time that one call in 1,000 exceeds is {taken}.{behind}"
