"""The folder results/.  It has the newest run of each list of cells and of each experiment, compressed; a line for each
run that there ever was (index.json); and the data that the documentation is made from (summary.json).  The samples of
older runs are in git's history: `git show` prints them, with the value of `history` in their line."""

import hashlib
import json
import os
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from lab import ROOT, Json, LabError, archive, experiment, machine, programs, samples, summary, text_of
from lab.peers import OF_PROGRAMS, PUBLISHED
from lab.plan import NOT_A_PLAN, Plan
from lab.samples import Samples
from lab.session import remaining
from lab.summary import Judged

FOLDER = ROOT / "results"
EXPERIMENTS = ROOT / "experiments"
INDEX, SUMMARY = "index.json", "summary.json"
LEAST_BLOCKS, LEAST_WEIGHT = 2, 0.5  # of a published comparison; 2 blocks with a quarter of the iterations weigh 0.5
Say = Callable[[str], None]
T = TypeVar("T")


def weight(plan: Plan | Judged) -> float:
    """The amount of measurement in a run, by which trials are recognised."""
    return plan.scale * (plan.most if isinstance(plan, Judged) else plan.blocks)


def counts(run: Samples) -> bool:
    """Whether a run may be published.  It has to be complete; a comparison must be no trial, and have all of
    PUBLISHED."""
    plan = run.plan
    if plan.kind == "peers":
        trial = plan.blocks < LEAST_BLOCKS or weight(plan) < LEAST_WEIGHT
        wanted = OF_PROGRAMS if programs.are_real(plan.cells) else PUBLISHED
        whole = not (trial or wanted - plan.arms.keys() - plan.missing.keys())
    else:
        whole = bool(plan.experiment)
    return whole and not run.void and not remaining(run)


def best(every: Iterable[T], key: Callable[[T], Hashable], rank: Callable[[T], Any] = lambda run: 0) -> list[T]:
    """For each key the run that ranks first, or the last of several that do."""
    found: dict[Hashable, T] = {}
    for run in every:
        if key(run) not in found or rank(run) >= rank(found[key(run)]):
            found[key(run)] = run
    return list(found.values())


def newest(comparisons: Iterable[Samples]) -> list[Samples]:
    """The newest comparison for each list of cells, each number of processors, and huge pages made always or not."""
    ordered = sorted(comparisons, key=lambda run: stamp(run.path))
    key = {id(r): (r.plan.name, machine.always_huge(r.machine), r.machine["cpus_allowed"]) for r in ordered}
    return sorted(best(ordered, lambda run: key[id(run)]), key=lambda run: key[id(run)])


def weightiest(every: Iterable[Judged], asked: experiment.Experiment | None) -> list[Judged]:
    """For each machine the run with the largest weight, or the newest of several.  Runs of an older file are chosen from
    only if there is none of the present file, and those of which the words alone are kept if there is no other."""
    now, every = summary.basis(asked) if asked else "", list(every)
    full = [run for run in every if not run.is_brief]
    of_now = [run for run in full if run.basis == now]
    return best(of_now or full or every, lambda run: run.key, weight)


def stamp(path: Path) -> str:
    return path.name.partition(".")[0]


def day(path: Path) -> str:
    began = stamp(path)
    return f"{began[:4]}-{began[4:6]}-{began[6:8]}"


def run_of(path: Path) -> str:
    """The run's name in the index."""
    return f"{path.parent.name}/{stamp(path)}"


def readable(paths: Iterable[Path], say: Say) -> Iterator[Samples]:
    """Yields the samples of each file.  A damaged file is reported with the place, and skipped."""
    for path in paths:
        try:
            yield Samples.load(path)
        except LabError as error:
            say(f"left out: {error}")


def files(folder: Path) -> list[Path]:
    return [path for place in sorted(folder.iterdir()) if place.is_dir() for path in samples.runs(place)]


def on_lines(value: Any, depth: int) -> str:
    """JSON with new lines for the outer `depth` levels, so that it is small and diffs are readable."""
    if not depth or not isinstance(value, (dict, list)) or not value:
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    if isinstance(value, list):
        return "[\n" + ",\n".join(on_lines(item, depth - 1) for item in value) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{on_lines(item, depth - 1)}" for key, item in value.items()) + "\n}"


