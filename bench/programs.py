#!/usr/bin/env python3
"""What one library costs real programs against another: CPU time (user + system) and peak RSS of each program, in
pairs of alternating order (A B B A ...), as the median of the pairs' ratios, and the geometric mean over all programs.

    bench/programs.py [--pairs N] [--only PROGRAM] BASELINE.so OTHER.so
"""
import argparse
import math
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
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


def served(command, env, ready, load, stop, **options):
    """The same of a server, its children included, while load() runs."""
    server = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
    while not ready():
        time.sleep(0.02)
    load()
    server.send_signal(stop)
    _, _, usage = os.wait4(server.pid, 0)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def redis(env, folder):
    path = folder / "redis"

    def load():
        subprocess.run(["redis-benchmark", "-s", path, "-q", "-n", "60000", "-P", "16", "-d", "300", "-r", "50000",
                        "-t", "set,get,lpush,lpop,sadd,hset"], check=True, stdout=subprocess.DEVNULL)

    command = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""]
    return served(command, env, path.exists, load, signal.SIGTERM)


def memcached(env, folder):
    """Four connections at once, each served by a thread of its own: values of 1 byte to 64 KiB, set, read, deleted."""
    path = folder / "memcached"

    def talk(worker):
        dice = random.Random(worker)
        with socket.socket(socket.AF_UNIX) as line, line.makefile("rb") as answers:
            line.connect(str(path))
            for i in range(6000):
                value = bytes(int(2 ** dice.uniform(0, 16)))
                key = f"{worker}-{i}"
                line.sendall(b"set %s 0 0 %d\r\n%s\r\nget %s\r\n" % (key.encode(), len(value), value, key.encode()))
                assert answers.readline() == b"STORED\r\n"
                answers.readline(), answers.read(len(value) + 2), answers.readline()
                if i % 2:
                    line.sendall(b"delete %s\r\n" % key.encode())
                    assert answers.readline() == b"DELETED\r\n"

    def load():
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(talk, range(4)))

    command = ["memcached", "-s", path, "-t", "4", "-m", "512", "-u", "root"]
    result = served(command, env, path.exists, load, signal.SIGTERM)
    path.unlink(missing_ok=True)
    return result


def postgres(env, folder):
    """pgbench's transactions over four connections."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    data, library = folder / "data", folder / "library.so"
    library.unlink(missing_ok=True)
    shutil.copy(env["LD_PRELOAD"], library)  # where its user can read it
    pgbench = [programs / "pgbench", "-h", folder, "-n", "postgres"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, **user}
    fresh = not data.exists()
    if fresh:
        if user:
            shutil.chown(folder, "nobody")
        subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "--no-sync"], **quiet)

    def ready():
        return subprocess.run([programs / "pg_isready", "-q", "-h", folder]).returncode == 0

    def load():
        if fresh:
            subprocess.run([*pgbench, "-i"], **quiet)
        subprocess.run([*pgbench, "-c", "4", "-t", "1500"], **quiet)

    server = [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-F"]
    return served(server, {**env, "LD_PRELOAD": str(library)}, ready, load, signal.SIGINT, **user)


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
    "memcached": memcached,
    "postgres": postgres,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs=2, type=Path, metavar="LIBRARY")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", choices=PROGRAMS, action="append", help="may be repeated (default: all)")
    arguments = parser.parse_args()
    environments = [{**os.environ, "LD_PRELOAD": str(path.resolve(strict=True))} for path in arguments.libraries]
    ratios = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "big.c").write_text(c_source())
        for program in arguments.only or PROGRAMS:
            samples = [[], []]
            for pair in range(arguments.pairs + 1):
                for side in (0, 1) if pair % 2 else (1, 0):
                    samples[side].append(PROGRAMS[program](environments[side], folder))
            pairs = list(zip(*[side[1:] for side in samples]))  # the first pair warms up
            cpu = [b[0] / a[0] for a, b in pairs]
            rss = [b[1] / a[1] for a, b in pairs]
            ratios[program] = statistics.median(cpu), statistics.median(rss)
            print(f"{program:9} CPU {ratios[program][0]:.3f}x [{min(cpu):.3f} {max(cpu):.3f}]   "
                  f"peak RSS {ratios[program][1]:.3f}x [{min(rss):.3f} {max(rss):.3f}]", flush=True)
    for what, index in (("CPU", 0), ("peak RSS", 1)):
        mean = math.exp(statistics.fmean(math.log(ratio[index]) for ratio in ratios.values()))
        print(f"geometric mean, {what}: {mean:.3f}x")


main()
