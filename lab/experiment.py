"""An experiment: a file of experiments/, read and checked before anything is built.

docs/lab.md, "The lab", explains each key.
"""

import itertools
import math
import re
import shlex
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, TypeVar, get_args, get_origin

from lab import ROOT, Json, LabError, text_of
from lab.plan import BASELINE, COPY, Cell
from lab.registry import Registry

MEMORY = ("peak_kib", "end_kib")  # judged in every case, beside the experiment's figure
REASONS = "peers.toml"  # in the same folder, but no experiment: see ahead.py
HIGHER_IS_BETTER, LOWER_IS_BETTER = ("_per_s",), ("_kib", "_ratio", "_ns", "seconds", "cpu_s", "_per_op")  # names' ends
TIMES = ("_per_s", "_ns", "seconds", "cpu_s")  # how the names of figures end that a clock measures
if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
GATE_KINDS = ("mean", "at_least", "wins", "instructions", "above", "below")
COUNTED = "instructions_per_op"  # the figure of gates of the kind `instructions`
# A long decay time: no pass of reclaim is due within half an hour, and a free gives nothing back at once.
RECLAIM_PUT_OFF = {"HZ3_DECAY": "86400s"}


def scaled(iters: int, scale: float) -> str:
    try:
        return str(max(1, round(iters * scale)))
    except OverflowError:
        raise LabError(f"{iters} iterations times {scale:g} are more than can be counted") from None


@dataclass(frozen=True)
class Variant:
    name: str
    lane: str
    flags: dict[str, int] = field(default_factory=dict)
    env: dict[str, str] = field(default_factory=dict)  # options


@dataclass(frozen=True)
class Case:
    name: str
    group: str
    command: str  # {iters} is the number that --scale scales
    iters: int = 0
    env: dict[str, str] = field(default_factory=dict)
    same_within: float | None = None  # per cent, where it is not the experiment's

    def counted(self) -> Cell:
        return Cell(shlex.split(self.command), self.group, {**RECLAIM_PUT_OFF, **self.env}, counted=True)

    def argv(self, scale: float) -> list[str]:
        return shlex.split(self.command.replace("{iters}", scaled(self.iters, scale)))

    @property
    def program(self) -> str:
        return shlex.split(self.command)[0]


@dataclass(frozen=True)
class Gate:
    """A condition for a GO.  Exactly one of GATE_KINDS is set.

    mean: in the geometric mean over the group's cases the figure is better by at least so many per cent (may be
    negative).  With `share` the cases run only a part of what programs do, which takes this share of the time.
    at_least: in each case of the group the figure is better by at least so many per cent.
    instructions: in each case of the group an operation takes at most so many per cent more instructions.
    wins: in so many cases of the group the figure is better.
    above, below: in each case the variant's own figure, divided by the figure `per` if given, is above or below this.
    """

    group: str
    figure: str
    at_least: float | None = None
    wins: int | None = None
    above: float | None = None
    below: float | None = None
    per: str | None = None
    mean: float | None = None
    share: float | None = None
    instructions: float | None = None

    @property
    def is_relative(self) -> bool:
        return self.at_least is not None or self.wins is not None or self.mean is not None

    def __str__(self) -> str:
        value = f"{self.figure} / {self.per}" if self.per else self.figure
        if self.instructions is not None:
            return f"at most {self.instructions:g} % more instructions for an operation in {self.group}"
        if self.mean is not None:
            of = f", which take {100 * self.share:g} % of the time," if self.share else ""
            return f"{value} at least {self.mean:+g} % in the mean of {self.group}{of}"
        if self.wins is not None:
            return f"{value} better in at least {self.wins} cases of {self.group}"
        if self.at_least is not None:
            return f"{value} at least {self.at_least:+g} % in {self.group}"
        return (
            f"{value} {'above' if self.above is not None else 'below'} "
            f"{self.above if self.above is not None else self.below:g} in {self.group}"
        )


@dataclass(frozen=True)
class TheirFigure:
    case: str
    variant: str
    change: float  # per cent


@dataclass(frozen=True)
class Original:
    """The work order's own result."""

    said: str
    verdict: str | dict[str, str]  # for all variants, or by variant
    figures: tuple[TheirFigure, ...] = ()


