"""Measures real programs on a library.  A witness in each of their processes says which library served malloc.

Their inputs are made here, once, from fixed seeds.  Their scripts are in bench/programs."""

import errno
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from lab import ROOT, Json, LabError, Unfit, build, measure
from lab.plan import Arm, Cell, digest
from lab.stage import PATH, PATIENCE, Command, Stage, answers_at, as_nobody, cost, found, free_port, quietly, served

SCRIPTS, PREFIX = ROOT / "bench/programs", "program_"
FILES = 24  # that nginx serves
LEAST_FREE = 1 << 20  # bytes; with less the disk is full
Program = Callable[[Stage], Json]
Keep = Callable[[int, bytes], object]  # gets what a connection read, with its number


def keep_nothing(connection: int, said: bytes) -> None:
    pass


def script(name: str, *program: str) -> Program:
    """A program that runs a script with an amount of work."""
    return lambda stage: cost(stage, [found(program[0]), *program[1:], SCRIPTS / name, str(stage.work)])


def redis(stage: Stage) -> Json:
    """Redis serves requests, sixteen at a time."""
    path = stage.path("redis")
    path.unlink(missing_ok=True)
    asked = f"-q -n {stage.work // 6} -P 16 -d 300 -r 50000 -t set,get,lpush,lpop,sadd,hset".split()
    command: Command = [found("redis-server"), "--port", "0", "--unixsocket", path, "--dir", stage.folder, "--save", ""]
    return served(
        stage, command, lambda: answers_at(path), lambda: quietly(found("redis-benchmark"), "-s", path, *asked)
    )


