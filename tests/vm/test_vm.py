"""hz3 under limits and settings of the kernel that a test must not change on its host.  All cases run in one boot of
Debian's kernel.  The machine is emulated, since /dev/kvm may be unable to boot this kernel.  Its processor is an old
one, since vector instructions of newer ones are emulated far more slowly.  Times are not judged."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.timeout(600)  # the boot counts as part of the first test

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
KERNEL = ROOT / "build/vm/vmlinuz"
LIBRARY = ROOT / "libhakozuna_hz3_scale.so"
UNSHARE = shutil.which("unshare")
REDIS = [shutil.which(f"redis-{program}") for program in ("server", "benchmark", "cli")]
LIMIT = 256 << 20  # the 256M of init

HZ3 = f"env LD_PRELOAD={LIBRARY}"
SAY = f"{HZ3} HZ3_VERBOSE=1 {ROOT}/out/bench_startup 1"
# With so long a decay time, only the soft limit gives memory back.
TIGHT = f"limited memory.max {HZ3} HZ3_DECAY=60s"
# 204 MiB are live on average: 96 blocks of 256 KiB to 4 MiB.
LARGE = f"{ROOT}/out/bench_large 4 400 24 {256 << 10} {4 << 20} --touch all"
# At most 133 MiB are live.  Half of what the first phase frees is in runs that are still in use.
SMALL = f"{ROOT}/out/bench_phase_change 130 512 4096 64 2"
# At most 143 MiB are live.  Small objects are freed before large ones are allocated.
TURN = f"{ROOT}/out/bench_phase_change 130 16384 65536 32 4"
# A container sees its own group as the root.
CONTAINER = f"""{UNSHARE} -Cm sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 cgroup /sys/fs/cgroup; exec "$@"' sh"""
THP = "sys/kernel/mm/transparent_hugepage"
# khugepaged fills purged memory again, at 32 MiB a second instead of the default 16 MiB in ten seconds.
EAGER = " ".join(f"under {THP}/khugepaged/{pause}_sleep_millisecs 500" for pause in ("scan", "alloc"))
HUGE = f"{EAGER} under {THP}/enabled always"
BURST, FRAGMENT = f"{ROOT}/out/bench_burst_idle 400 1000 4 12", f"{ROOT}/out/bench_fragment_idle 256 16 4096 64 14"
ALWAYS, TABLES = f"under {THP}/enabled always", ROOT / "build/vm/tables"
HUGE_PAGES = "grep thp_fault_alloc /proc/vmstat"

CASES = {
    "no limit": SAY,
    "max": f"limited inner/memory.max {SAY}",
    "high": f"limited inner/memory.high {SAY}",
    "max above": f"limited memory.max {SAY}",
    "high above": f"limited memory.high {SAY}",
    "max of a container": f"limited inner/memory.max {CONTAINER} {SAY}",
    "large": f"{TIGHT} {LARGE}",
    "large in high": f"{TIGHT.replace('.max', '.high')} {LARGE}",
    "large, no soft limit": f"{TIGHT} HZ3_SOFT_LIMIT=0 {LARGE}",
    "small": f"{TIGHT} {SMALL}",
    "large, huge pages": f"{HUGE} {TIGHT} {LARGE}",
    "small, then large": f"{TIGHT} {TURN}",
    "before": HUGE_PAGES,
    "burst_idle": f"{HUGE} {HZ3} {BURST}",
    "fragment_idle": f"{HUGE} {HZ3} {FRAGMENT}",
    "nothing kept": f"{HUGE} {HZ3} HZ3_RETAIN=0 {ROOT}/out/bench_fragment_idle 120 65536 524288 4 8",
    "after": HUGE_PAGES,
    "one object, huge pages": f"{ALWAYS} {HZ3} {TABLES} once",
    "sparse, huge pages": f"{ALWAYS} {HZ3} {TABLES} sparse",
    "redis": f"sh {HERE}/redis {LIBRARY}",
}
# Tests of ctest, by the setting under which they run.
SUITES = {
    "under proc/sys/vm/overcommit_memory 0": ["bite.beyond_memory"],
    "under proc/sys/vm/overcommit_memory 1": ["bite.beyond_memory"],
    "under proc/sys/vm/overcommit_memory 2": ["api.sizes", "api.release", "bite.first_call", "bite.overcommit",
                                              "bite.beyond_memory"],
    "under proc/sys/vm/max_map_count 1000": ["api.release", "bite.map_count"],
    HUGE: ["api.trim", "bite.gives_back_in_passing"],
}
SUITE = [(setting, name) for setting, names in SUITES.items() for name in names]


def suite():
    told = subprocess.run(["ctest", "--test-dir", ROOT / "build/scale", "--show-only=json-v1"], check=True,
                          capture_output=True, text=True).stdout
    commands = {}
    for test in json.loads(told)["tests"]:
        env = [each for entry in test["properties"] if entry["name"] == "ENVIRONMENT" for each in entry["value"]]
        commands[test["name"]] = " ".join(["env", *env, *test.get("command", [])])
    return {f"{setting} {name}": f"{setting} {commands[name]}" for setting, name in SUITE}


