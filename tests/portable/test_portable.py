"""hz3 on other C libraries, processors, byte orders and page sizes, by the stress test, which is linked statically with
it, or on musl runs with it preloaded.  On musl threads that use streams fork, too, as musl's fork takes other locks than
glibc's; and threads end by the system call, which musl's list of threads does not learn of.

Other processors are emulated, so this shows that hz3 works there, but not how fast it is."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from variants import ROOT, later, run


@dataclass(frozen=True)
class Target:
    compiler: str
    emulator: str | None = None
    page_sizes: tuple[int, ...] = ()  # with which the emulator is run


TARGETS = {
    "musl": Target("musl-gcc"),
    "aarch64": Target("aarch64-linux-gnu-gcc", emulator="qemu-aarch64", page_sizes=(4096, 16384, 65536)),
    "riscv64": Target("riscv64-linux-gnu-gcc", emulator="qemu-riscv64"),
    "big endian": Target("s390x-linux-gnu-gcc", emulator="qemu-s390x"),
}
RUNS = [(name, page_size) for name, target in TARGETS.items() for page_size in target.page_sizes or [None]]
FIRST = [("musl", None), ("aarch64", 65536), ("big endian", None)]  # in make test, and the others in make test_portable


def missing(target):
    """The names of what is not installed."""
    if tools := [tool for tool in (target.compiler, target.emulator) if tool and not shutil.which(tool)]:
        return " and ".join(tools)
    done = subprocess.run([target.compiler, "-E", "-"], input="#include <stdlib.h>\n", text=True, capture_output=True)
    return f"headers for {target.compiler}" if done.returncode else None


@pytest.fixture(scope="module", params=["scale", *later(["classic"])])
def program(request, tmp_path_factory):
    """Builds the library, and each program with it, once for each target."""
    folders = {}

    def build_library(name):
        target, folder = TARGETS[name], tmp_path_factory.mktemp(name)
        run(Path("cmake"), "-S", ROOT, "-B", folder, "-DCMAKE_SYSTEM_NAME=Linux",
            f"-DCMAKE_C_COMPILER={target.compiler}", f"-DHZ3_LANE={request.param}",
            "-DCMAKE_BUILD_TYPE=None", "-DCMAKE_C_FLAGS=-O2", "-DHZ3_TESTS=OFF", "-DHZ3_BENCH=OFF")  # no -g
        run(Path("cmake"), "--build", folder, f"-j{os.cpu_count()}", "--target", "hz3_static", "hz3", "hz3_record", "hz3_play",
            seconds=120)
        return folder

    def build(name, *sources, preloaded=False):
        """Returns the program; with `preloaded`, one that is not linked with hz3, and the library."""
        if name not in folders:
            folders[name] = build_library(name)
        library = folders[name] / f"libhakozuna_hz3_{request.param}"
        built = folders[name] / (Path(sources[0]).stem + ("_preloaded" if preloaded else ""))
        if not built.exists():
            run(Path(TARGETS[name].compiler), *([] if preloaded else ["-static"]), "-O2", "-fno-builtin", "-D_GNU_SOURCE",
                "-I", ROOT / "tests", "-o", built, *(ROOT / "tests" / source for source in (*sources, "support.c")),
                *([] if preloaded else [library.with_suffix(".a")]), "-pthread")
        return (built, library.with_suffix(".so")) if preloaded else built

    return build


@pytest.mark.parametrize("window", ["1024G", "64M"])
@pytest.mark.parametrize("name, page_size", [*FIRST, *later([run for run in RUNS if run not in FIRST])])
def test_no_block_has_two_owners_or_loses_a_byte(program, name, page_size, window, request):
    target = TARGETS[name]
    if what := missing(target):
        pytest.skip(f"{what} not installed")
    seconds = 5 if request.config.getoption("--long") else 1
    command = [program(name, "stress/stress.c"), seconds, 4, 1]
    if target.emulator:
        command = [Path(target.emulator), *(["-p", page_size] if page_size else []), *command, "unforked"]
    done = run(*command, HZ3_STATS="1", HZ3_DECAY="20", HZ3_WINDOW=window)
    said = done.stdout + done.stderr
    figures = {key: int(value) for key, value in re.findall(r"(\w+)=(\d+)", said)}
    if page_size and figures["page_size"] != page_size:
        pytest.skip(f"this {target.emulator} cannot have pages of {page_size} bytes")
    assert figures["fresh_run"] > 10 and figures["purged"] > 0, said  # hz3 served, and gave pages back


@pytest.mark.parametrize("sources", [["api/bite/fork_stdio.c", "api/bite/churn.c"], ["api/bite/fork_behind_stream.c"]],
                         ids=["stdio", "behind_stream"])
def test_fork_on_musl_does_not_wait_for_a_stream_whose_holder_allocates(program, sources):
    if what := missing(TARGETS["musl"]):
        pytest.skip(f"{what} not installed")
    done = run(program("musl", *sources), HZ3_STATS="1")
    assert "fresh_run=" in done.stdout + done.stderr  # hz3 served


def test_threads_on_musl_may_end_by_the_system_call(program):
    if what := missing(TARGETS["musl"]):
        pytest.skip(f"{what} not installed")
    done = run(program("musl", "api/bite/raw_exit.c", "api/bite/churn.c"), HZ3_STATS="1")
    assert "fresh_run=" in done.stdout + done.stderr  # hz3 served


@pytest.mark.parametrize("sources, arguments", [(["stress/stress.c"], [1, 4, 1]),
                                                (["api/bite/fork_stdio.c", "api/bite/churn.c"], [])], ids=["stress", "fork"])
def test_musl_programs_run_with_hz3_preloaded(program, sources, arguments):
    if what := missing(TARGETS["musl"]):
        pytest.skip(f"{what} not installed")
    command, library = program("musl", *sources, preloaded=True)
    done = run(command, *arguments, LD_PRELOAD=str(library), HZ3_STATS="1")
    assert "fresh_run=" in done.stdout + done.stderr  # hz3 served
