"""From samples to verdicts.

Everything is decided on gains.  A gain is the logarithm of the ratio of a variant to its baseline in one block, with
the sign that makes better positive.  An effect is the median of the gains, with the interval of median_interval.  The
noise floor is the largest effect that the comparison of the baseline with its own copy does not exclude.

One rule decides everything: an effect is above a threshold if its whole interval is, and if effect and threshold differ
by more than the noise floor.  Below is defined likewise.  Better is above 0, worse is below 0, and the same within x %
is above -x and below x (equivalence by two one-sided tests).  What neither holds nor fails is undecided.
"""

import math
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from scipy import special  # and not scipy.stats, which takes a second to load

from lab import Json, LabError
from lab.experiment import HIGHER_IS_BETTER, Experiment, Gate, from_table
from lab.plan import BASELINE, COPY
from lab.samples import Figures, Samples
from lab.session import remaining

RESAMPLES = 2000
BOOTSTRAPPED_FROM = 20  # blocks; with fewer the bootstrap's coverage is too low
FEWEST = 6  # blocks; with fewer no interval covers 95 %
NOISY = 1.5  # the ratio of an arm's slowest to its fastest run from which the spread is reported
NEVER = 10_000  # runs
POWER = 1.6  # half-widths with which a threshold is cleared 4 times of 5: 1.43, and more as the noise floor varies


Numbers = np.ndarray[Any, np.dtype[np.float64]]


class Holds(Enum):
    YES, SAME, NO, UNDECIDED = "yes", "no difference", "no", "undecided"


@dataclass(frozen=True)
class Effect:
    """The median gain, its two-sided 95 % and 90 % intervals and the noise floor, as logarithms; the number of
    pairs."""

    gain: float
    low: float
    high: float
    low90: float
    high90: float
    floor: float
    pairs: int

    def above(self, threshold: float) -> bool:
        return self._decides and self.low > threshold and self.gain - threshold > self.floor

    def below(self, threshold: float) -> bool:
        return self._decides and self.high < threshold and threshold - self.gain > self.floor

    def same_within(self, margin: float) -> bool:
        return self._decides and -margin < self.low90 and self.high90 < margin and abs(self.gain) + self.floor < margin

    def at_least(self, threshold: float) -> Holds:
        return Holds.YES if self.above(threshold) else Holds.NO if self.below(threshold) else Holds.UNDECIDED

    def runs_to_settle(self, threshold: float) -> int:
        """The number of blocks with which the threshold would be cleared 4 times of 5, if all else stayed the same."""
        width = POWER * max(self.high - self.gain, self.gain - self.low, self.floor)
        distance = abs(self.gain - threshold)
        return max(FEWEST, math.ceil(min(NEVER, self.pairs * (width / distance) ** 2))) if distance > 0 else NEVER

    @property
    def _decides(self) -> bool:
        return self.pairs >= FEWEST


@dataclass(frozen=True)
class Finding:
    """One figure of one variant in one case."""

    case: str
    group: str
    variant: str
    figure: str
    effect: Effect
    verdict: str  # BETTER, WORSE, SAME or INCONCLUSIVE
    medians: tuple[float, float]  # baseline, variant
    range_ratio: float  # slowest to fastest run, of the arm in which it is larger
    runs_needed: int | None  # if the spread or the verdict requires more
    overflowed: int = 0  # pairs in which a run had another mix than it should


@dataclass(frozen=True)
class GateVerdict:
    gate: Gate
    holds: Holds
    reason: str


@dataclass(frozen=True)
class Verdict:
    """A variant's verdict.  GO: every gate holds.  NO-GO: one fails.  INCONCLUSIVE: one is open and none fails.  NO
    DIFFERENCE: none is open, and gates that ask for an improvement found neither a gain nor a loss."""

    variant: str
    word: str
    gates: list[GateVerdict]
    findings: list[Finding]


def percent(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio)


def log_ratio(percent_: float) -> float:
    return math.log1p(percent_ / 100)


def covers(count: int) -> int:
    """The per cent that the wider interval of median_interval covers: the range of few values covers less than 95."""
    return min(95, int(100 * (1 - 0.5 ** (count - 1))))


