"""From samples to verdicts.

Everything is decided on gains.  A gain is the logarithm of the ratio of a variant to its baseline in one block, with
the sign that makes better positive; that of a group is the mean of its cases'.  In time the baseline of a block is the
geometric mean of its two copies, which ran first and last; memory does not drift, and has one.  An effect is the median
of the gains, with the interval of median_interval.  The noise floor is the largest effect that the comparison of the
two copies does not exclude.

One rule decides everything: an effect is above a threshold if its whole interval is, and if effect and threshold differ
by more than the noise floor.  Below is defined likewise.  Better is above 0, worse is below 0, and the same within x %
is above -x and below x (equivalence by two one-sided tests).  What neither holds nor fails is undecided.

A GO needs every gate, so each may err as often as one.  A NO-GO needs a single comparison, so all comparisons of a
variant share the error of one.
"""

import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial

import numpy as np
from scipy import special

from lab import Json, LabError
from lab.experiment import COUNTED, HIGHER_IS_BETTER, TIMES, Experiment, Gate, from_table
from lab.interval import BOOTSTRAPPED_FROM, TAILS, Numbers, ends, median_interval, reaches, spent
from lab.plan import BASELINE, COPY
from lab.samples import Figures, Round, Samples
from lab.session import remaining

FEWEST = 7  # blocks; with fewer no interval covers what a first look asks for
SHORTEST = 0.3  # seconds; of shorter runs no time decides
NOISY = 1.5  # the ratio of an arm's slowest to its fastest run from which the spread is reported
NEVER = 10_000  # runs
POWER = 1.6  # half-widths with which a threshold is cleared 4 times of 5: 1.43, and more as the noise floor varies
HORIZON = 1000  # blocks with which a GO has to be likely: more are no budget
NEAR = 120  # blocks; a verdict that needs no more, or twice those there are, is waited for
UNLIKELY = 0.05  # the chance of a GO from which on it is
COPIES_DIFFER = 0.01  # how often the two copies of a baseline are said to differ though they do not, of a whole run


class Holds(Enum):
    YES, SAME, NO, UNLIKELY, UNDECIDED = "yes", "no difference", "no", "unlikely", "undecided"


@dataclass(frozen=True)
class Effect:
    """The median gain, its two-sided 95 % and 90 % intervals and the noise floor, as logarithms; the number of
    pairs; the upper end by which a gate fails, as all comparisons share an error; the lower end by which a case counts
    as won, as cases do; why it decides nothing."""

    gain: float
    low: float
    high: float
    low90: float
    high90: float
    floor: float
    pairs: int
    worst: float = math.inf
    best: float = -math.inf
    doubt: str = ""

    def above(self, threshold: float) -> bool:
        return self._decides and self.low > threshold and self.gain - threshold > self.floor

    def below(self, threshold: float) -> bool:
        return self._decides and self.high < threshold and threshold - self.gain > self.floor

    def same_within(self, margin: float) -> bool:
        return self._decides and -margin < self.low90 and self.high90 < margin and abs(self.gain) + self.floor < margin

    def fails(self, threshold: float) -> bool:
        return self._decides and self.worst < threshold and threshold - self.gain > self.floor

    def wins(self, margin: float) -> Holds:
        """Whether it is better: not if it is better by less than the margin."""
        if self._decides and self.best > 0 and self.gain > self.floor:
            return Holds.YES
        return Holds.NO if self.fails(margin) else Holds.UNDECIDED

    def at_least(self, threshold: float) -> Holds:
        return Holds.YES if self.above(threshold) else Holds.NO if self.fails(threshold) else Holds.UNDECIDED

    def runs_to_settle(self, threshold: float) -> int:
        """The number of blocks with which the threshold would be cleared 4 times of 5, if all else stayed the same."""
        width = POWER * max(self.high - self.gain, self.gain - self.low, self.floor)
        distance = abs(self.gain - threshold)
        return max(FEWEST, math.ceil(min(NEVER, self.pairs * (width / distance) ** 2))) if distance > 0 else NEVER

    def chance_of(self, threshold: float, blocks: int) -> float:
        """How probable it is that so many blocks show the gain above the threshold, if all that is known of the gain is
        this effect."""
        half = max(self.high - self.gain, self.gain - self.low, self.floor)
        done = self.pairs / blocks
        if done >= 1 or half <= 0:
            return float(self.above(threshold))
        error = (self.high - self.low) / 2 / special.ndtri(1 - TAILS[0]) or half
        return float(special.ndtr((self.gain - threshold - half * math.sqrt(done)) / (error * math.sqrt(1 - done))))

    def to_no_difference(self, wide: float) -> int:
        """The blocks that show the same within `wide`."""
        return self.runs_to_settle(math.copysign(wide, self.gain)) if abs(self.gain) < wide else NEVER

    def is_unlikely(self, threshold: float, wide: float) -> bool:
        """Whether to show the gain above the threshold has become unlikely, and no other verdict is near.  `wide`: within
        it there is no difference; 0 where that is no answer."""
        if not self._decides or self.pairs < BOOTSTRAPPED_FROM or self.above(threshold):
            return False
        other = self.runs_to_settle(threshold) if self.gain < threshold else NEVER
        nearest = min(other, self.to_no_difference(wide))
        return nearest > max(NEAR, 2 * self.pairs) and self.chance_of(threshold, HORIZON) < UNLIKELY

    @property
    def _decides(self) -> bool:
        return self.pairs >= FEWEST and not self.doubt


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
    short_of: int = 0  # the blocks that the group lacks, if it is judged as one and open; NEVER: no number decides it


