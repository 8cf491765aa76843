"""The work orders' command lines, as they stand there: each builds what it says, under the name that its order's next line
uses, and its benchmark runs on it.  /tmp is the tree's; S145A's star, which no assignment expands, is each of its two.

make test runs a few of them; make test_matrix has the rest."""

import os
import re
import shutil
import subprocess

import pytest

from cmake import without_job_server
from lab import ROOT

MAKE = "make -C hakozuna/hz3 clean all_ldpreload_scale"
# order, line, text
BUILDS = [
    ("S44-4", 37, MAKE),
    ("S44-4", 117, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S44_4_EARLY_PREFETCH=0'
cp ./libhakozuna_hz3_scale.so /tmp/s44_4_off.so"""),
    ("S44-4", 121, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S44_4_STATS=1'
cp ./libhakozuna_hz3_scale.so /tmp/s44_4_stats.so"""),
    ("S44-4", 125, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S44_4_EARLY_PREFETCH=1'
cp ./libhakozuna_hz3_scale.so /tmp/s44_4_epf.so"""),
    ("S44-4", 129, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S44_4_SKIP_QUICK_EMPTY_CHECK=1 -DHZ3_S44_4_WALK_PREFETCH_UNCOND=1'
cp ./libhakozuna_hz3_scale.so /tmp/s44_4_qskip_pfuncond.so"""),
    ("S44-4", 133, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S44_4_QUICK_EMPTY_USE_EPF_HINT=1 -DHZ3_S44_4_WALK_PREFETCH_UNCOND=1'
cp ./libhakozuna_hz3_scale.so /tmp/s44_4_qhint_pfuncond.so"""),
    ("S144", 67, MAKE),
    ("S144", 70, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_OWNER_STASH_INSTANCES=2'"""),
    ("S144", 207, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_OWNER_STASH_INSTANCES=2'
cp ./hakozuna/hz3/libhakozuna_hz3_scale.so /tmp/hz3_s144_inst2.so"""),
    ("S145A", 76, MAKE + """
cp hakozuna/hz3/libhakozuna_hz3_scale.so /tmp/s145_off.so"""),
    ("S145A", 80, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S145_CENTRAL_LOCAL_CACHE=1'
cp hakozuna/hz3/libhakozuna_hz3_scale.so /tmp/s145_on.so"""),
    ("S145A", 176, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S145_CENTRAL_LOCAL_CACHE=1'"""),
    ("S145A", 180, MAKE + r""" \
  HZ3_LDPRELOAD_DEFS_EXTRA='-DHZ3_S145_CENTRAL_LOCAL_CACHE=1 -DHZ3_S145_CACHE_BATCH=8'"""),
]
RUNS = [
    ("S44-4", 144, r"""for lib in s44_4_off s44_4_epf s44_4_qskip_pfuncond; do
  echo "=== $lib r90 ==="
  for i in 1 2 3; do
    env -u LD_PRELOAD LD_PRELOAD=/tmp/${lib}.so \
      ./hakozuna/out/bench_random_mixed_mt_remote_malloc 32 2000000 400 16 2048 90 65536 2>&1 | tee /tmp/${lib}_r90_${i}.log
  done
done"""),
    ("S44-4", 153, r"""for lib in s44_4_off s44_4_epf s44_4_qskip_pfuncond; do
  echo "=== $lib r50 ==="
  for i in 1 2 3; do
    env -u LD_PRELOAD LD_PRELOAD=/tmp/${lib}.so \
      ./hakozuna/out/bench_random_mixed_mt_remote_malloc 32 3000000 400 16 2048 50 65536 2>&1 | tee /tmp/${lib}_r50_${i}.log
  done
done"""),
    ("S144", 79, "bench_random_mixed_mt_remote 1 2500000 400 16 2048 0"),
    ("S144", 212, "LD_PRELOAD=/tmp/hz3_s144_inst2.so ./your_app"),
    ("S145A", 89,
     "LD_PRELOAD=/tmp/s145_*.so ./hakozuna/out/bench_random_mixed_mt_remote_malloc 8 2500000 400 16 2048 50"),
    ("S145A", 92,
     "LD_PRELOAD=/tmp/s145_*.so ./hakozuna/out/bench_random_mixed_mt_remote_malloc 8 2500000 400 16 2048 90"),
    ("S145A", 95,
     "LD_PRELOAD=/tmp/s145_*.so ./hakozuna/out/bench_random_mixed_mt_remote_malloc 8 2500000 400 16 2048 0"),
]
ALWAYS = [("S144", 207), ("S144", 212)]  # in make test, too


def rows(them):
    return [pytest.param(text, id=f"{order}:{line}", marks=() if (order, line) in ALWAYS else pytest.mark.matrix)
            for order, line, text in them]


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A checkout, and a program."""
    tree = tmp_path_factory.mktemp("orders") / "tree"
    for part in ("src", "classic", "cmake", "include", "bench", "bin", "tools", "trace", "hakozuna"):
        shutil.copytree(ROOT / part, tree / part, symlinks=True, ignore=shutil.ignore_patterns("results"))
    for file in ("Makefile", "CMakeLists.txt"):
        shutil.copy(ROOT / file, tree / file)
    (tree / "tmp").mkdir()
    (tree / "your_app").write_text("#!/bin/sh\nexec bench_mixed_st 1000 40 16 2048\n")
    (tree / "your_app").chmod(0o755)
    return tree


def sh(tree, text):
    """Builds are not optimised, to be short."""
    env = {**without_job_server(), "BUILD_TYPE": "None", "PATH": f"{tree}/hakozuna/out:{os.environ['PATH']}"}
    return subprocess.run(["sh", "-ec", text.replace("/tmp/", f"{tree}/tmp/")], cwd=tree, env=env, capture_output=True, text=True)


def config(library):
    lane, flags = re.search(rb"hz3-config: .*? lane=(\w+)( [^\0]*)", library.read_bytes()).groups()
    return lane.decode(), dict(re.findall(r" (HZ3_\w+)=(\d+)", flags.decode()))


def check_footprint(lines, instances):
    """S144:42 and 236: 128 bins of 63 shards, here of 8 bytes each, and less than 2.5 MB."""
    (line,) = (line for line in lines if line.startswith("owner stash: "))
    kb, shards, said = map(int, re.fullmatch(r".*: (\d+) KB, shards: (\d+), instances: (\d+)", line).groups())
    assert (shards, said) == (63, instances)
    assert 63 * 128 * instances * 8 / 1000 < kb < 2500


def builds(tree, text, name="scale"):
    """Runs the lines, and checks the library that they leave last."""
    done = sh(tree, text)
    assert done.returncode == 0, done.stdout + done.stderr
    given = dict(re.findall(r"-D(HZ3_\w+)=(\d+)", text))
    flags = " ".join(f"-D{name}={value}" for name, value in given.items())
    what = f": it is lane classic with {flags}; compare it with all_ldpreload_classic" * (name != "classic" and bool(given))
    kept = re.search(r"^cp \S+ /(\S+)$", text, re.M)
    lane, values = config(tree / (kept[1] if kept else f"libhakozuna_hz3_{name}.so"))
    assert lane == ("classic" if given or name == "classic" else "scale")
    ours = [line for line in done.stdout.splitlines() if not line.startswith("make: ")]
    assert (ours[:2], done.stderr) == (["built out/", f"built libhakozuna_hz3_{name}.so{what}"], "")
    if lane == "classic":
        check_footprint(ours[2:], instances=int(values["HZ3_OWNER_STASH_INSTANCES"]))
    else:
        assert not ours[2:]
    assert given.items() <= values.items()
    return values


@pytest.mark.timeout(600)
@pytest.mark.parametrize("text", rows(BUILDS))
def test_a_line_builds_what_it_says(tree, text):
    kept = [tree / "build" / file for file in ("compare/x/1.jsonl", "peers/x/libx.so", "first.so")]
    stale = [tree / file for file in ("build/fast/hz3.o", "out/bench_old", "libhakozuna_hz3_fast.so")]
    for file in kept + stale:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    builds(tree, text)
    assert [file.exists() for file in kept + stale] == [True] * 3 + [False] * 3


@pytest.mark.matrix
@pytest.mark.timeout(600)
@pytest.mark.parametrize("text", rows(BUILDS))
def test_the_same_on_lane_classic_s_own_name(tree, text):
    builds(tree, text.replace("_scale", "_classic"), "classic")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("text", rows(RUNS))
def test_a_line_runs_on_what_was_built(tree, text):
    for lib in ("on", "off") if "*" in text else ("",):
        done = sh(tree, text.replace("*", lib))
        assert (done.returncode, done.stderr) == (0, "")
        assert " ops_per_s=" in done.stdout, done.stdout
        assert (" alloc=libc." in done.stdout) != ("LD_PRELOAD" in text)


@pytest.mark.matrix
@pytest.mark.timeout(600)
def test_the_lane_that_s144_asks_for(tree):
    """S144:274"""
    done = sh(tree, "make -C hakozuna/hz3 all_ldpreload_scale_r50_s144")
    assert "built libhakozuna_hz3_scale_r50_s144.so: it is lane classic with " in done.stdout, done.stderr
    lane, values = config(tree / "hakozuna/hz3/libhakozuna_hz3_scale_r50_s144.so")
    assert lane == "classic" and values["HZ3_OWNER_STASH_INSTANCES"] == "2"
    check_footprint(done.stdout.splitlines(), instances=2)


@pytest.mark.matrix
@pytest.mark.timeout(600)
def test_a_stash_that_the_environment_sets_is_as_large_as_it_may_be_set(tree):
    """S144:195"""
    done = sh(tree, "make all_ldpreload_classic HZ3_LDPRELOAD_DEFS_EXTRA=-DHZ3_S144_SETTABLE=1")
    assert done.returncode == 0, done.stdout + done.stderr
    check_footprint(done.stdout.splitlines(), instances=16)


@pytest.mark.parametrize("target, flag, complaint", [
    ("scale", "HZ3_S44_4_WALK_NOPREVV", "no such flag: HZ3_S44_4_WALK_NOPREVV; the nearest is HZ3_S44_4_WALK_NOPREV"),
    ("classic", "HZ3_S44_4_STAT", "no such flag: HZ3_S44_4_STAT; the nearest is HZ3_S44_4_STATS"),
    *((lane, "HZ3_S44_4_STATS", f"lane {lane} has no flag HZ3_S44_4_STATS, which is a work order's")
      for lane in ("fast", "memory", "r90", "secure")),
])
def test_a_flag_that_a_lane_cannot_have_is_refused_by_name(tree, target, flag, complaint):
    library = tree / f"libhakozuna_hz3_{target}.so"
    library.unlink(missing_ok=True)
    done = sh(tree, f"make -C hakozuna/hz3 all_ldpreload_{target} HZ3_LDPRELOAD_DEFS_EXTRA='-D{flag}=1'")
    assert done.returncode != 0 and complaint in " ".join(done.stderr.split()), done.stderr
    assert not library.exists()
