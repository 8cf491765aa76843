"""Replays compared with the programs themselves: they must have the same peaks, and rank the allocators in the same
order.

One trace of each program, recorded on glibc, is replayed on all allocators.  The program also runs on each of them,
once recorded for its peak, and alone for its CPU time.  This takes minutes, so only with --long (make
test_trace_long)."""

import os
import random
import statistics
import subprocess
from itertools import combinations
from pathlib import Path

import pytest
from tracing import HZ3, ROOT, play, words

RUNS = 5
PEAK = 0.10  # the largest relative error of a replay's peak
CLEAR = 0.05  # two allocators differ clearly if their medians differ by more than this and their runs do not overlap
LIBRARIES = {
    "glibc": "libc.so.6",  # has to be preloaded, since Debian's Redis is linked with another
    "scale": str(ROOT / "libhakozuna_hz3_scale.so"),
    "memory": str(ROOT / "libhakozuna_hz3_memory.so"),
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}

SOURCE = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <regex>
#include <unordered_map>
template <int N> struct F { static constexpr int v = F<N - 1>::v + 1; std::map<int, std::array<int, N % 7 + 1>> m; };
template <> struct F<0> { static constexpr int v = 0; };
int main()
{
    std::regex r("a*b");
    std::unordered_map<std::string, std::function<int(int)>> m;
    m["a"] = [](int x) { return x; };
    F<300> f;
    std::cout << f.v << std::regex_match("aab", r);
}
"""
OBJECTS = """
import json
rows = [{"key %d" % i: [str(i)] * (i % 7), "n": i} for i in range(150000)]
again = json.loads(json.dumps(rows))
del rows[::2]
print(len("".join(sorted(next(iter(row)) for row in again + rows))))
"""


def ran(process):
    """CPU seconds of a process and of the children that it waited for."""
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def simple(*argv):
    def run(prefix, env, folder):
        return ran(subprocess.Popen([*prefix, *argv], env=env, cwd=folder, stdout=subprocess.DEVNULL))

    return run


def redis(prefix, env, folder):
    socket = str(folder / "socket")
    argv = ["redis-server", "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--io-threads", "2"]
    server = subprocess.Popen([*prefix, *argv], env=env, cwd=folder, stdout=subprocess.DEVNULL)
    while subprocess.run(["redis-cli", "-s", socket, "ping"], capture_output=True).stdout != b"PONG\n":
        assert server.poll() is None
    for size, tests in (("300", "set,lpush,sadd"), ("100", "set")):
        load = ["redis-benchmark", "-s", socket, "-q", "-n", "200000", "-d", size, "-r", "100000", "-P", "20", "-t", tests]
        subprocess.run(load, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"], capture_output=True)
    return ran(server)


PROGRAMS = {
    "redis": (redis, "t"),
    "python3": (simple("/usr/bin/python3", "-c", OBJECTS), "t"),
    "python3 without its own arenas": (simple("env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-c", OBJECTS), "t.python3-*"),
    "g++": (simple("g++", "-O1", "-c", "a.cc", "-o", "a.o"), "t.cc1plus-*"),
}


def recorded(run, trace, env, folder):
    folder.mkdir()
    (folder / "a.cc").write_text(SOURCE)
    run([HZ3, "record", "-o", folder / "t", "--"], env, folder)
    (found,) = folder.glob(trace)
    return found


def same_order(programs, replays):
    """Counts the pairs of allocators in which the programs differ clearly, and those that the replays order the other
    way."""
    clear = wrong = 0
    for one, other in combinations(programs, 2):
        low, high = sorted((one, other), key=lambda name: statistics.median(programs[name]))
        medians = [statistics.median(programs[name]) for name in (low, high)]
        if max(programs[low]) < min(programs[high]) and medians[1] > medians[0] * (1 + CLEAR):
            clear += 1
            turned = statistics.median(replays[low]) > statistics.median(replays[high])
            wrong += turned
            print(f"  {low} before {high}: {'NOT SO IN REPLAYS' if turned else 'yes'}")
    return clear, wrong


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("name", PROGRAMS)
def test_replays_are_like_the_program(name, player, request, tmp_path):
    if not request.config.getoption("--long"):
        pytest.skip("with --long only: make test_trace_long")
    run, trace = PROGRAMS[name]
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    names = [n for n, library in LIBRARIES.items() if "/" in library or library in known]
    assert len(names) >= 4
    envs = {n: {**os.environ, "LD_PRELOAD": LIBRARIES[n]} for n in names}
    of_glibc = recorded(run, trace, envs["glibc"], tmp_path / "recorded")
    peaks = {n: int(words(play(player, "--facts", recorded(run, trace, envs[n], tmp_path / n)))["recorded_peak"]) for n in names}
    cpu, replays, replayed_peaks = ({n: [] for n in names} for _ in range(3))
    (tmp_path / "a.cc").write_text(SOURCE)
    for block in range(RUNS):
        for n in random.Random(block).sample(names, len(names)):
            cpu[n].append(run([], envs[n], tmp_path))
            figures = words(play(player, of_glibc, env={"LD_PRELOAD": LIBRARIES[n]}))
            assert Path(LIBRARIES[n]).name == Path(figures["alloc_path"].strip('"')).name
            replays[n].append(float(figures["cpu_s"]))
            replayed_peaks[n].append(int(figures["peak_kib"]))
    print(f"\n{name}: {words(play(player, '--facts', of_glibc))}")
    for n in names:
        mine = statistics.median(replayed_peaks[n])
        print(f"  {n:9} peak {peaks[n] / 1024:7.1f} MiB, replayed {mine / 1024:7.1f} ({mine / peaks[n]:.3f}); "
              f"CPU {statistics.median(cpu[n]):.3f} s, replayed {statistics.median(replays[n]):.3f}")
    clear, wrong = same_order(cpu, replays)
    assert float(words(play(player, "--facts", of_glibc))["event_bytes"]) <= 8
    off = {n: statistics.median(replayed_peaks[n]) / peaks[n] - 1 for n in names}
    assert max(map(abs, off.values())) <= PEAK, off
    clear_peaks, wrong_peaks = same_order({n: [peaks[n]] for n in names}, replayed_peaks)
    assert wrong + wrong_peaks == 0, f"of {clear} pairs by CPU and {clear_peaks} by peak"