@dataclass(frozen=True)
class Experiment:
    name: str
    work_order: str
    question: str
    baseline: Variant
    variants: tuple[Variant, ...]
    cases: tuple[Case, ...]
    gates: tuple[Gate, ...]
    figure: str = "ops_per_s"
    blocks: int = 20
    same_within: float = 2.0  # per cent
    original: Original | None = None
    why: str = ""

    def margin(self, case: str) -> float:
        """The per cent within which the case is the same."""
        own = next((found.same_within for found in self.cases if found.name == case), None)
        return self.same_within if own is None else own

    def margin_of(self, group: str) -> float:
        return max((self.margin(case.name) for case in self.cases if case.group == group), default=self.same_within)

    def timed(self) -> list[Case]:
        """The cases that a clock and RSS judge: all, but those of groups whose instructions are all that is asked
        for."""
        counted = {gate.group for gate in self.gates if gate.instructions is not None}
        only = counted - {gate.group for gate in self.gates if gate.instructions is None}
        return [case for case in self.cases if case.group not in only]

    def counted(self) -> list[Case]:
        groups = {gate.group for gate in self.gates if gate.instructions is not None}
        return [case for case in self.cases if case.group in groups]

    def figures(self, group: str) -> tuple[str, ...]:
        """The figures that are compared in cases of the group."""
        asked = (gate.figure for gate in self.gates if gate.is_relative and gate.group == group)
        return tuple(dict.fromkeys((self.figure, *MEMORY, *asked)))


def kinds(asked: object) -> tuple[type, ...]:
    """A field's type, in the form that isinstance takes."""
    either = get_args(asked) if isinstance(asked, UnionType) else (asked,)
    return tuple(get_origin(kind) or kind for kind in either)


def made_of(kind: type[T], what: str, table: Json, **more: object) -> T:
    """Makes a dataclass from a table of TOML, and checks keys and types."""
    try:
        made = kind(**table, **more)
    except TypeError as error:
        raise LabError(f"{what}: {str(error).replace('.__init__()', '').replace('argument', 'key')}") from None
    for key in fields(kind):
        value, asked = getattr(made, key.name), kinds(key.type)
        right = isinstance(value, asked) or (type(value) is int and float in asked)
        right = right and (type(value) is bool) == (bool in asked)
        if not right or (isinstance(value, float) and not math.isfinite(value)):
            said = " or ".join(kind.__name__ for kind in asked if kind is not NoneType)
            raise LabError(f"{what}: {key.name} = {value!r}, which should be {said}")
    return made


def _variant(table: Json, baseline: Variant) -> Variant:
    """The baseline with other flags and options or, if the table names a lane, that lane with its own."""
    own = made_of(Variant, "variant", {"lane": baseline.lane, **table})
    return own if "lane" in table else replace(own, flags=baseline.flags | own.flags, env=baseline.env | own.env)


def _cases(table: Json, iters: int) -> list[Case]:
    """One case, or one for each combination of the values in `over`."""
    axes = table.pop("over", {})
    cases = []
    if bad := [axis for axis, values in axes.items() if not isinstance(values, list)]:
        raise LabError(f"case {table.get('name')!r}: over: {bad[0]} = {axes[bad[0]]!r}, which should be list")
    for values in itertools.product(*axes.values()):
        filled = dict(table)
        for axis, value in zip(axes, values, strict=True):
            for key in ("name", "group", "command"):
                filled[key] = filled.get(key, "").replace(f"{{{axis}}}", str(value))
        cases.append(made_of(Case, f"case {filled.get('name')!r}", {"iters": iters, **filled}))
    return cases


def _original(table: Json) -> Original:
    figures = tuple(made_of(TheirFigure, "original figure", {**f}) for f in table.pop("figures", ()))
    return made_of(Original, "original", table, figures=figures)


def from_table(table: Json) -> Experiment:
    table = {**table}
    figure, iters = table.get("figure", "ops_per_s"), table.pop("iters", 0)
    try:
        original = table.pop("original", None)
        baseline = made_of(Variant, "baseline", {"name": BASELINE, **table.pop("baseline")})
        return made_of(
            Experiment,
            "experiment",
            table,
            baseline=baseline,
            variants=tuple(_variant(v, baseline) for v in table.pop("variants")),
            cases=tuple(c for t in table.pop("cases") for c in _cases({**t}, iters)),
            gates=tuple(made_of(Gate, "gate", {"figure": figure, **g}) for g in table.pop("gates")),
            original=_original({**original}) if original else None,
        )
    except KeyError as missing:
        raise LabError(f"experiment: no {missing.args[0]}") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise LabError(f"experiment: not of the form that is described: {error}") from None


def _check_case(case: Case) -> None:
    if left := re.search(r"{[^{}]*}", case.name + case.group + case.command.replace("{iters}", "")):
        raise LabError(f"case '{case.name}': nothing says what {left[0]} stands for")
    try:
        argv = case.argv(1)
    except ValueError as error:
        raise LabError(f"case '{case.name}': {error} in: {case.command}") from None
    if not argv:
        raise LabError(f"case '{case.name}': no command")
    if not all(isinstance(value, str) for value in case.env.values()):
        raise LabError(f"case '{case.name}': what env holds is text")


