"""Replays the calls of a recorded program on any allocator.  trace/ says what is recorded and played."""

import glob
import statistics
import subprocess
from pathlib import Path

from lab import ROOT, Json, LabError
from lab.build import Say, build_player
from lab.measure import (
    TIMEOUT,
    WORDS_OF_PROOF,
    check_library,
    check_program,
    check_server,
    environment,
    execute,
    fresh_copy,
    number,
    words,
)
from lab.plan import Arm, Cell, digest
from lab.samples import Samples


class Player:
    """Plays a trace once for each run of an arm."""

    def __init__(self, trace: Path, root: Path = ROOT):
        self.root, self.trace = root, trace.resolve()
        self.sha256, self.player = digest(self.trace), build_player(root / "build/lab")

    def facts(self, say: Say) -> Json:
        """The facts about the trace.  The player's warnings are passed on."""
        done = subprocess.run([self.player, "--facts", self.trace], capture_output=True, text=True, errors="replace")
        said = done.stderr.strip().removeprefix("hz3: ")
        if done.returncode:
            if said.endswith("nothing was recorded in it"):
                said += self.others()
            raise LabError(said or f"{self.trace}: the player ended with status {done.returncode}")
        if said:
            say(f"hz3: {said}")
        facts: Json = {key: number(value) for key, value in words(done.stdout).items()}
        if facts["span"] > TIMEOUT * 0.9:
            raise LabError(f"{self.trace}: it lasts {facts['span']:.0f} s, and a run may take {TIMEOUT} s")
        say(
            f"{facts['program']}: {facts['events']:.0f} calls of {facts['threads']:.0f} threads in "
            f"{facts['span']:.1f} s, {facts['event_bytes']:.1f} bytes each"
        )
        return facts

    def others(self) -> str:
        """The trace that was meant, if the program is a script that ends by running another."""
        found = self.trace.parent.glob(f"{glob.escape(self.trace.name)}.*-*")
        largest = max(found, key=lambda file: file.stat().st_size, default=None)
        return f"; of the programs that it started {largest.name} has most" if largest else ""

    def __call__(self, name: str, arm: Arm, cell: Cell) -> Json:
        check_program(str(self.trace), self.trace, self.sha256)
        with fresh_copy(check_library(name, arm, self.root), self.root / "build") as library:
            env = environment(arm, cell, [library] if library else None)
            line = words(execute([str(self.player), *cell.argv], env, f"{self.trace.name} on {name}").stdout)
            check_server(name, arm, library, line["alloc_path"], line["config"])
        return {key: number(value) for key, value in line.items() if key not in WORDS_OF_PROOF}


def fidelity(run: Samples, facts: Json) -> str:
    """The recorded figures, beside a replay on the same allocator, if it is among the arms."""
    recorded_on, peak = Path(str(facts["recorded_on"])).name, facts["recorded_peak"]
    said = f"recorded on {recorded_on}: {peak / 1024:.1f} MiB at the peak, {facts['recorded_cpu']:.2f} s of CPU"
    files = {name: Path(arm.file or "libc.so.6").name for name, arm in run.plan.arms.items()}
    for cell in run.plan.cells:
        for name in (name for name, file in files.items() if file == recorded_on and (cell, name) not in run.unable):
            played = [block[name] for block in run.blocks(cell, "ab")]
            mine, cpu = (statistics.median(figures[key] for figures in played) for key in ("peak_kib", "cpu_s"))
            ratio = f" ({mine / peak:.2f}x)" if peak else ""
            return f"{said}; replayed on {name}: {mine / 1024:.1f} MiB{ratio}, {cpu:.2f} s in malloc and the like"
    return f"{said}; it is not among these"