@dataclass(frozen=True)
class Verdict:
    """A variant's verdict.  GO: every gate holds.  NO-GO: one fails.  GO UNLIKELY: none fails, and that one holds has
    become unlikely.  INCONCLUSIVE: one is open.  NO DIFFERENCE: none is open, and gates that ask for an improvement found
    neither a gain nor a loss."""

    variant: str
    word: str
    gates: list[GateVerdict]
    findings: list[Finding]


def percent(log_ratio: float) -> float:
    return 100 * math.expm1(log_ratio)


def log_ratio(percent_: float) -> float:
    return math.log1p(percent_ / 100)


def gains(figure: str, base: Numbers, variant: Numbers) -> Numbers:
    ratios = np.log(variant / base)
    return ratios if figure.endswith(HIGHER_IS_BETTER) else -ratios


def noise_floor(figure: str, copies: Numbers) -> float:
    """If each library is off by chance, a difference from the mean of two is off by less than one of two libraries."""
    if len(copies) < FEWEST:
        return math.inf
    low, _, _, high = median_interval(copies)
    return float(max(abs(low), abs(high))) * (math.sqrt(3 / 4) if figure.endswith(TIMES) else 1)


def shared(gains_: Numbers, look: int, among: int) -> tuple[float, float]:
    """The ends of the interval where so many share its error."""
    tail = TAILS[0] * spent(look) / among
    low, high = ends(gains_, np.array([tail])) if reaches(len(gains_), tail) else (-math.inf, math.inf)
    return float(low), float(high)


def effect(
    gains_: Numbers, floor: float, look: int = 1, comparisons: int = 1, doubt: str = "", cases: int = 1
) -> Effect:
    """comparisons: of those that may each fail a gate of the variant.  cases: of those that may each be won by chance."""
    low, low90, high90, high = median_interval(gains_, look)
    (best, _), (_, worst) = shared(gains_, look, cases), shared(gains_, look, comparisons)
    return Effect(float(np.median(gains_)), low, high, low90, high90, floor, len(gains_), worst, best, doubt)


def signed(log_ratio_: float) -> str:
    return f"{percent(log_ratio_):+.1f} %"


def word_for(effect_: Effect, margin: float) -> str:
    if effect_.above(0):
        return "BETTER"
    if effect_.below(0):
        return "WORSE"
    return "SAME" if effect_.same_within(margin) else "INCONCLUSIVE"


