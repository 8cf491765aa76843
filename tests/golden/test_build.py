"""The build refuses flags that are not in the registry, and builds those that are, with both compilers."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from variants import later

from cmake import build, configure
from lab.registry import read


@pytest.mark.parametrize("bad, complaint", [
    ("-DHZ3_DEFS_EXTRA=-DHZ3_NO_SUCH_BOX=1", "no such flag: HZ3_NO_SUCH_BOX"),
    ("-DHZ3_DEFS_EXTRA=-DHZ3_FREE_CHEK=1", "no such flag: HZ3_FREE_CHEK; the nearest is HZ3_FREE_CHECK"),
    ("-DHZ3_DEFS_EXTRA=-DHZ3_S44_DRAIN_LIMITS=1", "the nearest is HZ3_S44_DRAIN_LIMIT"),
    ("-DHZ3_DEFS_EXTRA=-DHZ3_FREE_CHECK=2", "out of range"),
    ("-DHZ3_DEFS_EXTRA=-DHZ3_FREE_CHECK=on", "not of the form"),
    ("-DHZ3_DEFS_EXTRA=FREE_CHECK=1", "not of the form"),
    ("-DHZ3_LANE=slow", "there is no lane 'slow'"),
])
def test_what_the_registry_does_not_know_stops_the_build(root, tmp_path, bad, complaint):
    done = configure(root, tmp_path, bad)
    assert done.returncode != 0
    assert complaint in " ".join((done.stdout + done.stderr).split())


@pytest.mark.parametrize("compiler", [*later(["gcc"]), "clang-19"])  # with gcc every lane builds without a warning
def test_every_form_builds_without_a_warning_and_flags_take(root, tmp_path, compiler):
    if not shutil.which(compiler):
        pytest.skip(f"{compiler} is not installed")
    done = configure(root, tmp_path, "-DHZ3_DEFS_EXTRA=-DHZ3_FREE_CHECK=0 -DHZ3_DEBUG", "-DCMAKE_BUILD_TYPE=None",
                     CC=compiler, CFLAGS="-O2 -Werror")  # Release, but for -g
    assert done.returncode == 0, done.stderr
    build(tmp_path, f"-j{os.cpu_count()}")
    library = tmp_path / "libhakozuna_hz3_scale.so"
    text = re.search(rb"hz3-config: [^\0]*", library.read_bytes())[0].decode()
    assert " HZ3_FREE_CHECK=0 " in text and " HZ3_DEBUG=1 " in text
    assert (tmp_path / "libhakozuna_hz3_scale.a").exists()


def test_r50_and_r90_are_one_build_scale_without_the_check(root, tmp_path):
    done = configure(root, tmp_path, "-DHZ3_LANE=r50", "-DCMAKE_BUILD_TYPE=Debug")
    assert done.returncode == 0, done.stderr
    build(tmp_path, f"-j{os.cpu_count()}", "--target", "hz3")
    one, other = (tmp_path / f"libhakozuna_hz3_{lane}.so" for lane in ("r50", "r90"))
    assert one.samefile(other)
    scale, r90 = read().of("scale"), read().of("r90")
    assert {name for name in scale if scale[name] != r90[name]} == {"HZ3_FREE_CHECK"}


def test_a_debug_build_links_into_a_static_program(root, tmp_path):
    """The compiler does not remove what only a variant calls, nor the linker."""
    done = configure(root, tmp_path, "-DCMAKE_BUILD_TYPE=Debug")
    assert done.returncode == 0, done.stderr
    build(tmp_path, f"-j{os.cpu_count()}", "--target", "hz3_static")
    program, archive = tmp_path / "program", tmp_path / "libhakozuna_hz3_scale.a"
    source = "#include <stdlib.h>\nint main(void) { void *p = malloc(100); free(p); return !p; }\n"
    link = ["cc", "-static", "-x", "c", "-", "-x", "none", archive, "-pthread", "-o", program]
    subprocess.run(link, input=source, text=True, check=True)
    said = subprocess.run([program], env={"HZ3_VERBOSE": "1"}, capture_output=True, text=True, check=True).stderr
    assert "hz3: option HZ3_VERBOSE=1 = 1 (environment)" in said


def relations(root, directory, lane, flags):
    """Configures a build.  Returns the flags that result, and the compiler's messages about them."""
    done = configure(root, directory, f"-DHZ3_LANE={lane}", f"-DHZ3_DEFS_EXTRA={flags}")
    assert done.returncode == 0, done.stderr
    header = (directory / "generated/hz3_flags.h").read_text()
    trees = [root / tree for tree in read().trees(lane)]
    said = subprocess.run(["cc", "-std=gnu11", "-fsyntax-only", *(f"-I{tree}" for tree in (*trees, directory / "generated")),
                           trees[0] / "base/relations.c"], capture_output=True, text=True).stderr
    return {name: int(value) for name, value in re.findall(r"#define (HZ3_\w+) (\d+)\n", header)}, said


def test_the_work_orders_flags_build_in_lane_classic_and_others_say_so(root, tmp_path):
    page = (root / "docs/work-orders.md").read_text()
    rows = re.findall(r"^\| [^|]*\| `(-DHZ3_[^`]*)` \|([^|]*)\|$", page, re.M)
    assert len(rows) > 20
    for flags, yields in rows:
        given = {name: int(value) for name, value in re.findall(r"-D(HZ3_\w+)=(\d+)", flags)}
        values, said = relations(root, tmp_path, "classic", flags)
        assert not said, flags
        lane = read().of("classic")
        assert values == lane | given | dict.fromkeys(re.findall(r"HZ3_\w+", yields), 0), flags
        done = configure(root, tmp_path, "-DHZ3_LANE=scale", f"-DHZ3_DEFS_EXTRA={flags}")
        theirs = [name for name in given if name not in read().of("scale")]
        assert bool(theirs) == (done.returncode != 0), flags
        assert not theirs or f"lane scale has no flag {theirs[0]}, which is a work order's" in " ".join(done.stderr.split())


def test_a_flag_that_was_given_does_not_yield(root, tmp_path):
    flags = "-DHZ3_S44_4_EARLY_PREFETCH=0 -DHZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT=1"
    values, said = relations(root, tmp_path, "classic", flags)
    assert values["HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT"] == 1
    assert "HZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT needs HZ3_S44_4_EARLY_PREFETCH=1" in said


def test_the_made_pages_are_what_registry_and_options_say(root, tmp_path):
    assert configure(root, tmp_path).returncode == 0
    for page in ("lanes.md", "use/options.md"):
        assert (tmp_path / Path(page).name).read_text() == (root / "docs" / page).read_text(), "make docs"
