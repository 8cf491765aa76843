#!/usr/bin/env python3
"""What one library costs real programs against another: CPU time (user + system) and peak RSS of each program, in
pairs of alternating order (A B B A ...), as the median of the pairs' ratios, and the geometric mean over all programs.

    bench/programs.py [--pairs N] BASELINE.so OTHER.so
"""
import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
insert into t select i, printf('%x-%d', i * 7919 % 65521, i), i * 0.5 from n;
create index tb on t(b);
select count(*), sum(length(x.b)) from t x join t y on x.b = y.b where x.a % 3 = 0;
select substr(b, 1, 2) k, count(*), avg(c) from t group by k order by k limit 5;
"""
PYTHON = """
import json
for i in range(6):
    rows = [{"id": n, "name": "x" * (n % 700), "tags": [str(n), str(n * 3)]} for n in range(20000)]
    text = json.dumps(rows)
    assert len(json.loads(text)) == 20000
    words = {w: len(w) for w in text.split()}
"""
PERL = """
my %h; for my $i (1 .. 250000) { $h{"key" . $i % 50000} .= "v$i,"; }
my $n = 0; for my $k (sort keys %h) { $n++ while $h{$k} =~ /(\\d+),/g; } print "$n\\n";
"""


def c_source():
    lines = ["#include <stdio.h>", "#include <stdlib.h>", "#include <string.h>"]
    for i in range(900):
        lines.append(f"static int f{i}(int a, const char *s) {{ int r = a; for (int i = 0; i < {i % 17 + 3}; i++) "
                     f"r = r * {i * 2 + 1} + (int)strlen(s) % (i + 1); return r > {i} ? r - f_{i}[r & 7] : r; }}")
        lines.insert(3, f"static int f_{i}[8];")
    lines.append("int main(void) { int r = 0; " + " ".join(f'r += f{i}(r, "{i}");' for i in range(900)) + " return r; }")
    return "\n".join(lines)


def cost(command, env, **options):
    """CPU seconds and peak KiB of a command and the children it waited for."""
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, **options)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{command[0]} failed: status {status}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def redis(env, folder):
    socket = folder / "socket"
    server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", socket, "--dir", folder, "--save", ""],
                              env=env, stdout=subprocess.DEVNULL)
    while not socket.exists():
        time.sleep(0.02)
    subprocess.run(["redis-benchmark", "-s", socket, "-q", "-n", "60000", "-P", "16", "-d", "300", "-r", "50000", "-t",
                    "set,get,lpush,lpop,sadd,hset"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["redis-cli", "-s", socket, "shutdown", "nosave"])
    _, _, usage = os.wait4(server.pid, 0)
    socket.unlink(missing_ok=True)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def git(env, folder):
    target = folder / "clone"
    result = cost(["sh", "-c", "git clone -q --bare --no-local . $0 && git -C $0 gc -q --aggressive", target], env)
    subprocess.run(["rm", "-rf", target], check=True)
    return result


PROGRAMS = {
    "redis": redis,
    "sqlite3": lambda env, folder: cost(["sqlite3", ":memory:", SQL], env),
    "python3": lambda env, folder: cost(["python3", "-c", PYTHON], env),
    "perl": lambda env, folder: cost(["perl", "-e", PERL], env),
    "gcc": lambda env, folder: cost(["gcc", "-O2", "-c", "-o", folder / "big.o", folder / "big.c"], env),
    "git": git,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs=2, type=Path, metavar="LIBRARY")
    parser.add_argument("--pairs", type=int, default=7)
    arguments = parser.parse_args()
    environments = [{**os.environ, "LD_PRELOAD": str(path.resolve(strict=True))} for path in arguments.libraries]
    ratios = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "big.c").write_text(c_source())
        for program, run in PROGRAMS.items():
            samples = [[], []]
            for pair in range(arguments.pairs + 1):
                for side in (0, 1) if pair % 2 else (1, 0):
                    samples[side].append(run(environments[side], folder))
            pairs = list(zip(*[side[1:] for side in samples]))  # the first pair warms up
            cpu = [b[0] / a[0] for a, b in pairs]
            rss = [b[1] / a[1] for a, b in pairs]
            ratios[program] = statistics.median(cpu), statistics.median(rss)
            print(f"{program:8} CPU {ratios[program][0]:.3f}x [{min(cpu):.3f} {max(cpu):.3f}]   "
                  f"peak RSS {ratios[program][1]:.3f}x [{min(rss):.3f} {max(rss):.3f}]", flush=True)
    for what, index in (("CPU", 0), ("peak RSS", 1)):
        mean = math.exp(statistics.fmean(math.log(ratio[index]) for ratio in ratios.values()))
        print(f"geometric mean, {what}: {mean:.3f}x")


main()