Paired = Callable[[list[Figures], str], tuple[Numbers, Numbers]]  # a figure of two arms, block by block


def pair(blocks: list[Figures], figure: str, one: str, other: str) -> tuple[Numbers, Numbers]:
    """The figure of two arms, block by block."""
    mine, others = (np.array([value_of(block[arm], figure, arm) for block in blocks]) for arm in (one, other))
    return mine, others


def beside_baseline(blocks: list[Figures], figure: str, variant: str) -> tuple[Numbers, Numbers]:
    """The figure of the baseline and of a variant, block by block."""
    if not figure.endswith(TIMES):
        return pair(blocks, figure, BASELINE, variant)
    (one, other), (_, mine) = (pair(blocks, figure, BASELINE, arm) for arm in (COPY, variant))
    return np.sqrt(one * other), mine


def value_of(figures: Json, figure: str, arm: str) -> float:
    value = figures.get(figure)
    if not isinstance(value, (int, float)) or not 0 < value < 2**53:
        raise LabError(f"{arm}: {figure} is {value!r}: no verdict from that")
    return value


@dataclass(frozen=True)
class Case:
    """What is known of a case before any variant is judged."""

    floors: dict[str, float]  # by figure
    doubts: dict[str, str]  # by figure, why it decides nothing


def comparisons(experiment: Experiment) -> int:
    """How many comparisons of a variant may each end in NO-GO."""
    cases = {case.group: sum(other.group == case.group for other in experiment.cases) for case in experiment.cases}
    return max(1, sum(1 if gate.mean is not None else cases[gate.group] for gate in experiment.gates))


def may_be_won(experiment: Experiment, group: str, figure: str) -> int:
    """Of how many cases that are not better one is enough to make a gate `wins` hold."""
    cases = sum(case.group == group for case in experiment.cases)
    gates = (gate for gate in experiment.gates if (gate.group, gate.figure) == (group, figure))
    return max((cases - gate.wins + 1 for gate in gates if gate.wins is not None), default=1)


def short_cells(samples: Samples, shortest: float = SHORTEST) -> dict[str, float]:
    """The cells whose median run is shorter, so that its time is mostly noise, with its seconds."""
    medians = {}
    for cell in samples.plan.timed():
        runs = [figures for block in samples.blocks(cell, "ab") for figures in block.values() if "seconds" in figures]
        if runs and (median := statistics.median(figures["seconds"] for figures in runs)) < shortest:
            medians[cell] = median
    return medians


def cases_of(samples: Samples, experiment: Experiment) -> dict[str, Case]:
    short, found = short_cells(samples), {}
    figures = {cell: experiment.figures(samples.plan.cells[cell].group) for cell in samples.plan.timed()}
    error = COPIES_DIFFER / max(1, sum(map(len, figures.values())))
    for cell, of_cell in figures.items():
        floors, doubts = {}, {}
        for figure in of_cell:
            copies = gains(figure, *pair(samples.blocks(cell, "aa", "ab"), figure, BASELINE, COPY))
            floors[figure] = noise_floor(figure, copies)
            if copies_differ(copies, error * spent(samples.looks(cell))):
                doubts[figure] = f"its two copies of the baseline differ by {signed(float(np.median(copies)))}"
            elif cell in short and figure.endswith(TIMES):
                doubts[figure] = f"a run took {short[cell]:.2g} s"
        found[cell] = Case(floors, doubts)
    return found


def copies_differ(gains_: Numbers, error: float) -> bool:
    if not reaches(len(gains_), error / 2):
        return False
    low, high = ends(gains_, np.array([error / 2]))
    return bool(low > 0 or high < 0)


def find_all(samples: Samples, experiment: Experiment, variant: str, cases: dict[str, Case]) -> list[Finding]:
    share = comparisons(experiment)
    return [
        find(samples, experiment, variant, cell, figure, case, share)
        for cell, case in cases.items()
        for figure in experiment.figures(samples.plan.cells[cell].group)
    ]


