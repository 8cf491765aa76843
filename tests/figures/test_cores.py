"""A core has what is in use, and little of what was: purged memory that stays mapped is written as zeros."""

import os
import resource
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

MIB = 1 << 20


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    made = tmp_path_factory.mktemp("cores") / "cores"
    subprocess.run(["cc", "-O1", "-fno-builtin", Path(__file__).with_name("cores.c"), "-o", made], check=True)
    return made


def started(program, preload, arguments, **more):
    child = subprocess.Popen([program, *arguments.split()], env=preload.env, stdout=subprocess.PIPE, **more)
    assert child.stdout.readline() == b"ready\n"
    return child


# Of what is kept, 5 MiB are resident of 100.  Blocks of 1000 bytes leave a granule in use in ten.
@pytest.mark.parametrize("arguments, most", [
    ("600 629145600 0", 20), ("300 100000 0", 20), ("300 32 0", 20), ("300 100000 200", 20), ("300 100000 20 trim", 40),
    ("300 1000 2000 trim", 30)])
def test_what_was_freed_is_not_in_a_debugger_s_core(program, preload, tmp_path, arguments, most):
    if not shutil.which("gcore"):
        pytest.skip("gdb is not installed")
    child = started(program, preload, arguments)
    done = subprocess.run(["gcore", "-o", tmp_path / "core", str(child.pid)], capture_output=True, text=True)
    mappings = len(Path(f"/proc/{child.pid}/maps").read_text().splitlines())
    child.kill()
    if "ptrace" in done.stderr:
        pytest.skip(f"gdb cannot trace here: {done.stderr.strip()}")
    assert (tmp_path / f"core.{child.pid}").stat().st_size < most * MIB
    assert mappings < 2000
    child.wait()


def test_nor_in_the_kernel_s(program, preload, tmp_path):
    if Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core":
        pytest.skip("the system writes cores elsewhere")
    if resource.getrlimit(resource.RLIMIT_CORE)[1] != resource.RLIM_INFINITY:
        pytest.skip("cores are limited")
    child = started(program, preload, "300 32 0", cwd=tmp_path,
                    preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY,) * 2))
    os.kill(child.pid, signal.SIGABRT)
    child.wait()
    core, = tmp_path.glob("core*")
    assert core.stat().st_size < 20 * MIB
    assert core.stat().st_blocks * 512 < 8 * MIB
