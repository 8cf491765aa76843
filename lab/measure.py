"""One run of one arm, and the proof that the arm served it.  Any doubt raises LabError, and gives no sample."""

import os
import re
import resource
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from lab import ROOT, Json, LabError, NotServed, Unfit, text_of
from lab.plan import Arm, Cell, check_preloadable, digest

COUNTER = ("valgrind", "-q", "--tool=callgrind")
FEW = 1000  # iterations of each thread in the shorter of two counts
OPERATIONS = 8e6  # of all threads in the longer one, if that is three times the shorter
TIMEOUT = 900  # seconds; only a program that hangs takes longer
OBSERVED = re.compile(r"^\[(HZ3_\w+)\] (.+)$", re.MULTILINE)  # an observation box's line on stderr
REFUSED = re.compile(r"^hz3: warning: ((?:unknown option|bad value for) .*)$", re.MULTILINE)
# Not inherited by any arm.
TUNING = ("LD_", "HZ3_", "MALLOC", "GLIBC_TUNABLES", "MIMALLOC_", "TCMALLOC_", "BENCH_", "PYTHONMALLOC")
WORDS_OF_PROOF = ("alloc", "alloc_path", "config")  # checked here, and not stored, as they are the same in each sample


class Bench:
    """Runs a benchmark program of out/, as an argument of `under` if given.  It prints one line of key=value words."""

    def __init__(self, programs: dict[str, str], root: Path = ROOT, under: tuple[str, ...] = ()):
        self.programs, self.root, self.under = programs, check_preloadable(root), under

    def __call__(self, name: str, arm: Arm, cell: Cell) -> Json:
        if cell.counted:
            return self.count(name, arm, cell)
        program, *arguments = cell.argv
        check_program(f"out/{program}", self.root / "out" / program, self.programs.get(program))
        with fresh_copy(check_library(name, arm, self.root), self.root / "build") as library:
            before = cpu_of_children()
            done = execute(
                [*self.under, str(self.root / "out" / program), *arguments],
                environment(arm, cell, [library] if library else None, keep=()),
                f"{shlex.join(cell.argv)} under {name}",
            )
            return {**self.read(name, arm, library, done), "cpu_s": round(cpu_of_children() - before, 6)}

    def count(self, name: str, arm: Arm, cell: Cell) -> Json:
        """Instructions of the program and of hz3 for each operation of the program, by valgrind at two numbers of
        iterations: the difference is without the start."""
        few, some = self._collected(name, arm, cell, FEW)
        many, more = self._collected(name, arm, cell, round(FEW * max(3, OPERATIONS / some)))
        return {"instructions_per_op": (many - few) / (more - some)}

    def _collected(self, name: str, arm: Arm, cell: Cell, iterations: int) -> tuple[int, float]:
        """The instructions of one run, and its operations."""
        with tempfile.TemporaryDirectory() as folder:
            counts = Path(folder, "counts")
            bench = Bench(self.programs, self.root, (*COUNTER, f"--callgrind-out-file={counts}"))
            figures = bench(name, arm, replace(cell, argv=cell.argv_of(iterations), counted=False))
            (total,) = re.findall(r"^totals: (\d+)$", text_of(counts), re.MULTILINE)
        return int(total), figures["ops"]

    @staticmethod
    def read(name: str, arm: Arm, library: Path | None, done: subprocess.CompletedProcess[str]) -> Json:
        if done.stdout.count("\n") != 1:
            raise LabError(f"{name}: not one line of results but: {done.stdout!r}")
        line = words(done.stdout)
        if not set(WORDS_OF_PROOF) <= line.keys():
            raise LabError(f"{name}: the line does not say who served malloc: {done.stdout!r}")
        check_server(name, arm, library, line["alloc_path"], line["config"])
        check_mode(name, arm, line.get("mode"))
        if refused := REFUSED.search(done.stderr):
            raise NotServed(f"{name}: an option did not take: {refused[1]}")
        figures = {key: number(value) for key, value in line.items() if key not in WORDS_OF_PROOF}
        return {**figures, **observed(done.stderr)}


