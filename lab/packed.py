"""Runs what `hz3 pack` put beside it: python3 run.py.  Needs Python 3.11 and nothing else; goes on where it stopped."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from lab import LabError, machine, measure, samples, session  # noqa: E402
from lab.plan import Plan, digest  # noqa: E402


def opened(plan: Plan, folder: Path) -> samples.Samples:
    facts = machine.describe()
    if any(folder.glob("*.jsonl")):
        run = samples.Samples.load(samples.newest_path(folder))
        if not machine.same(facts, run.machine):
            raise LabError(f"{folder} was begun on another machine")
        if session.remaining(run):
            run.resume(facts)
        return run
    return samples.Samples.create(samples.new_path(folder), plan, facts)


def check_programs(plan: Plan) -> None:
    for program, sha256 in plan.programs.items():
        if digest(HERE / "out" / program) != sha256:
            raise LabError(f"out/{program} is not the program that was packed")


def main() -> None:
    taker = measure.Bench(HERE)
    for file in sorted((HERE / "plans").glob("*.json")):
        plan = Plan.from_json(json.loads(file.read_text()))
        check_programs(plan)
        run = opened(plan, HERE / "results" / file.stem)
        left = sum(len(arms) for _, arms in session.remaining(run))
        count = iter(range(left, 0, -1))
        session.run(
            run,
            taker,
            lambda round_, arm, name=file.stem, count=count: print(
                f"{name}: {next(count)} runs left ({round_.phase} {round_.block + 1}, {round_.cell}, {arm})", flush=True
            ),
        )
        print(f"{file.stem}: done")


try:
    main()
except (LabError, OSError) as error:  # of the latter: no permission, no space
    sys.exit(f"run.py: {error}")
except KeyboardInterrupt:
    sys.exit("run.py: interrupted; run it again to go on")