def find(
    samples: Samples, experiment: Experiment, variant: str, cell: str, figure: str, case: Case, share: int
) -> Finding:
    group, ab = samples.plan.cells[cell].group, samples.blocks(cell, "ab")
    base, other = beside_baseline(ab, figure, variant)
    effect_ = effect(
        gains(figure, base, other),
        case.floors[figure],
        samples.looks(cell),
        share,
        case.doubts.get(figure, ""),
        may_be_won(experiment, group, figure),
    )
    margin = log_ratio(experiment.margin(cell))
    word = word_for(effect_, margin)
    runs = (*pair(ab, figure, BASELINE, COPY), other)
    spread = max(float(v.max() / v.min()) for v in runs)
    asked = [
        log_ratio(g.at_least)
        for g in experiment.gates
        if g.at_least is not None and (g.group, g.figure) == (group, figure)
    ]
    open_ = [threshold for threshold in asked if effect_.at_least(threshold) is Holds.UNDECIDED]
    needed = runs_needed(effect_, margin, open_) if open_ or spread > NOISY or word == "INCONCLUSIVE" else None
    overflowed = sum(any(block[arm].get("overflow", "ok") != "ok" for arm in (BASELINE, COPY, variant)) for block in ab)
    return Finding(
        cell,
        group,
        variant,
        figure,
        effect_,
        word,
        (float(np.median(base)), float(np.median(other))),
        spread,
        None if effect_.doubt else needed,
        overflowed,
    )


def runs_needed(effect_: Effect, margin: float, thresholds: list[float]) -> int:
    """The blocks that decide every open gate; without one, those that find a difference or none, whichever is fewer."""
    if thresholds:
        return max(effect_.runs_to_settle(threshold) for threshold in thresholds)
    edge = math.copysign(margin, effect_.gain)
    same = effect_.runs_to_settle(edge) if abs(effect_.gain) < margin else NEVER
    return min(effect_.runs_to_settle(0), same)


def judge_gate(gate: Gate, findings: list[Finding], experiment: Experiment) -> GateVerdict:
    mine = [f for f in findings if f.group == gate.group and f.figure == gate.figure]
    if gate.wins is not None:
        return _judge_wins(gate, gate.wins, mine, experiment)
    least = gate.at_least or 0.0
    asked = log_ratio(least)
    answers = {f.case: f.effect.at_least(asked) for f in mine}
    if least >= 0:  # the gate asks for an improvement
        same = [f.case for f in mine if is_no_difference(f, asked)]
        others = {answer for case, answer in answers.items() if case not in same}
        rest = Holds.UNDECIDED if Holds.UNDECIDED in others else Holds.NO
        answers |= dict.fromkeys(same, rest if others else Holds.SAME)
    for f in mine:
        wide = max(log_ratio(experiment.margin(f.case)), asked) if least >= 0 else 0
        if answers[f.case] is Holds.UNDECIDED and f.effect.is_unlikely(asked, wide):
            answers[f.case] = Holds.UNLIKELY
    doubts = {f.case: f" ({f.effect.doubt})" if f.effect.doubt else "" for f in mine}
    return _together(gate, {f"{case}{doubts[case]}": answer for case, answer in answers.items()})


def blocks_said(blocks: int) -> str:
    return f"{'over' if blocks >= NEVER else 'about'} {blocks} blocks"


