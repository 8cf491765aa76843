"""Runs the subcommands of hz3 that look into processes."""

import os
import resource
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HZ3 = ROOT / "bin/hz3"
# bin/hz3 then uses the tests' Python, which has prometheus-client.
WITH_OURS = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}


def hz3(*arguments, **options):
    options = {"capture_output": True, "text": True, "env": WITH_OURS, "timeout": 60, **options}
    return subprocess.run([HZ3, *map(str, arguments)], **options)


def said(*arguments, **options):
    done = hz3(*arguments, **options)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def refused(*arguments, **options):
    """The one line that gives the reason."""
    done = hz3(*arguments, **options)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("hz3: ") and done.stderr.count("\n") == 1
    return done.stderr


def cpu_of_children(act):
    """The user and system time of the processes that it waits for.  Other processes make wall-clock time longer."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    act()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@contextmanager
def resting(*argv, **options):
    """Starts a program that prints a line and waits.  Yields its process and the line."""
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        try:
            yield process, process.stdout.readline()
        finally:
            process.kill()