def _check_env(variant: Variant, cases: tuple[Case, ...]) -> None:
    if not all(isinstance(value, str) for value in variant.env.values()):
        raise LabError(f"variant '{variant.name}': what env holds is text")
    for case in cases:
        if both := case.env.keys() & variant.env.keys():
            raise LabError(f"case '{case.name}' and variant '{variant.name}' both set {min(both)}")


def check(experiment: Experiment, registry: Registry, root: Path = ROOT) -> None:
    """Raises LabError if the experiment cannot be run or decided."""
    for case in experiment.cases:
        _check_case(case)
    base = experiment.baseline
    _check_env(base, experiment.cases)
    arms = {BASELINE: (registry.resolve(base.lane, base.flags), base.env)}
    for variant in experiment.variants:
        _check_env(variant, experiment.cases)
        resolved = registry.resolve(variant.lane, variant.flags), variant.env
        if variant.name in (*arms, COPY):
            raise LabError(f"two builds are called '{variant.name}'")
        for name, other in arms.items():
            if resolved == other:
                raise LabError(f"variant '{variant.name}' is the same build as '{name}'")
        arms[variant.name] = resolved
    if not experiment.variants or not experiment.cases or not experiment.gates:
        raise LabError("an experiment needs at least one variant, one case and one gate")
    if len({c.name for c in experiment.cases}) < len(experiment.cases):
        raise LabError("two cases have the same name")
    if experiment.blocks < 1 or experiment.same_within <= 0:
        raise LabError("blocks and same_within must be above 0")
    check_programs([c.program for c in experiment.cases], root)
    if bad := [c.name for c in experiment.cases if c.same_within is not None and c.same_within <= 0]:
        raise LabError(f"case '{bad[0]}': same_within must be above 0")
    if whole := [c.name for c in experiment.counted() if "{iters}" not in c.command]:
        raise LabError(f"case '{whole[0]}': instructions are counted at two numbers of {{iters}}")
    if idle := [c.name for c in experiment.cases if "{iters}" in c.command and c.iters < 1]:
        raise LabError(f"no iters for case '{idle[0]}'")
    for figure in (experiment.figure, *(gate.figure for gate in experiment.gates if gate.is_relative)):
        if not figure.endswith(HIGHER_IS_BETTER + LOWER_IS_BETTER):
            raise LabError(f"nobody knows whether more {figure} is better: judge it by a gate above or below")
    groups = {c.group: sum(o.group == c.group for o in experiment.cases) for c in experiment.cases}
    for gate in experiment.gates:
        if gate.group not in groups:
            raise LabError(f"gate '{gate}': no case is in that group")
        if sum(getattr(gate, kind) is not None for kind in GATE_KINDS) != 1:
            raise LabError(f"gate on {gate.group}: needs exactly one of {', '.join(GATE_KINDS)}")
        if any(asked is not None and asked <= -100 for asked in (gate.at_least, gate.mean)):
            raise LabError(f"gate '{gate}': nothing is worse by 100 % or more")
        if gate.share is not None and (gate.mean is None or not 0 < gate.share <= 1):
            raise LabError(f"gate '{gate}': share goes with mean, and is above 0 and at most 1")
        if gate.per is not None and gate.above is None and gate.below is None:
            raise LabError(f"gate '{gate}': per goes with above and below")
        if gate.instructions is not None and gate.instructions < 0:
            raise LabError(f"gate '{gate}': instructions is what may be too much, so at least 0")
        if gate.wins is not None and not 1 <= gate.wins <= groups[gate.group]:
            raise LabError(f"gate '{gate}': there are {groups[gate.group]} cases")


def check_programs(programs: list[str], root: Path = ROOT) -> None:
    for program in programs:
        if "/" in program or not ((root / "out" / program).is_file() or any(root.glob(f"bench/**/{program}.c"))):
            raise LabError(f"there is no benchmark program '{program}'")


def files(folder: Path) -> list[Path]:
    return [file for file in folder.glob("*.toml") if file.name != REASONS]


def written(file: Path) -> tuple[Experiment, Json]:
    """Reads the file.  Returns the experiment and the file's table."""
    text = text_of(file)
    try:
        table = tomllib.loads(text)
        return from_table(table), table
    except (tomllib.TOMLDecodeError, LabError) as error:
        raise LabError(f"{file.name}: {error}") from None


def read(file: Path) -> Experiment:
    return written(file)[0]