def judge_mean(
    gate: Gate, samples: Samples, experiment: Experiment, variant: str, cases: dict[str, Case]
) -> GateVerdict:
    """The geometric mean over the group's cases, as one series of blocks."""
    cells = [cell for cell in cases if samples.plan.cells[cell].group == gate.group]
    look = max(samples.looks(cell) for cell in cells)
    doubt = next((f"{cell}: {doubt}" for cell in cells if (doubt := cases[cell].doubts.get(gate.figure, ""))), "")
    copies = mean_gains(gate, cells, samples.aligned(cells, "aa", "ab"), partial(pair, one=BASELINE, other=COPY))
    mine = mean_gains(gate, cells, samples.aligned(cells, "ab"), partial(beside_baseline, variant=variant))
    effect_ = effect(mine, noise_floor(gate.figure, copies), look, comparisons(experiment), doubt)
    asked, wide = log_ratio(gate.mean or 0.0), 0.0
    holds = effect_.at_least(asked)
    if asked >= 0:
        margin = log_ratio(experiment.margin_of(gate.group))
        wide = max(margin, asked)
        word = word_for(effect_, margin)
        holds = Holds.SAME if word == "SAME" or (word == "INCONCLUSIVE" and effect_.same_within(asked)) else holds
    if holds is Holds.UNDECIDED and effect_.is_unlikely(asked, wide):
        holds = Holds.UNLIKELY
    said = f"{signed(effect_.gain)} [{signed(effect_.low)}, {signed(effect_.high)}]"
    if doubt:
        return GateVerdict(gate, holds, f"{said}, which decides nothing: {doubt}", NEVER)
    short_of = 0
    if holds is Holds.UNDECIDED:
        short_of = max(1, min(effect_.runs_to_settle(asked), effect_.to_no_difference(wide)) - effect_.pairs)
        lacking = short_of if short_of + effect_.pairs < NEVER else NEVER
        said += f", {blocks_said(lacking)} more would settle it"
    return GateVerdict(gate, holds, said, short_of)


def mean_gains(gate: Gate, cells: list[str], blocks: list[dict[str, Figures]], paired: Paired) -> Numbers:
    """In each block, the mean of the cells' gains."""
    each = [gains(gate.figure, *paired([block[cell] for block in blocks], gate.figure)) for cell in cells]
    mean: Numbers = np.mean(each, axis=0)
    return mean if gate.share is None else -np.log1p(gate.share * np.expm1(-mean))


def judge_instructions(gate: Gate, samples: Samples, variant: str) -> GateVerdict:
    """By the least and the most change between the two least counts of each: the turns of threads only add to one."""
    bound, answers = log_ratio(gate.instructions or 0.0), {}
    for cell in (name for name, cell in samples.plan.cells.items() if cell.counted and cell.group == gate.group):
        base, other = (np.sort(counts) for counts in pair(samples.blocks(cell, "ab"), COUNTED, BASELINE, variant))
        least, most = np.log(other[0] / base[:2][-1]), np.log(other[:2][-1] / base[0])
        said = f"{cell} ({signed(float(np.log(other[0] / base[0])))})"
        answers[said] = Holds.YES if most <= bound else Holds.NO if least > bound else Holds.UNDECIDED
    return _together(gate, answers) if answers else GateVerdict(gate, Holds.UNDECIDED, "not counted")


def is_no_difference(finding: Finding, asked: float) -> bool:
    """Neither better nor worse, and the whole interval is nearer to 0 than the required improvement."""
    return finding.verdict == "SAME" or (finding.verdict == "INCONCLUSIVE" and finding.effect.same_within(asked))


def _judge_wins(gate: Gate, wins: int, findings: list[Finding], experiment: Experiment) -> GateVerdict:
    """Any of the cases may err, so they share the error of one."""
    answers = [f.effect.wins(log_ratio(experiment.margin(f.case))) for f in findings]
    won, open_ = answers.count(Holds.YES), answers.count(Holds.UNDECIDED)
    holds = Holds.YES if won >= wins else Holds.NO if won + open_ < wins else Holds.UNDECIDED
    if holds is Holds.NO and all(f.verdict in ("SAME", "INCONCLUSIVE") for f in findings):
        holds = Holds.UNDECIDED if open_ else Holds.SAME
    return GateVerdict(gate, holds, f"{won} better, {len(findings) - won - open_} not, {open_} undecided")