def pack(folder, script):
    """Packs the root file system.  The tree's files that the script names, and their libraries, have the same paths."""
    files = {word for word in re.split(r"[\s=]", script) if word.startswith(f"{ROOT}/")} | {UNSHARE, *REDIS}
    linked = subprocess.run(["ldd", *files], capture_output=True, text=True).stdout
    for file in [*files, *re.findall(r"(/\S+) \(0x", linked)]:
        (folder / file[1:]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / file[1:])
    (folder / "bin").mkdir(exist_ok=True)
    shutil.copy(shutil.which("busybox"), folder / "bin/busybox")
    shutil.copy(HERE / "init", folder)
    (folder / "cases").write_text(script)
    names = "\n".join(str(path.relative_to(folder)) for path in sorted(folder.rglob("*")))
    return subprocess.run(["busybox", "cpio", "-o", "-H", "newc"], cwd=folder, input=names.encode(), check=True,
                          capture_output=True).stdout


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """Boots, and returns each case's exit status and output."""
    if os.uname().machine != "x86_64":
        pytest.skip("only an x86-64 machine is emulated")
    here = {"qemu-system-x86": shutil.which("qemu-system-x86_64"), "busybox-static": shutil.which("busybox"),
            "linux-image-cloud-amd64": KERNEL.is_file(), "util-linux": UNSHARE, "redis-server and redis-tools": all(REDIS)}
    if missing := [package for package, found in here.items() if not found]:
        pytest.skip(f"{' and '.join(missing)} not installed")
    subprocess.run(["cc", "-O2", HERE / "tables.c", "-o", TABLES], check=True)
    cases, folder = CASES | suite(), tmp_path_factory.mktemp("vm")
    script = "".join(f"run '{name}' {command}\n" for name, command in cases.items())
    (folder / "initrd").write_bytes(pack(folder / "root", script))
    options = ("console=ttyS0 loglevel=1 panic=-1 transparent_hugepage=madvise "
               "tsc=reliable clocksource=tsc")  # with other clocks, reading the time is a system call
    qemu = ["qemu-system-x86_64", "-accel", "tcg", "-smp", "2", "-m", "1G", "-nodefaults", "-display", "none", "-no-reboot",
            "-serial", "stdio", "-kernel", KERNEL, "-initrd", folder / "initrd", "-append", options]
    done = subprocess.run(qemu, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=550)
    said = done.stdout.decode(errors="replace").replace("\r", "")
    ended = re.findall(r"^<<< (.*)\n((?:.*\n)*?)>>> (\d+)$", said, re.MULTILINE)
    assert [name for name, *_ in ended] == list(cases), said
    return {name: (int(status), text) for name, text, status in ended}


def numbers(said):
    return {name: float(number) for name, number in re.findall(r"\b([a-z_.]+)[= ](\d+(?:\.\d+)?)\b", said)}


@pytest.mark.parametrize("case", ["max", "high", "max above", "high above", "max of a container"])
def test_the_soft_limit_is_nine_tenths_of_the_limit(machine, case):
    status, said = machine[case]
    assert status == 0 and f"HZ3_SOFT_LIMIT=auto = {LIMIT // 10 * 9} (default)\n" in said, said


def test_without_a_limit_there_is_no_soft_limit(machine):
    status, said = machine["no limit"]
    assert status == 0 and "HZ3_SOFT_LIMIT=auto = none (default)\n" in said, said


@pytest.mark.parametrize("case", ["large", "large in high", "small", "large, huge pages", "small, then large"])
def test_what_was_freed_goes_back_before_the_limit_is_reached(machine, case):
    status, said = machine[case]
    found = numbers(said)
    assert (status, found["oom_kill"], found["high"]) == (0, 0, 0), said
    assert found["memory.peak"] < LIMIT and f"alloc={LIBRARY.name}" in said, said


def test_without_a_soft_limit_it_does_not(machine):
    status, said = machine["large, no soft limit"]
    assert status == 128 + 9 and numbers(said)["oom_kill"] == 1, said


@pytest.mark.parametrize("setting, name", SUITE)
def test_it_stands(machine, setting, name):
    status, said = machine[f"{setting} {name}"]
    assert status == 0, said  # a skipped test counts as failed here


def test_redis_says_where_its_memory_is_in_a_container(machine):
    """The example in docs/use/containers.md."""
    status, said = machine["redis"]
    found = numbers(said)
    assert (status, found["oom_kill"], found["high"]) == (0, 0, 0), said
    assert f"HZ3_SOFT_LIMIT=auto = {LIMIT // 10 * 9} (default)\n" in said and found["memory.peak"] < LIMIT, said
    live = int(re.search(r"] stats \(bytes\): allocated=(\d+)", said)[1])
    assert 80000 * 1500 < live < found["memory.peak"], "four of five keys have values of 1500 bytes"
    assert re.search(r"] hz3 explain /tmp/hz3\.\d+\.memory says where the resident memory is\n", said)
    assert found["snapshot"] > 1 << 20, "hz3's variables alone are half of that"


@pytest.mark.parametrize("case, dirty", [("one object, huge pages", 1024), ("sparse, huge pages", 4096)])
def test_no_table_becomes_a_huge_page(machine, case, dirty):
    """With one object mimalloc has 2180 KiB, glibc 100.  The heap may have a huge page where it is filled."""
    status, said = machine[case]
    found = numbers(said)
    assert status == 0 and found["huge"] == 0 and found["dirty"] < dirty, said


def huge_pages(machine, before, after):
    return numbers(machine[after][1])["thp_fault_alloc"] - numbers(machine[before][1])["thp_fault_alloc"]


@pytest.mark.parametrize("case, share", [
    ("burst_idle", 0.05),
    ("fragment_idle", 0.15),
    ("nothing kept", 0.4),
])
def test_an_idle_process_gives_huge_pages_back_for_good(machine, case, share):
    """The shares are those of tests/figures.  In "nothing kept" a fourth is live."""
    assert huge_pages(machine, "before", "after") > (400 + 256 + 120) / 2 / 2  # half of all that was touched
    status, said = machine[case]
    assert status == 0 and numbers(said)["end_share"] < share, said