def memcached(stage: Stage, keep: Keep = keep_nothing) -> Json:
    """memcached serves requests over four connections at once: values of 1 byte to 64 KiB are set, read and deleted."""
    path = stage.path("memcached")

    def talk(worker: int) -> None:
        dice = random.Random(worker)
        with socket.socket(socket.AF_UNIX) as line, line.makefile("rb") as answers:
            line.settimeout(PATIENCE)
            line.connect(str(path))
            for batch in range(stage.work // 4 // 30):
                keys = [f"{worker}-{batch}-{i}".encode() for i in range(10)]
                sizes = [int(2 ** dice.uniform(0, 16)) for _ in keys]
                values = [(k * (size // len(k) + 1))[:size] for k, size in zip(keys, sizes, strict=True)]
                sets = [b"set %s 0 0 %d\r\n%s\r\n" % (k, len(v), v) for k, v in zip(keys, values, strict=True)]
                line.sendall(
                    b"".join([*sets, *(b"get %s\r\n" % k for k in keys), *(b"delete %s\r\n" % k for k in keys[::2])])
                )
                said = [answers.readline() for _ in keys]
                for value in values:
                    keep(worker, answers.readline() + answers.read(len(value) + 2) + answers.readline())
                if said + [answers.readline() for _ in keys[::2]] != [b"STORED\r\n"] * 10 + [b"DELETED\r\n"] * 5:
                    raise LabError(f"memcached said {said}")

    def load() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(talk, range(4)))

    path.unlink(missing_ok=True)
    user = ["-u", "root"] if os.geteuid() == 0 else []
    command: Command = [found("memcached"), "-s", path, "-t", "4", "-m", "512", *user]
    return served(stage, command, lambda: answers_at(path), load)


def postgres(stage: Stage, *asked: str, after: Callable[[], object] = lambda: None) -> Json:
    """PostgreSQL serves pgbench's transactions over four connections, or with other options; after that `after` may ask
    it more."""
    user, asks = as_nobody(stage), ["-U", "lab", "-A", "trust", "--no-sync"]
    data = stage.once("data", lambda folder: quietly(found("initdb"), "-D", folder, *asks, **user))
    pgbench: Command = [found("pgbench"), "-h", stage.folder, "-U", "lab", "-n", "postgres"]

    def ready() -> bool:
        return subprocess.run([found("pg_isready"), "-q", "-h", stage.folder]).returncode == 0

    def load() -> None:
        quietly(*pgbench, "-i", "-q")
        quietly(*pgbench, "-c", "4", "-t", str(stage.work // 4), "--random-seed=1", *asked)
        after()

    server: Command = [found("postgres"), "-D", data, "-k", stage.folder, "-h", "", "-F", "-c", "shared_buffers=16MB"]
    return served(stage, server, ready, load, signal.SIGINT, **user)


def configure(stage: Stage, template: Path, **words: str) -> None:
    """Writes the template to the stage's folder.  @FOLDER@ in it stands for the folder, @WORD@ for each of the words."""
    text = template.read_text()
    for word, value in {"FOLDER": str(stage.folder), **words}.items():
        text = text.replace(f"@{word}@", value)
    stage.path(template.name).write_text(text)


def nginx(stage: Stage, keep: Keep = keep_nothing) -> Json:
    """nginx serves requests, a hundred on each connection, over four at once: files of 1 byte to 64 KiB, half of them
    compressed, some through a proxy."""
    www, port = stage.path("www"), free_port()
    if not www.exists():
        dice = random.Random(2)
        www.mkdir()
        for i in range(FILES):
            (www / f"f{i}").write_bytes(bytes(dice.choices(b"abcdefgh \n", k=1 << i * 16 // FILES)))
    configure(stage, SCRIPTS / "nginx.conf", USER="user root;" if os.geteuid() == 0 else "", PORT=str(port))
    for left in ("front", "pid"):  # a killed one leaves them
        stage.path(left).unlink(missing_ok=True)

    def asked(i: int) -> bytes:
        compressed, last = "Accept-Encoding: gzip\r\n" * (i % 2), "Connection: close\r\n" * (i % 100 == 99)
        where = f"{'/again' * (i % 5 == 0)}/f{i % FILES}"
        return f"GET {where} HTTP/1.1\r\nHost: localhost\r\n{compressed}{last}\r\n".encode()

    def ask(first: int) -> None:
        with socket.create_connection(("127.0.0.1", port), PATIENCE) as line, line.makefile("rb") as answers:
            line.sendall(b"".join(map(asked, range(first, first + 100))))
            said = answers.read()
            if (right := said.count(b"HTTP/1.1 200 OK")) != 100:
                raise LabError(f"nginx answered {right} of 100 requests")
            keep(first, said)

    def load() -> None:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(ask, range(0, stage.work, 100)))

    command: Command = [found("nginx"), "-p", stage.folder, "-c", "nginx.conf", "-e", "error.log"]
    return served(stage, command, stage.path("pid").exists, load, signal.SIGQUIT)


def rocksdb(stage: Stage) -> Json:
    """Two threads write and read keys."""
    shutil.rmtree(stage.path("rocksdb"), ignore_errors=True)
    asked = ["--benchmarks=fillrandom,readrandom", "--threads=2", "--seed=1", "--value_size=200", "--disable_wal"]
    return cost(stage, [found("db_bench"), *asked, f"--num={stage.work // 4}", f"--db={stage.path('rocksdb')}"])


def tables(stage: Stage) -> str:
    return (SCRIPTS / "tables.sql").read_text().replace("@WORK@", str(stage.work))


def sqlite(stage: Stage) -> Json:
    """Inserts, joins and groups rows."""
    return cost(stage, [found("sqlite3"), ":memory:", tables(stage)])


def write_c(file: Path, functions: int) -> None:
    lines = ["#include <string.h>"]
    for i in range(functions):
        lines.append(
            f"static int f_{i}[8];\nstatic int f{i}(int a, const char *s) {{ int r = a; for (int i = 0; i < {i % 17 + 3}; "
            f"i++) r = r * {i * 2 + 1} + (int)strlen(s) % (i + 1); return r > {i} ? r - f_{i}[r & 7] : r; }}"
        )
    calls = " ".join(f'r += f{i}(r, "{i}");' for i in range(functions))
    file.write_text("\n".join([*lines, f"int main(void) {{ int r = 0; {calls} return r; }}\n"]))


def gcc(stage: Stage) -> Json:
    """Compiles functions in C, with optimisation."""
    source = stage.once("source.c", lambda file: write_c(file, stage.work))
    return cost(stage, [found("gcc"), "-O2", "-c", "-o", stage.path("c.o"), source])


def write_cpp(file: Path, types: int) -> None:
    lines = ["#include <algorithm>", "#include <map>", "#include <string>", "#include <vector>"]
    for i in range(types):
        lines.append(
            f"struct T{i} {{ int a[{i % 9 + 1}]; std::string s; bool operator<(const T{i} &o) const {{ return s < o.s; }} }};\n"
            f"int f{i}(std::vector<T{i}> v) {{ std::map<T{i}, std::vector<T{i}>> m; for (auto &x : v) m[x].push_back(x);\n"
            f"std::sort(v.begin(), v.end()); return (int)(m.size() + v.size()); }}"
        )
    file.write_text("\n".join(lines) + "\n")


def gpp(stage: Stage) -> Json:
    """Compiles templates in C++, each for its own type, without optimisation."""
    source = stage.once("source.cpp", lambda file: write_cpp(file, stage.work))
    return cost(stage, [found("g++"), "-c", "-o", stage.path("cpp.o"), source])


def primes_below(limit: int) -> Iterator[int]:
    return (n for n in range(limit - 1, 2, -1) if all(n % i for i in range(2, int(n**0.5) + 1)))


def z3(stage: Stage) -> Json:
    """Factors products of two primes of 16 bits, as a problem on bit vectors."""

    def write(file: Path) -> None:
        lines = ["(set-logic QF_BV)", *(f"(declare-const {name} (_ BitVec 32))" for name in "xy")]
        for name in "xy":
            lines += [f"(assert (bvult {name} (_ bv{1 << 16} 32)))", f"(assert (bvugt {name} (_ bv1 32)))"]
        primes = zip(range(stage.work), primes_below(1 << 16), primes_below(3 << 14), strict=False)
        lines += [f"(push) (assert (= (bvmul x y) (_ bv{p * q} 32))) (check-sat) (pop)" for _, p, q in primes]
        file.write_text("\n".join(lines) + "\n")

    return cost(stage, [found("z3"), stage.once("bits.smt2", write)])


def write_postscript(file: Path, pages: int) -> None:
    dice = random.Random(4)
    lines = ["%!PS", "/Times-Roman findfont 9 scalefont setfont"]
    for page in range(pages):
        for _ in range(150):
            points = " ".join(str(dice.randrange(600)) for _ in range(6))
            colour = f"{dice.random():.3f} {dice.random():.3f} {dice.random():.3f} setrgbcolor"
            lines.append(f"{colour} newpath 300 400 moveto {points} curveto closepath fill")
            lines.append(f"0 setgray {dice.randrange(500)} {dice.randrange(800)} moveto (word {dice.random()}) show")
        lines.append(f"% {page}\nshowpage")
    file.write_text("\n".join(lines) + "\n")


def ghostscript(stage: Stage) -> Json:
    """Renders pages of curves and words to pixels and to PDF."""
    source = stage.once("pages.ps", lambda file: write_postscript(file, stage.work))
    devices = ["-sDEVICE=pdfwrite", f"-sOutputFile={stage.path('pages.pdf')}"]
    return cost(stage, [found("gs"), "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", *devices, source])


def write_repository(folder: Path, commits: int) -> None:
    dice = random.Random(5)
    files = {f"{i % 20}/f{i}": [f"line {n}" for n in range(i % 90 + 10)] for i in range(200)}
    lines = []
    for commit in range(commits):
        changed = list(files) if not commit else dice.sample(list(files), 4)
        lines.append(f"commit refs/heads/main\ncommitter A <a@example.org> {1700000000 + 60 * commit} +0000\ndata 1\nx")
        for name in changed:
            files[name][dice.randrange(len(files[name]))] = f"changed in {commit}"
            text = "\n".join(files[name])
            lines.append(f"M 100644 inline {name}\ndata {len(text)}\n{text}")
    quietly(found("git"), "init", "-q", "--bare", folder)
    subprocess.run(
        [found("git"), "-C", folder, "fast-import", "--quiet"], input="\n".join(lines) + "\n", text=True, check=True
    )


def git(stage: Stage) -> Json:
    """Prints the log of commits, with the changes of each."""
    repository = stage.once("repository.git", lambda folder: write_repository(folder, stage.work))
    return cost(stage, [found("git"), "-C", repository, "log", "--stat", "-M", "main"])


OURS = str(ROOT / ".venv/bin/python")  # which has the MODULES
MODULES = {"duckdb": "duckdb", "espresso": "pyeda", "barnes": "rebound"}
CLIENTS = {"redis": ["redis-benchmark"], "postgres": ["initdb", "pg_isready", "pgbench"]}
PROGRAMS: dict[str, tuple[Program, str]] = {  # with the executable whose digest is recorded
    "redis": (redis, "redis-server"),
    "memcached": (memcached, "memcached"),
    "postgres": (postgres, "postgres"),
    "nginx": (nginx, "nginx"),
    "rocksdb": (rocksdb, "db_bench"),
    "json": (script("json_rows.py", "python3"), "python3"),
    "dicts": (script("dicts.py", "env", "PYTHONMALLOC=malloc", "python3"), "python3"),
    "perl": (script("words.pl", "perl"), "perl"),
    "lua": (script("trees.lua", "lua5.4"), "lua5.4"),
    "ruby": (script("objects.rb", "ruby"), "ruby"),
    "sqlite": (sqlite, "sqlite3"),
    "duckdb": (script("columns.py", OURS), OURS),
    "gcc": (gcc, "gcc"),
    "g++": (gpp, "g++"),
    "z3": (z3, "z3"),
    "ghostscript": (ghostscript, "gs"),
    "git": (git, "git"),
    "cfrac": (script("continued_fractions.py", "env", "PYTHONMALLOC=malloc", "python3"), "python3"),
    "espresso": (script("logic.py", OURS), OURS),
    "barnes": (script("bodies.py", OURS), OURS),
}


def are_real(cells: dict[str, Cell]) -> bool:
    """Whether the cells are real programs.  Either all are, or none."""
    real = [name for name, cell in cells.items() if cell.group.startswith(PREFIX)]
    if real and len(real) < len(cells):
        raise LabError(f"a list has real programs or benchmarks, not both: {', '.join(real)}")
    return bool(real)


def check(cells: dict[str, Cell]) -> dict[str, str]:
    """The digests of each program's file, of the scripts and of this file, which makes the loads.  Raises LabError if a
    program is unknown or not installed."""
    digests, missing = {}, []
    for cell in cells.values():
        name = cell.group.removeprefix(PREFIX)
        if name not in PROGRAMS or len(cell.argv) != 2 or not cell.argv[1].isdigit():
            raise LabError(f"'{' '.join(cell.argv)}' is no program of lab/programs.py with a number")
        file, *others = (shutil.which(of, path=PATH) for of in (PROGRAMS[name][1], *CLIENTS.get(name, ())))
        if not file or not all(others) or (name in MODULES and not find_spec(MODULES[name])):
            missing.append(name)
        else:
            digests[cell.argv[0]] = digest(Path(file))
    if missing:
        raise LabError(f"not installed: {', '.join(missing)}: make setup FOR=programs")
    scripts = {str(file.relative_to(ROOT)): digest(file) for file in sorted(SCRIPTS.glob("[!.]*")) if file.is_file()}
    return digests | scripts | {"lab/programs.py": digest(Path(__file__))}


class Taker:
    """Runs a program on a library, both in one folder.  Raises LabError if another library served it, and Unfit if the
    program or a script has no longer its digest."""

    def __init__(self, folder: Path, programs: dict[str, Program] | None = None, digests: dict[str, str] | None = None):
        self.folder, self.programs = folder, programs or {name: program for name, (program, _) in PROGRAMS.items()}
        self.digests = digests or {}
        build.build_tools(folder)
        folder.chmod(0o755)

    def __call__(self, name: str, arm: Arm, cell: Cell) -> Json:
        for file, sha256 in self.digests.items():
            if file == cell.argv[0]:
                measure.check_program(file, Path(found(PROGRAMS[file.removeprefix(PREFIX)][1])), sha256)
            elif (ROOT / file).is_relative_to(SCRIPTS):
                measure.check_program(file, ROOT / file, sha256)
        original = measure.check_library(name, arm, ROOT)
        with measure.fresh_copy(original, self.folder) as library:
            return self.run(name, arm, cell, library)

    def run(self, name: str, arm: Arm, cell: Cell, library: Path | None) -> Json:
        testimony = self.folder / "testimony"
        for file in (testimony, self.folder / "usage"):  # another user may have written them
            file.unlink(missing_ok=True)
        preload = [library or Path("libc.so.6"), self.folder / "witness.so"]  # Debian's Redis is linked with jemalloc
        env = measure.environment(arm, cell, preload) | {"LAB_WITNESS": str(testimony), "PATH": PATH, "LC_ALL": "C"}
        program = self.programs[cell.group.removeprefix(PREFIX)]
        what = f"{cell.argv[0].removeprefix(PREFIX)} under {name}"
        try:
            figures = program(Stage(self.folder, env, int(cell.argv[1])))
        except (LabError, OSError, subprocess.CalledProcessError) as error:
            full = os.strerror(errno.ENOSPC) in str(error) or shutil.disk_usage(self.folder).free < LEAST_FREE
            kind = Unfit if full or isinstance(error, Unfit) else LabError
            raise kind(f"{what}: {'the disk is full: ' * full}{error}") from None
        processes = measure.check_testimony(what, testimony, name, arm, library)
        return {**figures, "processes": float(processes)}


BESIDE = "beside_cpu_s"  # the reference's CPU time in the same pairs


class SideBySide:
    """Runs a program on an arm and on a reference at once, on half of the processors each, then with the halves swapped.
    So whatever else the machine does meets both.  The figures are the means of the arm's two runs."""

    def __init__(self, takers: tuple[Taker, Taker], name: str, reference: Arm):
        self.takers, self.name, self.reference = takers, name, reference
        processors = sorted(os.sched_getaffinity(0))
        self.halves = [set(processors[::2]), set(processors[1::2])]
        if not all(self.halves):
            raise LabError("side by side: there is one processor only")

    def __call__(self, name: str, arm: Arm, cell: Cell) -> Json:
        def run(taker: Taker, half: set[int], who: tuple[str, Arm]) -> Json:
            os.sched_setaffinity(0, half)  # of this thread, and of the processes that it starts
            return taker(*who, cell)

        both, found = ((name, arm), (self.name, self.reference)), []
        with ThreadPoolExecutor(2) as pool:
            for halves in (self.halves, self.halves[::-1]):
                mine, beside = (pool.submit(run, *of) for of in zip(self.takers, halves, both, strict=True))
                if error := beside.exception():  # which says nothing of the arm
                    raise Unfit(f"beside {name}: {error}")
                found.append((mine.result(), beside.result()))
        mine, others = zip(*found, strict=True)
        figures = {key: (mine[0][key] + mine[1][key]) / 2 for key in mine[0]}
        return {**figures, BESIDE: sum(of["cpu_s"] for of in others) / 2}


@contextmanager
def side_by_side(name: str, reference: Arm, digests: dict[str, str]) -> Iterator[SideBySide]:
    with taker(digests=digests) as one, taker(digests=digests) as other:
        yield SideBySide((one, other), name, reference)


@contextmanager
def taker(programs: dict[str, Program] | None = None, digests: dict[str, str] | None = None) -> Iterator[Taker]:
    """A Taker for the programs above, or for others."""
    with tempfile.TemporaryDirectory(prefix="hz3-") as folder:
        yield Taker(Path(folder).resolve(), programs, digests)