def judge_level(gate: Gate, samples: Samples, experiment: Experiment, variant: str) -> GateVerdict:
    """Compares the variant's own figure with a fixed number, which has no noise floor."""
    bound, sign = (gate.above, 1) if gate.above is not None else (gate.below or 0.0, -1)
    answers, share = {}, comparisons(experiment)
    for cell in (name for name in samples.plan.timed() if samples.plan.cells[name].group == gate.group):
        values = np.array([_level(gate, block[variant], variant) for block in samples.blocks(cell, "ab")])
        beyond = effect(sign * (values - bound), 0.0, samples.looks(cell), share)
        answers[f"{cell} ({np.median(values):.4g})"] = beyond.at_least(0.0)
    return _together(gate, answers)


def _level(gate: Gate, figures: Json, arm: str) -> float:
    for figure in filter(None, (gate.figure, gate.per)):
        value = figures.get(figure)
        if not isinstance(value, (int, float)) or not math.isfinite(value):
            raise LabError(f"{arm}: {figure} is {value!r}: no verdict from that")
    if gate.per and figures[gate.per] == 0:
        raise LabError(f"{arm}: {gate.per} is 0, so there is no {gate.figure} of it")
    return float(figures[gate.figure] / (figures[gate.per] if gate.per else 1))


def check_figures(samples: Samples) -> None:
    """Raises LabError if the warm-up lacks a figure that will be judged."""
    experiment = from_table(samples.plan.experiment)
    for cell in samples.plan.timed():
        group, block = samples.plan.cells[cell].group, samples.complete(Round("warmup", 0, cell))
        assert block, "the warm-up comes before all others"
        for variant in (v.name for v in experiment.variants):
            for figure in experiment.figures(group):
                pair([block], figure, BASELINE, variant)
            for gate in (g for g in experiment.gates if g.group == group and (g.above, g.below) != (None, None)):
                _level(gate, block[variant], variant)


def _together(gate: Gate, answers: dict[str, Holds]) -> GateVerdict:
    for holds in (Holds.NO, Holds.UNLIKELY, Holds.UNDECIDED, Holds.SAME):
        cases = [case for case, answer in answers.items() if answer is holds]
        if cases:
            return GateVerdict(gate, holds, f"{holds.value} in {', '.join(cases)}")
    return GateVerdict(gate, Holds.YES, f"in {', '.join(answers)}")


WORDS = {  # the word of the first that is among the answers
    Holds.NO: "NO-GO",
    Holds.UNLIKELY: "GO UNLIKELY",
    Holds.UNDECIDED: "INCONCLUSIVE",
    Holds.SAME: "NO DIFFERENCE",
    Holds.YES: "GO",
}


def word_of(answers: set[Holds]) -> str:
    return next(word for holds, word in WORDS.items() if holds in {*answers, Holds.YES})


def judge(samples: Samples) -> list[Verdict]:
    """Judges by the gates that the experiment had when the run began."""
    if samples.void:
        raise LabError(f"{samples.path.name} decides nothing: {samples.void}: no verdict")
    if left := len(remaining(samples)):
        raise LabError(f"{samples.path.name}: {left} rounds are missing: no verdict")
    if lost := samples.lost():
        raise LabError(f"{samples.path.name}: no block is sound of {', '.join(lost)}: no verdict")
    experiment = from_table(samples.plan.experiment)
    cases = cases_of(samples, experiment)
    verdicts = []
    for variant in (v.name for v in experiment.variants):
        findings = find_all(samples, experiment, variant, cases)
        gates = [_judge(gate, samples, experiment, variant, cases, findings) for gate in experiment.gates]
        verdicts.append(Verdict(variant, word_of({gate.holds for gate in gates}), gates, findings))
    return verdicts


def _judge(
    gate: Gate, samples: Samples, experiment: Experiment, variant: str, cases: dict[str, Case], findings: list[Finding]
) -> GateVerdict:
    if gate.mean is not None:
        return judge_mean(gate, samples, experiment, variant, cases)
    if gate.instructions is not None:
        return judge_instructions(gate, samples, variant)
    return (
        judge_gate(gate, findings, experiment) if gate.is_relative else judge_level(gate, samples, experiment, variant)
    )
