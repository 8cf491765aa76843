"""The benchmark programs measure what they claim.  Needs out/ built, and Debian's jemalloc for some tests.

    python3 -m pytest bench
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lab import ROOT, LabError, measure
from lab.plan import Arm, Cell, library_arm

PROGRAMS_IN = ROOT / "out"
LIMIT = PROGRAMS_IN / "limit.so"
MT_REMOTE = "bench_random_mixed_mt_remote_malloc"
# Small commands, and the number of calls they make, or None if it is random.
QUICK = {
    f"{MT_REMOTE} 4 20000 50 16 2048 50": None,
    "bench_mixed_st 20000 50 16 32768 --dist app --touch all": None,
    "bench_waves 2 20000 300 64 --order last --touch ends": 2 * 2 * (20000 // 300) * 300,
    "bench_prodcons 2 3 20000 16 1024 --touch ends": 2 * 2 * 20000,
    "bench_pop 20 1000 17 512 --touch ends": 20 * 1000,
    "bench_chain 4 20000 24 512": 2 * 3 * 20000,
    "bench_only_free 3 2 50 100 17 512": 2 * 3 * 50 * (100 + 1),
    "bench_successors 3 10 1000 100 17 512": 2 * 3 * (100 + 10 * 1000),
    "bench_false_sharing active 3 1000 8 100": 3 * (2 * 1000 - 1),
    "bench_false_sharing passive 3 1000 8 100": 3 * 2 * 1000,
    "bench_linked 3 4 50 100 40 400": None,
    "bench_realloc 3 4 20000 100 17 8192": 3 * 4 * 20000,
    "bench_large 2 100 5 200000 1000000 --touch all": 2 * 2 * (100 + 5),
    "bench_startup 20": 20,
    "bench_phase_change 8": None,
    "bench_growing 20 64 512": None,
    "bench_changing 4": None,
    "bench_burst_idle 16 1000 3 1": 2 * 3 * ((16 << 20) // 1000 // 3),
    "bench_fragment_idle 8 16 4096 64 1": None,
    "bench_thread_churn 30 7": 2 * 30 * 100,
    "bench_handover dead 4": 3 * (4 << 20) // 512,
    "bench_many_threads 20": 2 * 20 * 10,
    "bench_idle_threads 20 3 10000 50 16 32768 --touch ends": None,
}
UNTIMED = ("pop", "startup", "phase_change", "growing", "changing", "idle", "churn", "handover", "idle_threads", "many_threads")
TIMED = [command for command in QUICK if not command.split()[0].endswith(UNTIMED)]
NODES_OF_BENCH_LINKED = 3 * 4 * 50 * 100


def run(command, path=None, **options):
    """The words of the result line of a process that this library served (None: libc)."""
    program, *arguments = command.split()
    arm = library_arm(path, ROOT) if path else Arm()
    environment = {**measure.environment(arm, Cell([]), path and [path]), **options}
    done = measure.execute([str(PROGRAMS_IN / program), *arguments], environment, command)
    assert done.stdout.count("\n") == 1
    line = measure.words(done.stdout)
    measure.check_server(command, arm, path, line["alloc_path"], line["config"])
    return {key: measure.number(value) for key, value in line.items()}


def installed(soname):
    environment = {**os.environ, "PATH": os.environ.get("PATH", "") + ":/sbin:/usr/sbin"}
    known = subprocess.run(["ldconfig", "-p"], env=environment, capture_output=True, text=True, check=True).stdout
    found = re.search(rf"^\s*{re.escape(soname)} .*=> (.*)$", known, re.M)
    return Path(found[1]).resolve() if found else pytest.skip(f"{soname} is not installed")


@pytest.fixture
def jemalloc():
    return installed("libjemalloc.so.2")


def compiled(source, target, *options):
    subprocess.run(["cc", "-O1", "-I", ROOT / "bench", "-o", target, "-xc", "-", *options], input=source, text=True,
                   check=True)
    return target


@pytest.fixture(params=["glibc", "jemalloc", "libhakozuna_hz3_scale.so", "out/limit.so"])
def library(request):
    if request.param in ("glibc", "jemalloc"):
        return installed("libjemalloc.so.2") if request.param == "jemalloc" else None
    if not (ROOT / request.param).is_file():
        pytest.skip(f"{request.param} is not built")
    return ROOT / request.param


def test_every_program_is_tried():
    assert {command.split()[0] for command in QUICK} == {file.stem for file in (ROOT / "bench").glob("bench_*.c")}


@pytest.mark.parametrize("command", QUICK)
def test_every_program_gives_one_consistent_line_from_the_right_allocator(command, library):
    result = run(command, library)  # raises if the line or the library is wrong
    assert result["bench"] == command.split()[0]
    assert float(result["seconds"]) * result["ops_per_s"] == pytest.approx(float(result["ops"]), rel=0.01)
    assert QUICK[command] in (None, int(result["ops"]))
    assert 0 < result["end_kib"] < 64 * 1024
    assert result["end_kib"] <= result["peak_kib"] + 512  # the kernel's peak may lag behind


@pytest.mark.parametrize("command", TIMED)
def test_latencies_are_of_all_calls_and_in_order(command, library):
    result = run(command + " --latency", library)
    for call in ("malloc", "free"):
        figures = [result[f"{call}_{p}_ns"] for p in ("p50", "p90", "p99", "p999", "p9999", "max")]
        assert figures == sorted(figures) and figures[0] > 0
    mallocs, frees, ops = (int(result[k]) for k in ("malloc_calls", "free_calls", "ops"))
    if result["bench"] == "bench_realloc":
        assert (mallocs, frees) == (int(result["made"]) + int(result["resized"]), int(result["made"]))
        assert int(result["made"]) == int(result["freed"]) + int(result["left"])
        assert ops == mallocs + int(result["freed"])
    elif result["bench"] == "bench_linked":
        assert mallocs == frees == NODES_OF_BENCH_LINKED >= ops - mallocs
    else:
        assert mallocs == frees
        # In bench_false_sharing the main thread frees each thread's last object after the clock has stopped, and makes
        # the passive threads' first object before it starts.
        outside = {"active": 3, "passive": 3 + 3}.get(result.get("kind"), 0)
        assert ops == mallocs + frees - outside


def test_no_latencies_unless_asked_for():
    assert not [name for name in run("bench_mixed_st 1000 10 16 64") if name.endswith("_ns")]


def test_the_live_peak_is_what_the_program_holds():
    # Half of 1000 slots are full on average, with a standard deviation of 16.
    assert 400 * 1000 <= run(f"{MT_REMOTE} 1 200000 1000 1000 1000 0")["live_peak_kib"] * 1024 <= 620 * 1000
    # Objects that wait in rings are live.
    sent = run(f"{MT_REMOTE} 8 20000 10 1000 1000 90 --touch all")
    assert 8 * 4 * 1000 <= sent["live_peak_kib"] * 1024 <= sent["peak_kib"] * 1024
    passed = run("bench_prodcons 2 3 20000 1000 1000 --touch all")
    assert 0 < passed["live_peak_kib"] * 1024 <= 2 * 3 * 4096 * 1000
    assert passed["live_peak_kib"] <= passed["peak_kib"]
    assert passed["peak_per_live_ratio"] == pytest.approx(passed["peak_kib"] / passed["live_peak_kib"], rel=0.01)


def test_percentiles_are_at_most_a_thirty_second_too_high(tmp_path):
    program = compiled('''
        #include <stdio.h>
        #include "histogram.h"
        int main(void)
        {
            static struct histogram odd, even, empty;
            for (uint64_t v = 1; v <= 1000000; v++) histogram_add(v % 2 ? &odd : &even, v);
            histogram_merge(&odd, &even);
            double share[] = {0.00001, 0.5, 0.9, 0.99, 0.999, 0.9999, 1};
            for (int i = 0; i < 7; i++) printf("%lu ", histogram_percentile(&odd, share[i]));
            histogram_add(&odd, UINT64_MAX);
            printf("%lu %lu %lu", odd.count, odd.max == UINT64_MAX, histogram_percentile(&empty, 0.5));
        }''', tmp_path / "histogram")
    *found, count, top, empty = map(int, subprocess.check_output(program).split())
    exact = [10, 500000, 900000, 990000, 999000, 999900, 1000000]
    assert all(e <= f <= e * 33 / 32 for e, f in zip(exact, found, strict=True))
    assert (count, top, empty) == (1000001, 1, 0)


@pytest.mark.parametrize("command, samples", [
    ("bench_burst_idle 16 1000 3 1", 2 + 4), ("bench_fragment_idle 8 16 4096 64 1", 2 + 4),
    ("bench_phase_change 8 16 128 32 3", 2 * 3), ("bench_changing 4 16 6", 6)])
def test_rss_over_time(command, samples, jemalloc):
    result = run(command, jemalloc)
    over_time = [tuple(map(int, sample.split(":"))) for sample in result["rss_over_time"].split(",")]
    times = [ms for ms, _ in over_time]
    assert len(over_time) == samples and times == sorted(times) and all(kib > 0 for _, kib in over_time)
    if "full_kib" in result:
        assert [kib for _, kib in over_time[:2]] == [result["full_kib"], result["freed_kib"]]
        assert times[-1] - times[1] >= 990
        assert result["end_share"] == pytest.approx(over_time[-1][1] / result["peak_kib"], abs=0.001)


def test_the_peak_is_no_less_than_what_was_seen():
    result = run("bench_changing 64 1000000 4")  # the third phase is its peak
    seen = [int(sample.split(":")[1]) for sample in result["rss_over_time"].split(",")]
    assert seen.index(max(seen)) == 2 and result["peak_kib"] + 512 >= max(seen)


# An allocator that never frees, and hands out every tenth block twice if it can.
LOSER = '''
    #include <stdatomic.h>
    #include <stddef.h>
    #include <stdlib.h>
    #include <string.h>
    #include <sys/mman.h>
    static _Atomic size_t calls, used;
    static char *arena(void)
    {
        static char *_Atomic from;
        int rights = PROT_READ | PROT_WRITE, how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
        if (!from) from = mmap(0, 1UL << 36, rights, how, -1, 0);
        return from;
    }
    static void *take(size_t alignment, size_t size, int once)
    {
        static _Thread_local char *last;
        static _Thread_local size_t last_size;
        if (!once && size > 16 && size <= last_size && ++calls % 10 == 0) return last;
        size_t at = (atomic_fetch_add(&used, size + 2 * alignment) + 2 * alignment) & -alignment;
        last = arena() + at;
        last_size = size;
        return last;
    }
    void *malloc(size_t size) { return take(16, size, 0); }
    void *calloc(size_t count, size_t size) { return take(16, count * size, 1); }
    void *aligned_alloc(size_t alignment, size_t size) { return take(alignment, size, 1); }
    void *realloc(void *p, size_t size) { return p ? memmove(take(16, size, 1), p, size) : take(16, size, 1); }
    void free(void *p) { (void)p; }
'''


@pytest.fixture(scope="session")
def loser(tmp_path_factory):
    return compiled(LOSER, tmp_path_factory.mktemp("loser") / "loser.so", "-shared", "-fPIC")


@pytest.mark.parametrize("command", [c for c in QUICK if c.split()[0].removeprefix("bench_") in (
    "chain", "only_free", "successors", "linked", "realloc", "large")])
def test_an_allocator_that_hands_out_a_block_twice_is_noticed(command, loser):
    done = subprocess.run([PROGRAMS_IN / command.split()[0], *command.split()[1:]],
                          env={**os.environ, "LD_PRELOAD": str(loser)}, capture_output=True, text=True)
    assert done.returncode == 1 and done.stdout == "" and "an object was lost" in done.stderr


def test_identity_of_a_library_without_malloc_is_refused(tmp_path):
    no_malloc = shutil.copy(installed("libdl.so.2"), tmp_path / "liballoc.so")
    with pytest.raises(LabError, match="served malloc"):
        run("bench_mixed_st 10 10 16 64", Path(no_malloc))


def test_two_builds_of_one_name_are_told_apart(tmp_path, jemalloc):
    result = run("bench_mixed_st 10 10 16 64", Path(shutil.copy(jemalloc, tmp_path / jemalloc.name)))
    with pytest.raises(LabError, match="served malloc"):
        measure.check_server("jemalloc", Arm(), jemalloc, result["alloc_path"], "")


def test_a_library_may_lie_deep(tmp_path):
    deep = tmp_path / ("x" * 100) / ("y" * 100) / ("z" * 100)
    deep.mkdir(parents=True)
    assert run("bench_startup 2", Path(shutil.copy(LIMIT, deep)))["ops"] == 2


@pytest.mark.parametrize("remote", [0, 50, 90])
def test_remote_share_is_the_one_asked_for(remote, jemalloc):
    result = run(f"{MT_REMOTE} 4 100000 100 16 64 {remote}", jemalloc)
    assert float(result["effective_remote_pct"]) == pytest.approx(remote, abs=1)
    assert result["overflow"] == "ok"


def test_limit_serves_a_program_that_does_more_than_benchmarks():
    script = """if True:
        import os, threading
        assert "limit.so" in open("/proc/self/maps").read()
        heap = [[bytes(n % 5000) * 3 for n in range(2000)] for _ in range(4)]
        workers = [threading.Thread(target=lambda: heap.append(sorted(str(n) for n in range(20000)))) for _ in range(6)]
        for worker in workers: worker.start()
        for worker in workers: worker.join()
        child = os.fork()
        if child == 0: os._exit(len(bytearray(1 << 22)) != 1 << 22)
        assert os.waitpid(child, 0)[1] == 0
        print(sum(map(len, heap)))
    """
    done = subprocess.run([sys.executable, "-c", script], env={**os.environ, "LD_PRELOAD": str(LIMIT), "PYTHONMALLOC":
                          "malloc"}, capture_output=True, text=True, check=True)
    assert done.stdout == f"{4 * 2000 + 6 * 20000}\n"


def short_of_memory(command, bytes_, **options):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (bytes_, bytes_))

    program, *arguments = command.split()
    return subprocess.run([PROGRAMS_IN / program, *arguments], preexec_fn=limit, timeout=60, capture_output=True,
                          text=True, env={**os.environ, **options})


def test_limit_says_that_no_memory_is_left():
    done = short_of_memory("bench_mixed_st 10 10 16 64", 1 << 30, LD_PRELOAD=str(LIMIT))  # it reserves 2 TiB
    assert (done.returncode, done.stderr) == (127, "limit: cannot map memory\n")


@pytest.mark.parametrize("command", ["bench_mixed_st 100000 2000 100000 1000000 --touch all", "bench_many_threads 5000",
                                     "bench_growing 500 2000", "bench_realloc 2 1 200000 100000 2000 8192",
                                     f"{MT_REMOTE} 64 1000 100 16 64 50 1048576"])
def test_programs_say_that_no_memory_is_left(command):
    done = short_of_memory(command, 400 << 20)
    assert (done.returncode, done.stdout) == (1, "")
    assert re.fullmatch(r"bench: (pthread_create: .*|[a-z_]*alloc.* failed|cannot map \d+ bytes)\n", done.stderr)


def test_limit_says_what_it_is_and_never_gives_back():
    result = run("bench_burst_idle 16 1000 3 1", LIMIT)
    assert result["config"].startswith("limit-config: ") and result["end_share"] > 0.95
    assert run("bench_burst_idle 16 1000 3 1")["config"] == ""


def test_one_thread_sends_nothing():
    assert run(f"{MT_REMOTE} 1 10000 100 16 64 90")["remote_sent"] == 0


def test_overflow_is_reported_and_matched_avoids_it():
    crowded = f"{MT_REMOTE} 4 100000 100 16 64 90 3"
    free_for_all, matched = run(crowded), run(crowded + " --matched")
    assert free_for_all["overflow"] == "above_0.1%"
    assert (matched["overflow_sent"], matched["overflow"]) == (0, "ok")


def test_a_receiver_has_the_ring_slots_that_are_asked_for():
    slots = 262144
    assert 32 * slots * 8 / 1024 < run(f"{MT_REMOTE} 32 200 1 16 64 50 {slots}")["own_kib"] < 36 * slots * 8 / 1024


def test_the_programs_own_memory_is_in_no_figure():
    result = run(f"{MT_REMOTE} 4 1000 100 16 64 50 1048576")
    assert result["own_kib"] > 32 * 1024
    assert 0 < result["peak_kib"] < 8 * 1024


def test_own_memory_that_is_not_resident_gives_no_figure(tmp_path):
    """As where the system has swapped it out."""
    program = compiled('''
        #include "basics.h"
        int main(void)
        {
            madvise(bench_map(64 << 20), 64 << 20, MADV_DONTNEED);
            printf("%llu\\n", (unsigned long long)bench_rss_kib());
        }''', tmp_path / "resident", "-D_GNU_SOURCE")
    done = subprocess.run([program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "") and "less than the program's own memory" in done.stderr


COUNTER = """
    #include <stdatomic.h>
    #include <stdio.h>
    #include <stdlib.h>
    void *__libc_malloc(size_t);
    static _Atomic unsigned long calls;
    void __libc_free(void *);
    void *malloc(size_t size) { calls++; return __libc_malloc(size); }
    void free(void *p) { __libc_free(p); }
    const char *hz3_config_string(void)
    {
        static char text[24];
        snprintf(text, sizeof text, "%lu", calls);
        return text;
    }
