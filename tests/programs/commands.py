"""Programs that end, judged by their peak memory, and runtimes that stay after their work, judged by what they hold."""

import hashlib
import re
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from lab import ROOT, Json, LabError, programs
from lab.stage import PATIENCE, REST, Command, Stage, cost, family, found, quietly, rss_kib, start

SCRIPTS = ROOT / "tests/programs/scripts"
# Python's own tests that allocate in many ways, also in threads and in children.
PYTHON_TESTS = ["test_dict", "test_list", "test_set", "test_json", "test_re", "test_weakref", "test_zlib",
                "test_mmap", "test_bytes", "test_ctypes"]  # fmt: skip


def ended(stage: Stage, command: Command) -> tuple[Json, str]:
    """Runs a command to its end.  Returns its figures and its output."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        child = start(stage, command, stdout=out, stderr=errors)
        figures = cost(stage, command, child)
        out.seek(0)
        return figures, out.read().decode(errors="replace")


def digest(text: str | bytes) -> str:
    return hashlib.sha256(text if isinstance(text, bytes) else text.encode()).hexdigest()


def hashed(stage: Stage, *command: str | Path) -> Json:
    figures, said = ended(stage, command)
    return {**figures, "answer": digest(said)}


def rested(stage: Stage, *command: str | Path) -> Json:
    """Returns the figures of a program that prints one line after its work, and ends when its input does."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=stage.env, cwd=stage.folder, stdin=pipe, stdout=pipe) as process:
        try:
            if not process.stdout or not select.select([process.stdout], [], [], PATIENCE)[0]:
                raise LabError(f"{command[0]} does not answer")
            answer = process.stdout.readline().decode()
            time.sleep(REST)
            after = max(map(rss_kib, family(process.pid)))
            process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    if process.returncode:
        raise LabError(f"{command[0]} ended with status {process.returncode}")
    return {"after_kib": after, "answer": answer.strip()}


def script(name: str, *program: str) -> Callable[[Stage], Json]:
    """Runs a program on a script with an amount of work."""
    return lambda stage: rested(stage, found(program[0]), *program[1:], SCRIPTS / name, str(stage.work))


def java(stage: Stage) -> Json:
    quietly(found("javac"), "-d", stage.folder, SCRIPTS / "Work.java")
    return rested(stage, found("java"), "-Xmx128m", "-XX:+UseSerialGC", "-cp", stage.folder, "Work", str(stage.work))


def go(stage: Stage) -> Json:
    program = stage.path("work-go")
    quietly(found("go"), "build", "-o", program, SCRIPTS / "work.go")
    return rested(stage, program, str(stage.work))


def rocksdb(stage: Stage) -> Json:
    """Two threads write, read, delete and compact keys."""
    shutil.rmtree(stage.path("rocksdb"), ignore_errors=True)
    asked = ["--benchmarks=fillrandom,readrandom,deleteseq,compact,readrandom", "--threads=2", "--seed=1", "--disable_wal",
             "--value_size=200", f"--num={stage.work}", f"--db={stage.path('rocksdb')}"]  # fmt: skip
    figures, said = ended(stage, [found("db_bench"), *asked])
    return {**figures, "answer": " ".join(re.findall(r"\d+ of \d+ found", said))}


def sqlite(stage: Stage) -> Json:
    """Inserts, joins and groups rows.  SQLite buffers its output until it ends, so cksum prints the sum of it."""
    asked = [".output rows", *re.split(r"(?<=;)\s+", programs.tables(stage)), ".output stdout", ".shell cksum rows"]
    return rested(stage, found("sqlite3"), ":memory:", *(word for line in asked for word in ("-cmd", line)))


def python(stage: Stage) -> Json:
    command = ["/usr/bin/python3", "-m", "test", *PYTHON_TESTS]
    figures, said = ended(stage, [found("env"), "PYTHONMALLOC=malloc", *command])
    return {**figures, "answer": " ".join(re.findall(r"^All \d+ tests OK", said, re.M))}


def clang(stage: Stage) -> Json:
    """Builds hz3 with clang, the linker, make and cmake."""
    folder = stage.path("built")
    shutil.rmtree(folder, ignore_errors=True)
    quietly(found("cmake"), "-S", ROOT, "-B", folder, f"-DCMAKE_C_COMPILER={found('clang-19')}", "-DHZ3_TESTS=OFF",
            "-DHZ3_BENCH=OFF")  # fmt: skip
    figures = cost(stage, [found("cmake"), "--build", folder, "--target", "hz3", "-j2"])
    return {**figures, "answer": digest((folder / "libhakozuna_hz3_scale.so").read_bytes())}


def git(stage: Stage) -> Json:
    """Packs a repository anew with four threads, and checks it."""
    origin = stage.once("repository.git", lambda folder: programs.write_repository(folder, stage.work))
    copy = stage.path("copy.git")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(origin, copy)
    command = [found("git"), "-c", "pack.threads=4", "-C", copy, "repack", "-adfq", "--window=50", "--depth=50"]
    figures = cost(stage, command)
    quietly(found("git"), "-C", copy, "fsck", "--full", "--strict")
    return {**figures, "answer": digest(quietly(found("git"), "-C", copy, "rev-list", "--objects", "--all"))}


def ffmpeg(stage: Stage) -> Json:
    """Makes, scales and encodes pictures with four threads."""
    source = f"testsrc2=size=640x360:rate=25:duration={stage.work}"
    coded = ["-threads", "4", "-c:v", "mpeg4", "-flags", "+bitexact", "-f", "framemd5"]
    return hashed(
        stage, found("ffmpeg"), "-v", "error", "-f", "lavfi", "-i", source, "-vf", "scale=1280:720,hqdn3d", *coded, "-"
    )


def imagemagick(stage: Stage) -> Json:
    """Blurs, turns and sharpens a picture, with ImageMagick's own number of threads."""
    changes = ["-blur", "0x3", "-rotate", "30", "-unsharp", "0x2", "-resize", "60%", "-colors", "200", "-depth", "8"]
    source = ["-size", f"{stage.work}x{stage.work}", "gradient:red-blue", "-swirl", "90"]
    return hashed(stage, found("convert"), *source, *changes, "rgb:-")


def ghostscript(stage: Stage) -> Json:
    source = stage.once("pages.ps", lambda file: programs.write_postscript(file, stage.work))
    return hashed(
        stage, found("gs"), "-q", "-dBATCH", "-dNOPAUSE", "-dSAFER", "-sDEVICE=ppmraw", "-sOutputFile=-", source
    )


def stress_ng(stage: Stage) -> Json:
    """Runs the malloc stressors with threads.  They verify what they wrote."""
    asked = ["--malloc", "2", "--malloc-pthreads", "2", "--malloc-bytes", "64k", "--malloc-max", "20000"]
    asked += ["--malloc-touch", "--malloc-zerofree"]
    counts = stage.path("stress-ng.yaml")
    asked += ["--malloc-ops", str(stage.work), "--verify", "--seed", "1", "--timeout", "60", "--metrics", "--yaml", str(counts)]
    figures = cost(stage, [found("stress-ng"), *asked])
    return {**figures, "answer": " ".join(re.findall(r"bogo-ops: \d+", counts.read_text()))}
