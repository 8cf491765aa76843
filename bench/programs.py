#!/usr/bin/env python3
"""What one library costs real programs against another: CPU time (user + system) and peak RSS of each program, as the
median of the pairs' ratios, and the geometric mean over all programs, each with the interval that covers 95 %.  As in the
lab a block runs every program once on each library, in random order; a witness in each process says who served malloc;
every sample is kept, in build/compare/programs.

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

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))

from lab import LabError, build, machine, measure, samples, session  # noqa: E402
from lab.plan import Arm, Cell, Plan, library_arm  # noqa: E402

RESULTS = ROOT / "build/compare/programs"
BASELINE, OTHER = "baseline", "other"
FIGURES = {"CPU": "cpu_s", "peak RSS": "peak_kib"}
RESAMPLES = 2000
PATIENCE = 600  # seconds; only what hangs takes so long

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


def start(command, env, folder, **options):
    """By the lab's launch, and not as a child of this process, whose own size would count in the child's peak."""
    env = {**env}
    launch = [folder / "launch", folder / "usage", env.pop("LD_PRELOAD")]
    return subprocess.Popen([*launch, *command], env=env, stdout=subprocess.DEVNULL, start_new_session=True, **options)


def cost(command, env, folder, child=None):
    """CPU seconds and peak KiB of a command that ends well, and the children it waited for."""
    child = child or start(command, env, folder)
    try:
        measure.check_status(child.wait(PATIENCE), str(command[0]), "")
    except subprocess.TimeoutExpired:
        raise LabError(f"{command[0]} does not end") from None
    finally:
        measure.end_session(child)
    figures = measure.words((folder / "usage").read_text())
    return float(figures["cpu_s"]), float(figures["peak_kib"])


def served(command, env, folder, ready, load, stop, **options):
    """The same of a server while load() runs."""
    server = start(command, env, folder, stderr=subprocess.DEVNULL, **options)
    try:
        deadline = time.monotonic() + PATIENCE
        while not ready():
            if server.poll() is not None or time.monotonic() > deadline:
                raise LabError(f"{command[0]} does not serve: status {server.returncode}")
            time.sleep(0.02)
        load()
        os.kill(int(Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()[0]), stop)
        return cost(command, env, folder, server)
    finally:
        measure.end_session(server)


def redis(env, folder):
    path = folder / "redis"

    def load():
        subprocess.run(["redis-benchmark", "-s", path, "-q", "-n", "60000", "-P", "16", "-d", "300", "-r", "50000",
                        "-t", "set,get,lpush,lpop,sadd,hset"], check=True, stdout=subprocess.DEVNULL)

    command = ["redis-server", "--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""]
    return served(command, env, folder, path.exists, load, signal.SIGTERM)


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
    result = served(command, env, folder, path.exists, load, signal.SIGTERM)
    path.unlink(missing_ok=True)
    return result


def postgres(env, folder):
    """pgbench's transactions over four connections."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1]
    user = {"user": "nobody"} if os.geteuid() == 0 else {}
    data = folder / "data"
    pgbench = [programs / "pgbench", "-h", folder, "-n", "postgres"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "check": True, **user}
    fresh = not data.exists()
    if fresh:
        if user:
            shutil.chown(folder, "nobody")  # who has to read the libraries there, and to write
        subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "--no-sync"], **quiet)

    def ready():
        return subprocess.run([programs / "pg_isready", "-q", "-h", folder]).returncode == 0

    def load():
        if fresh:
            subprocess.run([*pgbench, "-i"], **quiet)
        subprocess.run([*pgbench, "-c", "4", "-t", "1500"], **quiet)

    server = [programs / "postgres", "-D", data, "-k", folder, "-h", "", "-F"]
    return served(server, env, folder, ready, load, signal.SIGINT, **user)


def git(env, folder):
    target = folder / "clone"
    result = cost(["sh", "-c", "git clone -q --bare --no-local $1 $0 && git -C $0 gc -q --aggressive", target, ROOT], env, folder)
    subprocess.run(["rm", "-rf", target], check=True)
    return result