def median_interval(values: Numbers, looks: int = 0) -> Numbers:
    """The ends of the median's 95 % and 90 % intervals, from the lowest: 2.5, 5, 95 and 97.5 %.

    With few values they are order statistics, as the number of values below the median is binomial.  They cover at
    least these shares, if so few values can (covers).  With more values they come from the bootstrap.  Its resamples are
    slightly smaller than the sample, and even: the medians of odd ones are only values of the sample, too coarse for a
    tail of 2.5 %.

    If one looks repeatedly, and stops when the interval excludes the threshold, the error rate exceeds 1 in 20.  So the
    k-th look gets a share of only 1/k(k+1) of the tails.  All looks together never have more than the tails.
    """
    tails, count = np.array((0.025, 0.05)) / max(1, looks * (looks + 1)), len(values)
    if count < BOOTSTRAPPED_FROM:
        ranks = np.maximum(np.searchsorted(special.bdtr(np.arange(count + 1), count, 0.5), tails), 1)
        return np.sort(values)[[*(ranks - 1), *(count - ranks[::-1])]]
    tails = special.ndtr(special.stdtrit(count - 1, tails))  # wider, as Student's t makes a mean's interval
    ends: Numbers = np.quantile(_bootstrapped_medians(values), (*tails, *(1 - tails[::-1])))
    return ends


def _bootstrapped_medians(values: Numbers) -> Numbers:
    order, half = np.argsort(values), (len(values) - 1) // 2
    up_to = _drawn(len(values))[order].astype(np.uint16)
    for row, next_ in pairwise(up_to):  # counts values of each resample up to this one; faster than cumsum
        next_ += row
    lower, upper = (values[order][(up_to < nth).sum(axis=0)] for nth in (half, half + 1))
    medians: Numbers = (lower + upper) / 2
    return medians


