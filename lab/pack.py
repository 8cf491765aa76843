"""Makes a folder that measures on another machine, and merges its results."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

from lab import ROOT, LabError, archive
from lab.plan import Arm, Plan
from lab.samples import Samples, contents, loadable, of_same_build, runs
from lab.session import remaining

MODULES = ("__init__", "plan", "samples", "machine", "measure", "session")  # all modules that a run needs


def check_is_new(folder: Path) -> None:
    if folder.exists():
        raise LabError(f"{folder} is there already")


def pack(folder: Path, plans: dict[str, Plan], root: Path = ROOT) -> None:
    """Copies everything to the same relative path in the folder.  A library from outside the tree goes to peers/."""
    check_is_new(folder)
    here = Path(__file__).parent
    for name in MODULES:
        _copy(here / f"{name}.py", folder / "lab" / f"{name}.py")
    _copy(here / "packed.py", folder / "run.py")
    for name, plan in plans.items():
        for program in plan.programs:
            _copy(root / "out" / program, folder / "out" / program)
        arms = {arm_name: _pack_arm(arm_name, arm, folder, root) for arm_name, arm in plan.arms.items()}
        file = folder / "plans" / f"{name}.json"
        file.parent.mkdir(exist_ok=True)
        file.write_text(json.dumps(replace(plan, arms=arms).to_json()))


def _pack_arm(name: str, arm: Arm, folder: Path, root: Path) -> Arm:
    if arm.file is None:
        return arm
    source = root / arm.file
    target = Path("peers", name, source.name) if Path(arm.file).is_absolute() else Path(arm.file)
    _copy(source, folder / target)
    return replace(arm, file=str(target))


def pooled(file: Path) -> Samples:
    """The run in the file; or, if there is another of the same build on the same machine, that one with its samples."""
    run = Samples.load(file)
    known = of_same_build(file.parent, run.plan, run.machine, before=file.stem) if run.plan.kind == "ab" else None
    if not known or run.void or remaining(run):
        return run
    path = archive.expand(known)
    part = Path(shutil.copy(path, path.with_suffix(".part")))  # if this is interrupted, the run is as it was
    one = Samples.load(part)
    one.absorb(run)
    one.path = part.replace(path)
    file.unlink()
    return one


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def merge(folder: Path, results: Path) -> list[Path]:
    """Copies the samples of a packed folder to the results.  Every file has to be one that the lab wrote."""
    files = sorted(folder.glob("results/*/*.jsonl"))
    if not files:
        raise LabError(f"no results in {folder}: run.py there makes them")
    for file in files:
        kind = Samples.load(file).plan.kind
        if (kind == "peers") != file.parent.name.startswith("peers-"):
            raise LabError(f"{file} is of another kind than its folder says: {kind}")
    merged = []
    for file in files:
        target = results / file.relative_to(folder / "results")
        having = [run.path for run in loadable(runs(target.parent)) if file.stem in run.absorbed]
        if having:  # merged before
            if target.exists():  # but interrupted before the last step
                target.unlink()
                merged += having
            continue
        here = [path for path in runs(target.parent) if path.name.startswith(file.stem)]
        if here and contents(here[0]).startswith(file.read_bytes()):
            run = Samples.load(here[0])
            if run.absorbed or run.void:
                continue
        if here and not file.read_bytes().startswith(contents(here[0])):
            raise LabError(f"{here[0]} is there already, with other samples")
        _copy(file, target)
        merged.append(target)
    return merged
