"""Runs the plans that `hz3 pack` put beside it: python3 run.py.  It needs only Python 3.11, and can be continued."""

import argparse
import json
import math
import platform
import sys
import time
from dataclasses import replace
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit("run.py: needs Python 3.11 or newer")

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from lab import LabError, NotServed, machine, measure, samples, session, text_of  # noqa: E402
from lab.plan import NOT_A_PLAN, Plan, digest  # noqa: E402


def planned(file: Path) -> Plan:
    """Reads a plan.  Its libc is this machine's, not that of the machine where it was packed."""
    try:
        plan = Plan.from_json(json.loads(text_of(file)))
    except NOT_A_PLAN as error:
        raise LabError(f"{file} is not a plan: {error!r}") from None
    libc = platform.libc_ver()[1]
    arms = {name: arm if arm.file else replace(arm, version=libc) for name, arm in plan.arms.items()}
    return replace(plan, arms=arms)


def opened(plan: Plan, path: Path) -> samples.Samples:
    facts = machine.describe()
    if not path.stat().st_size:
        return samples.Samples.create(path, plan, facts)
    run = samples.Samples.load(path)
    if run.void:
        return run
    if not machine.same(facts, run.machine):
        raise LabError(f"{path} was begun on another machine")
    if session.remaining(run):
        run.resume(facts)
    return run


def check_programs(plan: Plan) -> None:
    for program, sha256 in plan.programs.items():
        if digest(HERE / "out" / program) != sha256:
            raise LabError(f"out/{program} is not the program that was packed")


class TimeIsUp(Exception):
    pass


class Deadline:
    """Is up before a run that would go beyond it if it took as long as the longest so far."""

    def __init__(self, seconds: float) -> None:
        self.began = time.monotonic()
        self.end, self.longest = self.began + seconds, 0.0

    def begin_run(self) -> None:
        now = time.monotonic()
        self.longest, self.began = max(self.longest, now - self.began), now
        if now + self.longest > self.end:
            raise TimeIsUp


def conduct(name: str, run: samples.Samples, taker: session.Measure, deadline: Deadline) -> None:
    count = iter(range(sum(len(arms) for _, arms in session.remaining(run)), 0, -1))

    def say(round_: samples.Round, arm: str) -> None:
        deadline.begin_run()
        place = f"{round_.phase} {round_.block + 1}, {round_.cell}, {arm}"
        print(f"{name}: {next(count, 0)} runs left ({place})", flush=True)

    session.run(run, taker, say)
    print(f"{name}: done")


def seconds(text: str) -> float:
    value = float(text)
    if not 0 < value < math.inf:
        raise ValueError
    return value


def main() -> None:
    parser = argparse.ArgumentParser(prog="run.py", description="Measures what is in plans/, into results/.")
    parser.add_argument(
        "--within", metavar="SECONDS", type=seconds, default=math.inf, help="end sooner; another call goes on"
    )
    deadline, void = Deadline(parser.parse_args().within), []
    for file in sorted((HERE / "plans").glob("*.json")):
        plan = planned(file)
        taker = measure.Bench(plan.programs, HERE)
        check_programs(plan)
        folder = HERE / "results" / file.stem
        path = samples.newest_path(folder) if any(folder.glob("*.jsonl")) else samples.new_path(folder)
        with samples.alone(path):
            run = opened(plan, path)
            if run.void:
                void.append(f"{path.relative_to(HERE)} decides nothing: {run.void}")
                continue
            try:
                conduct(file.stem, run, taker, deadline)
            except NotServed as error:
                run.declare_void(str(error).replace(f"{HERE}/", ""))
                raise
    if void:
        raise LabError("; ".join(void))


measure.interrupt_on_every_end()
try:
    main()
except (LabError, OSError) as error:  # OSError: for example no permission, or no space
    sys.exit(f"run.py: {error}")
except TimeIsUp:
    sys.exit("run.py: the time is up; run it again to go on")
except KeyboardInterrupt:
    sys.exit("run.py: interrupted; run it again to go on")