"""


@pytest.mark.parametrize("command", [
    "bench_mixed_st 20000 50 16 4096 --latency", f"{MT_REMOTE} 4 20000 50 16 2048 50 --latency",
    "bench_chain 4 20000 24 512 --latency", "bench_linked 3 4 50 100 40 400 --latency"])
def test_the_allocator_sees_no_malloc_but_the_measured_ones(command, tmp_path):
    counter = compiled(COUNTER, tmp_path / "counter.so", "-shared", "-fPIC")
    result = run(command, counter)
    assert result["config"] == result["malloc_calls"]


def test_touching_commits_what_not_touching_leaves_alone():
    touched, untouched = (run(f"bench_mixed_st 2000 1000 100000 110000 --touch {how}") for how in ("all", "none"))
    assert touched["peak_kib"] > 40 * 1024 > untouched["peak_kib"]


def test_idle_sees_memory_that_is_given_back(jemalloc):
    burst = "bench_burst_idle 64 1000 4 1"
    assert run(burst, jemalloc)["end_share"] > 0.9
    eager = "dirty_decay_ms:0,muzzy_decay_ms:0,tcache:false"
    assert run(burst, jemalloc, MALLOC_CONF=eager)["end_share"] < 0.3


def test_handover_tells_reuse_from_doubling(jemalloc):
    again = {mode: run(f"bench_handover {mode} 32", jemalloc)["again_ratio"] for mode in ("sleep", "dead")}
    assert again["dead"] < 1.2 and again["sleep"] > 1.7