def cpu_of_children() -> float:
    """The seconds, user and system, of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def words(text: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(text) if "=" in word)


def number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def observed(stderr: str) -> dict[str, float | str]:
    """[BOX] key=value ... part: key=value ...  becomes BOX.key and BOX.part.key."""
    figures = {}
    for box, text in OBSERVED.findall(stderr):
        prefix = box
        for word in text.split():
            key, equals, value = word.partition("=")
            if equals:
                figures[f"{prefix}.{key}"] = number(value.removesuffix("%"))
            elif word.endswith(":"):
                prefix = f"{box}.{word[:-1]}"
    return figures


def check_program(name: str, file: Path, sha256: str | None) -> None:
    """Raises Unfit if the program has changed.  All arms run it, so this is not an error of one arm."""
    if not file.is_file() or digest(file) != sha256:
        raise Unfit(f"{name} is no longer the program that the run began with")


def check_library(name: str, arm: Arm, root: Path) -> Path | None:
    if arm.file is None:
        return None
    library = (root / arm.file).resolve()
    if digest(library) != arm.sha256:
        raise LabError(f"{name}: {arm.file} is no longer the library that the run began with")
    return library


@contextmanager
def fresh_copy(library: Path | None, below: Path) -> Iterator[Path | None]:
    """The library, copied for one run, where other users may read it.  A file's pages stay where they are in memory, and
    some places are a tenth faster than others, for the same bytes.  So no arm keeps its place from run to run.  All have
    one name, as the length of LD_PRELOAD shifts the stack."""
    if library is None:
        yield None
        return
    below.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=below.resolve()) as folder:
        Path(folder).chmod(0o755)
        yield Path(shutil.copy(library, Path(folder, "library.so")))


def check_server(name: str, arm: Arm, library: Path | None, served_by: str, config: str) -> None:
    good = Path(served_by).name.startswith("libc.so") if library is None else Path(served_by).resolve() == library
    if not good:
        raise NotServed(f"{name}: meant to measure {library or 'libc'}, but {served_by} served malloc")
    config = config.partition("hz3-config: ")[2]  # another library may have a function of this name
    if config != arm.config:
        raise NotServed(f"{name}: a flag did not take: built as '{arm.config}', but the process had '{config}'")


def check_mode(name: str, arm: Arm, said: str | None) -> None:
    if arm.mode and said != arm.mode.rpartition(" ")[2]:
        raise LabError(f"{name}: make peers found '{arm.mode}', the process that was measured says {said}: make peers")


def environment(
    arm: Arm, cell: Cell, preload: list[Path] | None, keep: tuple[str, ...] = ("LD_LIBRARY_PATH",)
) -> dict[str, str]:
    """The caller's environment without variables that tune allocators or the loader, except those in `keep`, which a
    user's program may need.  Case is ignored, as mimalloc's names may be in lower case."""
    env = {key: value for key, value in os.environ.items() if key in keep or not key.upper().startswith(TUNING)}
    return {**env, **arm.env, **cell.env, **({"LD_PRELOAD": ":".join(map(str, preload))} if preload else {})}


def execute(argv: list[str], env: dict[str, str], what: str) -> subprocess.CompletedProcess[str]:
    """Runs a command in its own session, so that Ctrl-C reaches only the lab, which then ends the whole session."""
    try:
        child = subprocess.Popen(
            argv,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,
        )
    except OSError as error:
        raise LabError(f"{what}: cannot be started: {error.strerror}") from None
    try:
        stdout, stderr = child.communicate(timeout=TIMEOUT)
    except subprocess.TimeoutExpired:
        raise LabError(f"{what}: still running after {TIMEOUT} s") from None
    finally:
        end_session(child)
    check_status(child.returncode, what, stderr)
    return subprocess.CompletedProcess(argv, 0, stdout, stderr)


def interrupt_on_every_end() -> None:
    """Handles SIGTERM and SIGHUP like Ctrl-C, so that the lab ends its child.  A signal that nohup ignores stays so."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler)


def end_session(child: subprocess.Popen[Any]) -> None:
    """Kills the session of a child that leads one, if it still runs."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def check_status(status: int, what: str, stderr: str) -> None:
    if status:
        how = f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
        raise LabError(f"{what}: {how}" + (f": {stderr.strip()[-500:]}" if stderr.strip() else ""))


def check_testimony(what: str, testimony: Path, name: str, arm: Arm, library: Path | None) -> int:
    """Returns how many processes the witness wrote from.  There must be one, and the arm must have served all."""
    statements = testimony.read_text().splitlines() if testimony.exists() else []
    if not statements:
        raise LabError(f"{what}: nothing could be preloaded into it, so nobody knows who served malloc")
    for statement in statements:
        check_server(name, arm, library, *statement.split("\t"))
    return len(statements)


class Command:
    """Measures any program: wall time, CPU time and peak RSS.  A witness in each process says who serves malloc."""

    def __init__(self, tools: Path, root: Path = ROOT, program: Path | None = None):
        self.root, self.launch, self.witness = root, tools / "launch", tools / "witness.so"
        self.program, self.sha256 = program, digest(program) if program else ""

    def __call__(self, name: str, arm: Arm, cell: Cell) -> Json:
        if self.program:
            check_program(str(self.program), self.program, self.sha256)
        original = check_library(name, arm, self.root)
        with tempfile.TemporaryDirectory() as folder, fresh_copy(original, self.root / "build") as library:
            preload = ":".join(str(file) for file in (library, self.witness) if file)
            usage, testimony = Path(folder, "usage"), Path(folder, "testimony")
            env = environment(arm, cell, None) | {"LAB_WITNESS": str(testimony)}
            what = f"{shlex.join(cell.argv)} under {name}"
            execute([str(self.launch), str(usage), preload, *cell.argv], env, what)
            processes = check_testimony(what, testimony, name, arm, library)
            figures = {key: float(value) for key, value in words(usage.read_text()).items()}
            return {**figures, "processes": float(processes)}
