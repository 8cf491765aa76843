"""Runs a real program on a library, alone or as a server under load, and measures what it uses."""

import glob
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import Json, LabError, Unfit, measure

POSTGRES = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
PATH = os.pathsep.join(["/usr/bin", os.environ.get("PATH", ""), "/usr/sbin", "/sbin", *POSTGRES])
PATIENCE = 120.0  # seconds; only a program that hangs takes longer
REST = 3.0  # seconds from the end of a server's load until its memory is measured
NOBODY = "nobody"  # the user for programs that refuse root
Command = Sequence[str | Path]


@dataclass
class Stage:
    """Where a program runs: its library, the environment that preloads it, and a folder."""

    folder: Path
    env: dict[str, str]
    work: int

    def path(self, name: str) -> Path:
        return self.folder / name

    def once(self, name: str, make: Callable[[Path], object]) -> Path:
        """An input, made once for each amount of work.  No allocator is to blame if it cannot be made."""
        file, part = self.path(f"{self.work}-{name}"), self.path(f"part-{name}")
        if not file.exists():
            try:
                make(part)
            except (LabError, OSError, subprocess.CalledProcessError) as error:
                raise Unfit(f"{name} cannot be made: {error}") from None
            part.rename(file)
        return file


def found(program: str) -> str:
    path = shutil.which(program, path=PATH)
    if not path:
        raise Unfit(f"{program} is not installed: make setup FOR=programs")
    return path


def quietly(*command: str | Path, **options: Any) -> str:
    """Runs a load or a preparation on the process's own malloc.  Returns its output."""
    env = {**os.environ, "PATH": PATH, "LC_ALL": "C"}
    try:
        done: subprocess.CompletedProcess[str] = subprocess.run(
            command,
            env=env,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=measure.TIMEOUT,
            **options,
        )
    except subprocess.TimeoutExpired:
        raise LabError(f"{command[0]}: still running after {measure.TIMEOUT} s") from None
    measure.check_status(done.returncode, str(command[0]), done.stderr)
    return done.stdout


def start(stage: Stage, command: Command, **options: Any) -> subprocess.Popen[bytes]:
    """Starts a command by launch, since this process's own size would count in the peak of its direct child."""
    env = {**stage.env}
    launch: Command = [stage.path("launch"), stage.path("usage"), env.pop("LD_PRELOAD", "")]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    return subprocess.Popen(
        [*launch, *command], env=env, cwd=stage.folder, start_new_session=True, **{**streams, **options}
    )


def cost(stage: Stage, command: Command, child: subprocess.Popen[bytes] | None = None) -> Json:
    """The figures of a command, which must succeed, and of the children that it waited for."""
    with tempfile.TemporaryFile() as said:
        child = child or start(stage, command, stderr=said)
        try:
            status = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise LabError(f"{command[0]} does not end") from None
        finally:
            measure.end_session(child)
        said.seek(0)
        measure.check_status(status, str(command[0]), said.read().decode(errors="replace"))
    used = {key: float(value) for key, value in measure.words(stage.path("usage").read_text()).items()}
    return {"seconds": used["cpu_s"], "ops_per_s": 1 / used["cpu_s"], **used}


def served(
    stage: Stage,
    command: Command,
    ready: Callable[[], bool],
    load: Callable[[], object],
    stop: int = signal.SIGTERM,
    **options: Any,
) -> Json:
    """The same for a server under load, with the wall time of the load, and RSS after REST."""
    server = start(stage, command, stderr=subprocess.DEVNULL, **options)
    try:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if server.poll() is not None or time.monotonic() > deadline:
                raise LabError(f"{command[0]} does not serve: status {server.returncode}")
            time.sleep(0.02)
        began = time.monotonic()
        load()
        wall = time.monotonic() - began
        time.sleep(REST)
        process = next(iter(children(server.pid)), None)
        if process is None:
            raise LabError(f"{command[0]} ended after its load: status {server.wait(PATIENCE)}")
        after = max(map(rss_kib, family(process)))
        os.kill(process, stop)
        return {**cost(stage, command, server), "wall_s": wall, "after_kib": after}
    finally:
        measure.end_session(server)


def said_in(file: str) -> str:
    """What a file of /proc says: nothing of a process or a thread that has ended meanwhile."""
    try:
        return Path(file).read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def children(pid: int) -> list[int]:
    return [int(child) for file in glob.glob(f"/proc/{pid}/task/*/children") for child in said_in(file).split()]


def family(pid: int) -> Iterator[int]:
    yield pid
    for child in children(pid):
        yield from family(child)


def rss_kib(pid: int) -> float:
    lines = said_in(f"/proc/{pid}/status").splitlines()
    return next((float(line.split()[1]) for line in lines if line.startswith("VmRSS:")), 0.0)


def answers_at(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_nobody(stage: Stage) -> dict[str, Any]:
    """Options that run a command as NOBODY if this is root.  That user can read the library and write to the folder."""
    if os.geteuid() != 0:
        return {}
    shutil.chown(stage.folder, NOBODY)
    user = pwd.getpwnam(NOBODY)
    return {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