PROGRAMS = {
    "redis": redis,
    "sqlite3": lambda env, folder: cost(["sqlite3", ":memory:", SQL], env, folder),
    "python3": lambda env, folder: cost(["python3", "-c", PYTHON], env, folder),
    "perl": lambda env, folder: cost(["perl", "-e", PERL], env, folder),
    "gcc": lambda env, folder: cost(["gcc", "-O2", "-c", "-o", folder / "big.o", folder / "big.c"], env, folder),
    "git": git,
    "memcached": memcached,
    "postgres": postgres,
}


class Taker:
    """Runs a program on a library, both in one folder, and lets nothing pass that another library served."""

    def __init__(self, folder):
        self.folder, self.witness = folder, folder / "witness.so"
        build.build_tools(folder)
        (folder / "big.c").write_text(c_source())

    def arm(self, library, name) -> Arm:
        """A copy, where users of servers can read it; names of one length, since LD_PRELOAD moves the stack."""
        return library_arm(Path(shutil.copy(library, self.folder / name)), self.folder)

    def __call__(self, name, arm, cell):
        print(f"{cell.argv[0]:9} {name}", file=sys.stderr)
        library, testimony = self.folder / arm.file, self.folder / "testimony"
        for file in (testimony, self.folder / "usage"):  # which another user may have written
            file.unlink(missing_ok=True)
        env = measure.environment(arm, cell, [library, self.witness]) | {"LAB_WITNESS": str(testimony)}
        cpu, peak = PROGRAMS[cell.argv[0]](env, self.folder)
        measure.check_testimony(cell.argv[0], testimony, name, arm, library)
        return {"cpu_s": cpu, "peak_kib": peak}


def estimate(rows):
    """The geometric mean of the rows' medians, and the interval that covers 95 %, from the bootstrap over each row; without
    numpy, so that what is needed to measure is needed to the end."""
    logs, dice = [[math.log(ratio) for ratio in row] for row in rows], random.Random(0)
    means = sorted(statistics.fmean(statistics.median(dice.choices(row, k=len(row))) for row in logs)
                   for _ in range(RESAMPLES))
    mean = statistics.fmean(map(statistics.median, logs))
    return "{:.3f}x [{:.3f} {:.3f}]".format(*map(math.exp, (mean, means[RESAMPLES // 40], means[-RESAMPLES // 40])))


def table(run):
    pairs = {program: run.blocks(program, "ab") for program in run.plan.cells}
    ratios = {what: {program: [block[OTHER][figure] / block[BASELINE][figure] for block in blocks]
                     for program, blocks in pairs.items()} for what, figure in FIGURES.items()}
    for program in pairs:
        yield f"{program:9} " + "   ".join(f"{what} {estimate([ratios[what][program]])}" for what in FIGURES)
    for what in FIGURES:
        yield f"geometric mean, {what}: {estimate(ratios[what].values())}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("libraries", nargs=2, type=Path, metavar="LIBRARY")
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--only", choices=PROGRAMS, action="append", help="may be repeated (default: all)")
    arguments = parser.parse_args()
    if arguments.pairs < 1:
        parser.error("--pairs: 1 at least")
    with tempfile.TemporaryDirectory() as name:
        taker = Taker(Path(name).resolve())
        first, second = arguments.libraries
        arms = {BASELINE: taker.arm(first, "a.so"), OTHER: taker.arm(second, "b.so")}
        cells = {program: Cell([program]) for program in arguments.only or PROGRAMS}
        plan = Plan("ab", "programs", arms, cells, arguments.pairs)
        run = samples.Samples.create(samples.new_path(RESULTS), plan, machine.describe())
        session.run(run, taker)
    print(*table(run), f"every sample is in {run.path}", sep="\n")


if __name__ == "__main__":
    try:
        main()
    except (LabError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{Path(__file__).name}: {error}")