def read_json(file: Path) -> Json:
    try:
        found: Json = json.loads(text_of(file))
        return found
    except ValueError as error:
        raise LabError(f"{file} is damaged: {error}") from None


def write_json(file: Path, value: Any, depth: int) -> None:
    new = file.with_suffix(".part")
    new.write_text(on_lines(value, depth) + "\n")
    os.replace(new, file)


@dataclass
class Results:
    folder: Path = FOLDER
    index: dict[str, Json] = field(default_factory=dict)
    experiments: dict[str, list[Judged]] = field(default_factory=lambda: defaultdict(list))
    comparisons: list[Samples] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path = FOLDER) -> "Results":
        results = cls(folder)
        if not (folder / INDEX).exists():
            return results
        file, run = folder / INDEX, ""
        try:
            results.index = {line["run"]: line for line in read_json(file)["runs"]}
            file = folder / SUMMARY
            known = read_json(file)
            for run, table in known["experiments"].items():
                facts = results.index[run]["machine"]
                results.experiments[run.partition("/")[0]].append(
                    summary.judged_from_json(results.path(run), facts, table)
                )
            for run, table in known["comparisons"].items():
                facts = results.index[run]["machine"]
                results.comparisons.append(summary.comparison_from_json(results.path(run), facts, table))
        except NOT_A_PLAN as error:
            raise LabError(f"{file} is damaged: {': '.join(filter(None, (run, repr(error))))}") from None
        return results

    def path(self, run: str) -> Path:
        return self.folder / f"{run}.jsonl{archive.SUFFIX}"

    def add(self, run: Samples) -> None:
        """Adds a complete run to the index and the summary, and one that decides nothing to the index alone, even if it
        was in both."""
        name = run_of(run.path)
        self.index[name] = self.index.get(name, {}) | {
            "run": name,
            "of": run.plan.name,
            "date": day(run.path),
            "machine": run.machine,
            "commit": run.plan.commit,
            "sha256": hashlib.sha256(samples.contents(run.path)).hexdigest(),
            **({"void": run.void} if run.void else {}),
        }
        if run.void:
            self.comparisons = [other for other in self.comparisons if run_of(other.path) != name]
            for of in self.experiments.values():
                of[:] = [other for other in of if run_of(other.path) != name]
        if not counts(run):
            return
        if run.plan.kind == "peers":
            others = [other for other in self.comparisons if run_of(other.path) != name]
            self.comparisons = newest([*others, run])
        else:
            of = self.experiments[run.path.parent.name]
            of[:] = sorted(
                [*(other for other in of if run_of(other.path) != name), summary.judged(run)],
                key=lambda judged: judged.path.name,
            )
            self._shorten(run.path.parent.name)

    def _shorten(self, name: str) -> None:
        """Shortens the runs of an experiment that the ledger does not show in full."""
        file = EXPERIMENTS / f"{name}.toml"
        shown = weightiest(self.experiments[name], experiment.read(file) if file.is_file() else None)
        self.experiments[name] = [run if run in shown else run.brief() for run in self.experiments[name]]

    def write(self) -> None:
        write_json(self.folder / INDEX, {"runs": [self.index[run] for run in sorted(self.index)]}, 2)
        judged = (run for of in sorted(self.experiments) for run in self.experiments[of])
        found = {run_of(run.path): summary.judged_to_json(run) for run in judged}
        compared = {run_of(run.path): summary.comparison_to_json(run) for run in self.comparisons}
        write_json(self.folder / SUMMARY, {"experiments": found, "comparisons": compared}, 4)


def keep(run: Samples, folder: Path) -> None:
    """Compresses the samples of a complete run, and adds it to the index and the summary."""
    if run.path.suffix != archive.SUFFIX:
        run.path = archive.compress(run.path)
    results = Results.read(folder)
    results.add(run)
    results.write()


def renew(folder: Path, say: Say) -> Results:
    """Renews the summary from all samples in the folder.  Entries of runs whose samples are elsewhere are kept."""
    results = Results.read(folder)
    for run in readable(files(folder), say):
        if run.void or not remaining(run):
            try:
                results.add(run)
            except LabError as error:
                say(f"left out: {error}")
    results.write()
    return results
