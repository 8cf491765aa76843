"""Runs programs on hz3, each in a folder of its own, and checks that hz3 writes nothing to their stderr."""

import os
import re
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, suppress
from pathlib import Path

import identity
import pytest

POSTGRES = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
PATH = os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin", *POSTGRES])


def require(program, package):
    """Returns the program's full path.  If it is missing, the test is skipped and names the package."""
    return shutil.which(program, path=PATH) or pytest.skip(f"{package} is not installed")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def children(pid):
    lists = [task / "children" for task in Path(f"/proc/{pid}/task").iterdir()]
    return [int(child) for each in lists for child in each.read_text().split()]


def wait_until(condition, what, seconds=20):
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"{what}: not within {seconds} s"
        time.sleep(0.02)
    return value


def answers(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def assert_silent(stderr):
    """Checks that hz3 has printed nothing, neither a warning nor a misuse."""
    assert not re.findall(rb"^hz3:.*$", stderr, re.MULTILINE)


class Host:
    def __init__(self, preload, folder, user=None):
        self.folder, self.user, self.lane = folder, user, preload.lane
        self.env = {**preload.env, "PATH": PATH, "LC_ALL": "C"}

    def plain_env(self):
        return {name: text for name, text in self.env.items() if name != "LD_PRELOAD"}

    def _popen_options(self, options):
        as_user = {"user": self.user.pw_uid, "group": self.user.pw_gid, "extra_groups": []} if self.user else {}
        return {"cwd": self.folder, "env": self.env, **as_user, **options}

    def run(self, *argv, **options):
        """Runs a program that must succeed, and returns its stdout."""
        done = subprocess.run(argv, capture_output=True, timeout=50, **self._popen_options(options))
        assert done.returncode == 0, f"{argv} ended with {done.returncode}: {done.stderr.decode(errors='replace')}"
        assert_silent(done.stderr)
        return done.stdout

    def assert_on_hz3(self, pid):
        assert f" lane={self.lane} " in identity.config_of(pid)

    @contextmanager
    def running(self, *argv, end=signal.SIGTERM, **options):
        """Starts a process on hz3.  Unless it ends by itself, it gets signal `end`.  It must succeed and leave no
        child."""
        said = self.folder / f"{Path(argv[0]).name}.said"
        with said.open("wb") as log:
            options = self._popen_options({"stdout": log, "stderr": log, "start_new_session": True, **options})
            process = subprocess.Popen(argv, **options)
        try:
            self.assert_on_hz3(process.pid)
            yield process
        finally:
            process.send_signal(end)
            try:
                process.wait(timeout=20)
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                print(f"{argv} ended with {process.returncode} and said:\n{said.read_text(errors='replace')}")
        assert process.returncode == 0
        assert_silent(said.read_bytes())
