"""Starting is cheap: hz3 reads the system's files only when the heap grows, and the loader has little to map."""

import os
import re
import shutil
import subprocess
import sys
from collections import Counter

import pytest

MOST_CALLS = 13  # by which a process with hz3 may exceed one without, the loader's calls included


def calls(program, tmp_path, library=None):
    """The system calls of a program until it ends, one in each line."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    preload = ["-E", f"LD_PRELOAD={library}"] if library else []
    trace = tmp_path / "trace"
    done = subprocess.run(["strace", "-f", "-qq", "-o", trace, *preload, *program], capture_output=True, text=True)
    if "ptrace" in done.stderr:
        pytest.skip(f"strace cannot trace here: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    return trace.read_text().splitlines()


def files_of_the_system(lines):
    return re.findall(r'"(/sys/[^"]*|/proc/[^"]*(?:cgroup|overcommit_memory))"', "\n".join(lines))


def test_a_process_that_does_nothing_makes_few_calls(library, tmp_path):
    more = calls(["/bin/true"], tmp_path, library)
    most = MOST_CALLS + 2 * ("secure" in str(library))  # it marks a granule before the heap as not its own, in two calls
    assert len(more) - len(calls(["/bin/true"], tmp_path)) <= most, "\n".join(more)


def test_files_are_read_once_and_not_before_the_heap_grows(library, tmp_path):
    few = files_of_the_system(calls(["/bin/cat", "/dev/null"], tmp_path, library))
    assert not few or "secure" in str(library)  # it maps more
    grown = files_of_the_system(calls([sys.executable, "-c", "bytearray(8 << 20)"], tmp_path, library))
    assert "/proc/sys/vm/overcommit_memory" in grown
    again = [file for file, count in Counter(grown).items() if count > 1]
    assert all(file.startswith("/sys/kernel/mm/transparent_hugepage/") for file in again), again


def mappings(library, *command):
    """What the process has mapped, three times."""
    env = {**os.environ, "LD_PRELOAD": str(library)}
    done = [subprocess.run([*command, "cat", "/proc/self/maps"], env=env, capture_output=True, text=True) for _ in range(3)]
    if command and any(each.returncode for each in done):
        pytest.skip(f"{' '.join(command)} is refused here")
    return {each.stdout for each in done}


def test_addresses_repeat_where_the_user_turned_randomisation_off(library, lane):
    """As with glibc, jemalloc and tcmalloc; but lane secure's are never to be known."""
    if not shutil.which("setarch"):
        pytest.skip("setarch is not installed")
    assert len(mappings(library, "setarch", "-R")) == (3 if lane == "secure" else 1)
    assert len(mappings(library)) == 3


def test_a_life_enters_few_functions(library, lane, tmp_path):
    """Functions (fn=) of the library that a loop of malloc(64) and free enters from start to exit, by callgrind, without
    the parts and clones that the compiler makes.  The bound may only be lowered."""
    if lane != "scale" or not shutil.which("valgrind"):
        pytest.skip("it is counted in lane scale, by valgrind")
    loop, counts = tmp_path / "loop", tmp_path / "counts"
    source = "#include <stdlib.h>\nint main(void) { for (int i = 0; i < 10000; i++) { void *volatile p = malloc(64); free(p); } }"
    subprocess.run(["cc", "-fno-builtin", "-x", "c", "-", "-o", loop], input=source, text=True, check=True)
    subprocess.run(["valgrind", "--tool=callgrind", "--compress-strings=no", f"--callgrind-out-file={counts}", loop],
                   env={**os.environ, "LD_PRELOAD": str(library)}, capture_output=True, check=True)
    entered, of = set(), ""
    for kind, name in re.findall(r"^(ob|fn)=(.*)$", counts.read_text(), re.M):
        of = name if kind == "ob" else of
        if kind == "fn" and os.path.realpath(of) == os.path.realpath(library):
            entered.add(name.split("'")[0])
    own = {name for name in entered if not re.search(r"\.(part|constprop|isra|cold)\b|^0x|^pthread_atfork$", name)}
    assert 50 < len(own) <= 88, sorted(own)