@lru_cache(maxsize=64)
def _drawn(count: int) -> np.ndarray[Any, np.dtype[np.uint8]]:
    """How often each of `count` values is in each resample.  The resamples are the same for all values."""
    chosen = np.random.default_rng(0).integers(count, size=(RESAMPLES, (count - 1) // 2 * 2))
    places = chosen * RESAMPLES + np.arange(RESAMPLES)[:, None]
    return np.bincount(places.ravel(), minlength=count * RESAMPLES).reshape(count, RESAMPLES).astype(np.uint8)


def gains(figure: str, base: Numbers, variant: Numbers) -> Numbers:
    ratios = np.log(variant / base)
    return ratios if figure.endswith(HIGHER_IS_BETTER) else -ratios


def noise_floor(aa_gains: Numbers) -> float:
    if len(aa_gains) < FEWEST:
        return math.inf
    low, _, _, high = median_interval(aa_gains)
    return float(max(abs(low), abs(high)))


def effect(gains_: Numbers, floor: float, looks: int = 0) -> Effect:
    low, low90, high90, high = median_interval(gains_, looks)
    return Effect(float(np.median(gains_)), low, high, low90, high90, floor, len(gains_))


def word_for(effect_: Effect, margin: float) -> str:
    if effect_.above(0):
        return "BETTER"
    if effect_.below(0):
        return "WORSE"
    return "SAME" if effect_.same_within(margin) else "INCONCLUSIVE"


def pair(blocks: list[Figures], figure: str, one: str, other: str) -> tuple[Numbers, Numbers]:
    """The figure of two arms, block by block."""
    mine, others = (np.array([value_of(block[arm], figure, arm) for block in blocks]) for arm in (one, other))
    return mine, others


def value_of(figures: Json, figure: str, arm: str) -> float:
    value = figures.get(figure)
    if not isinstance(value, (int, float)) or not 0 < value < 2**53:
        raise LabError(f"{arm}: {figure} is {value!r}: no verdict from that")
    return value


def find_all(samples: Samples, experiment: Experiment, variant: str, case: str) -> list[Finding]:
    aa, ab = samples.blocks(case, "aa"), samples.blocks(case, "ab")
    figures = experiment.figures(samples.plan.cells[case].group)
    return [find(samples, experiment, variant, case, figure, aa, ab) for figure in figures]


def find(
    samples: Samples, experiment: Experiment, variant: str, case: str, figure: str, aa: list[Figures], ab: list[Figures]
) -> Finding:
    group = samples.plan.cells[case].group
    base, other = pair(ab, figure, BASELINE, variant)
    effect_ = effect(
        gains(figure, base, other),
        noise_floor(gains(figure, *pair(aa + ab, figure, BASELINE, COPY))),
        samples.looks(case),
    )
    margin = log_ratio(experiment.same_within)
    word = word_for(effect_, margin)
    spread = max(float(v.max() / v.min()) for v in (base, other))
    asked = [
        log_ratio(g.at_least)
        for g in experiment.gates
        if g.at_least is not None and (g.group, g.figure) == (group, figure)
    ]
    open_ = [threshold for threshold in asked if effect_.at_least(threshold) is Holds.UNDECIDED]
    needed = runs_needed(effect_, margin, open_) if open_ or spread > NOISY or word == "INCONCLUSIVE" else None
    overflowed = sum(any(block[arm].get("overflow", "ok") != "ok" for arm in (BASELINE, variant)) for block in ab)
    return Finding(
        case,
        group,
        variant,
        figure,
        effect_,
        word,
        (float(np.median(base)), float(np.median(other))),
        spread,
        needed,
        overflowed,
    )


def runs_needed(effect_: Effect, margin: float, thresholds: list[float]) -> int:
    """The blocks that decide every open gate; without one, those that find a difference or none, whichever is fewer."""
    if thresholds:
        return max(effect_.runs_to_settle(threshold) for threshold in thresholds)
    edge = math.copysign(margin, effect_.gain)
    same = effect_.runs_to_settle(edge) if abs(effect_.gain) < margin else NEVER
    return min(effect_.runs_to_settle(0), same)


def judge_gate(gate: Gate, findings: list[Finding]) -> GateVerdict:
    mine = [f for f in findings if f.group == gate.group and f.figure == gate.figure]
    if gate.wins is not None:
        return _judge_wins(gate, gate.wins, mine)
    least = gate.at_least or 0.0
    answers = {f.case: f.effect.at_least(log_ratio(least)) for f in mine}
    if least >= 0:  # the gate asks for an improvement
        same = [f.case for f in mine if is_no_difference(f, log_ratio(least))]
        answers |= dict.fromkeys(same, Holds.SAME if len(same) == len(mine) else Holds.NO)
    return _together(gate, answers)


def is_no_difference(finding: Finding, asked: float) -> bool:
    """Neither better nor worse, and the whole interval is nearer to 0 than the required improvement."""
    return finding.verdict == "SAME" or (finding.verdict == "INCONCLUSIVE" and finding.effect.same_within(asked))


def _judge_wins(gate: Gate, wins: int, findings: list[Finding]) -> GateVerdict:
    won = sum(f.verdict == "BETTER" for f in findings)
    open_ = sum(f.verdict == "INCONCLUSIVE" for f in findings)
    holds = Holds.YES if won >= wins else Holds.NO if won + open_ < wins else Holds.UNDECIDED
    if holds is Holds.NO and all(f.verdict == "SAME" for f in findings):
        holds = Holds.SAME
    return GateVerdict(gate, holds, f"{won} better, {len(findings) - won - open_} not, {open_} undecided")


def judge_level(gate: Gate, samples: Samples, variant: str) -> GateVerdict:
    """Compares the variant's own figure with a fixed number."""
    answers = {}
    for cell in (name for name, cell in samples.plan.cells.items() if cell.group == gate.group):
        values = np.array([_level(gate, block[variant], variant) for block in samples.blocks(cell, "ab")])
        low, _, _, high = median_interval(values, samples.looks(cell))
        bound, yes_above = (gate.above, True) if gate.above is not None else (gate.below, False)
        beyond, short = (low > bound, high < bound) if yes_above else (high < bound, low > bound)
        decided = Holds.YES if beyond else Holds.NO if short else Holds.UNDECIDED
        answers[f"{cell} ({np.median(values):.4g})"] = decided if len(values) >= FEWEST else Holds.UNDECIDED
    return _together(gate, answers)


def _level(gate: Gate, figures: Json, arm: str) -> float:
    for figure in filter(None, (gate.figure, gate.per)):
        value = figures.get(figure)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise LabError(f"{arm}: {figure} is {value!r}: no verdict from that")
    if gate.per and figures[gate.per] == 0:
        raise LabError(f"{arm}: {gate.per} is 0, so there is no {gate.figure} of it")
    return float(figures[gate.figure] / (figures[gate.per] if gate.per else 1))


def _together(gate: Gate, answers: dict[str, Holds]) -> GateVerdict:
    for holds in (Holds.NO, Holds.UNDECIDED, Holds.SAME):
        cases = [case for case, answer in answers.items() if answer is holds]
        if cases:
            return GateVerdict(gate, holds, f"{holds.value} in {', '.join(cases)}")
    return GateVerdict(gate, Holds.YES, f"in {', '.join(answers)}")


def word_of(answers: set[Holds]) -> str:
    if Holds.NO in answers or {Holds.SAME, Holds.UNDECIDED} <= answers:  # it cannot become GO any more
        return "NO-GO"
    return "INCONCLUSIVE" if Holds.UNDECIDED in answers else "NO DIFFERENCE" if Holds.SAME in answers else "GO"


def judge(samples: Samples) -> list[Verdict]:
    """Judges by the gates that the experiment had when the run began."""
    if left := len(remaining(samples)):
        raise LabError(f"{samples.path.name}: {left} rounds are missing: no verdict")
    experiment = from_table(samples.plan.experiment)
    verdicts = []
    for variant in (v.name for v in experiment.variants):
        findings = [finding for case in samples.plan.cells for finding in find_all(samples, experiment, variant, case)]
        gates = [
            judge_gate(gate, findings) if gate.is_relative else judge_level(gate, samples, variant)
            for gate in experiment.gates
        ]
        verdicts.append(Verdict(variant, word_of({gate.holds for gate in gates}), gates, findings))
    return verdicts
