"""bin/hz3, in a tree of its own with a stub as library, and once with each real lane."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import identity
import pytest

ROOT = Path(__file__).resolve().parents[2]
SHOW_PRELOAD = 'printf %s "$LD_PRELOAD"'
STAND_IN = """
#include <stddef.h>
const char config[] __attribute__((used)) = "hz3-config: version=9.8.7 lane=stand-in HZ3_X=1";
void *__libc_malloc(size_t);
void *malloc(size_t size) { return __libc_malloc(size); }
"""


def compile_c(source, target, *options):
    subprocess.run(["cc", "-x", "c", "-", "-o", target, *options], input=source, text=True, check=True)
    return target


@pytest.fixture(scope="session")
def stand_in(tmp_path_factory):
    return compile_c(STAND_IN, tmp_path_factory.mktemp("stand_in") / "stand_in.so", "-shared", "-fPIC")


class Tree:
    def __init__(self, root, stand_in):
        self.root, self.stand_in = root, stand_in
        (root / "bin").mkdir(parents=True)
        self.hz3 = shutil.copy(ROOT / "bin/hz3", root / "bin/hz3")

    def library(self, lane, folder="."):
        (self.root / folder).mkdir(parents=True, exist_ok=True)
        return shutil.copy(self.stand_in, self.root.joinpath(folder) / f"libhakozuna_hz3_{lane}.so")

    def __call__(self, *args, **options):
        return subprocess.run([self.hz3, *args], capture_output=True, text=True, **options)


@pytest.fixture
def tree(tmp_path, stand_in):
    """A tree that looks like a clone in which two lanes were built."""
    tree = Tree(tmp_path / "clone", stand_in)
    tree.scale, tree.fast = tree.library("scale"), tree.library("fast")
    return tree


def refused(result, status, *words):
    assert result.returncode == status
    assert result.stdout == ""
    assert result.stderr.startswith("hz3: ") and result.stderr.count("\n") == 1
    for word in words:
        assert str(word) in result.stderr


@pytest.mark.parametrize("options, lane", [([], "scale"), (["--lane", "fast"], "fast"), (["--lane=fast"], "fast")])
def test_runs_on_the_lane(tree, options, lane):
    result = tree("run", *options, "--", "cat", "/proc/self/maps")
    assert result.returncode == 0
    assert str(getattr(tree, lane)) in result.stdout
    assert result.stderr == ""


def test_runs_where_the_loader_is_told_to_write_its_trace_elsewhere(tree, tmp_path):
    result = tree("run", "true", env={**os.environ, "LD_DEBUG_OUTPUT": str(tmp_path / "trace")})
    assert (result.returncode, result.stderr) == (0, "")


def test_runs_on_the_real_lane(preload):
    waits = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    command = [ROOT / "bin/hz3", "run", "--lane", preload.lane, "--stats", "--", *waits]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert f" lane={preload.lane} " in identity.config_of(process.pid)
        _, said = process.communicate()
    assert process.returncode == 0
    assert said.startswith(f"hz3: [{process.pid} ".encode()) and b"] stats" in said.splitlines()[0]


@pytest.mark.skipif(not shutil.which("redis-benchmark"), reason="redis-tools is not installed")
@pytest.mark.skipif(not shutil.which("redis-server"), reason="redis-server is not installed")
def test_the_demo_ends_with_what_hz3_did_for_its_server(preload):
    command = [ROOT / "bin/hz3", "run", "--lane", preload.lane, "--stats", "--", ROOT / "tools/demo-redis.sh"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert sum(" requests per second" in line for line in lines) == 5
    assert [line for line in lines if " redis-server] this process ran on" in line] == lines[-1:]
    live_kib = int(lines[-1].split("): ")[1].split(" KiB live")[0])
    assert live_kib > 0.9 * 20000 * 512 / 1024, "nearly each of 20000 keys has a value of 512 bytes"


def test_the_demo_says_what_is_missing(tmp_path):
    command, env = ["/bin/sh", ROOT / "tools/demo-redis.sh"], {"PATH": str(tmp_path)}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 127 and done.stdout == ""
    assert "redis-server" in done.stderr and "apt-get install" in done.stderr


def test_the_demo_says_why_its_server_does_not_start(tmp_path):
    for name in ("redis-server", "redis-cli", "redis-benchmark"):
        (tmp_path / name).write_text("#!/bin/sh\necho no socket here\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    done = subprocess.run(["/bin/sh", ROOT / "tools/demo-redis.sh"], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "no socket here\ndemo: redis-server ended before it answered\n"


def test_preload_is_appended(tree, tmp_path):
    other = compile_c("int other;", tmp_path / "other.so", "-shared", "-fPIC")
    env = {**os.environ, "LD_PRELOAD": str(other)}
    assert tree("run", "--", "sh", "-c", SHOW_PRELOAD, env=env).stdout == f"{other}:{tree.scale}"


MALLOCX = """
#include <malloc.h>
#include <stdlib.h>
void *mallocx(size_t, int);
int main(void) { free(malloc(9)); void *p = mallocx(100, 0); int fits = malloc_usable_size(p) >= 100; free(p); return !fits; }
"""


def test_a_program_that_calls_jemalloc_s_own_functions_has_their_memory_freed_there(preload, tmp_path):
    """As Redis 8 does on Debian 13."""
    known = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True).stdout
    jemalloc = re.search(r"libjemalloc\.so\.2 .*=> (.*)", known)
    if not jemalloc:
        pytest.skip("needs Debian's libjemalloc2")
    program = compile_c(MALLOCX, tmp_path / "program", "-fno-builtin", "-l:libjemalloc.so.2")
    command = [ROOT / "bin/hz3", "run", "--lane", preload.lane, "--", program]
    env = {name: value for name, value in os.environ.items() if name != "HZ3_FOREIGN_FREE"}
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0
    assert done.stderr == (f"hz3: '{program}' calls mallocx of {jemalloc[1]}, too: "
                           "with HZ3_FOREIGN_FREE=libc that library frees its own\n")
    done = subprocess.run(command, env=env | {"HZ3_FOREIGN_FREE": "abort"}, capture_output=True, text=True)
    assert done.returncode == -signal.SIGABRT and "foreign pointer" in done.stderr
    linked = compile_c("int main(void) { return 0; }", tmp_path / "other", "-Wl,--no-as-needed", "-l:libjemalloc.so.2")
    done = subprocess.run([*command[:-1], linked], env=env, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    for of, lines in (program, 1), (linked, 0):
        told = subprocess.run([ROOT / "bin/hz3", "doctor", of], capture_output=True, text=True).stdout
        assert told.count(f"look  {of} calls jemalloc's own mallocx, too: HZ3_FOREIGN_FREE=libc, ") == lines


def test_arguments_arrive_as_given(tree):
    words = ["a b", "", "*", "--lane", "--", "$HOME", "new\nline", "'"]
    result = tree("run", "--", sys.executable, "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *words)
    assert json.loads(result.stdout) == words


@pytest.mark.parametrize("status", [0, 1, 77, 255])
def test_exit_status_passes_through(tree, status):
    assert tree("run", "--", "sh", "-c", f"exit {status}").returncode == status


def test_signals_pass_through(tree):
    with subprocess.Popen([tree.hz3, "run", "--", "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as cat:
        cat.stdin.write(b"up\n")
        cat.stdin.flush()
        assert cat.stdout.readline() == b"up\n"
        cat.send_signal(signal.SIGTERM)
        assert cat.wait(timeout=20) == -signal.SIGTERM


@pytest.mark.parametrize("options, value", [([], "unset"), (["--stats"], "1"), (["--stats=0"], "0"),
    (["--stats=explain"], "explain"), (["--stats=name"], "./name"), (["--stats=explain:name"], "explain:./name"),
    (["--stats=a.b"], "a.b")])
def test_stats(tree, options, value):
    env = {name: text for name, text in os.environ.items() if name != "HZ3_STATS"}
    assert tree("run", *options, "sh", "-c", "echo ${HZ3_STATS-unset}", env=env).stdout == f"{value}\n"


def test_a_script_runs(tree, tmp_path):
    script = tmp_path / "script"
    script.write_text(f"#! /usr/bin/env sh\n{SHOW_PRELOAD}\n")
    script.chmod(0o755)
    assert tree("run", script).stdout == str(tree.scale)
    assert tree("run", "script", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}).returncode == 0


@pytest.mark.parametrize("program, status", [("no-such", 127), ("./no/such", 127), ("/", 126), ("/etc/passwd", 126)])
def test_program_that_cannot_run(tree, program, status):
    refused(tree("run", "--", program), status, f"'{program}'")


@pytest.mark.parametrize("args", [["run"], ["run", "--stats", "--"], ["run", "--lane"], ["run", "--what", "true"]])
def test_misuse_of_run(tree, args):
    refused(tree(*args), 125)


@pytest.mark.parametrize("args", [["run", "--lane"], ["run", "--profile"], ["record", "-o"]], ids=" ".join)
def test_an_option_without_its_value_does_not_take_the_next_word(tree, tmp_path, args):
    refused(tree(*args, "--", "true", cwd=tmp_path), 125, f"hz3: {args[1]}: which")


def test_missing_lane(tree):
    refused(tree("run", "--lane", "slow", "--", "true"), 125, "'slow'", "libhakozuna_hz3_slow.so")
    refused(tree("version", "--lane", "slow"), 2, "'slow'")


@pytest.mark.parametrize("link", ["-static", "-static-pie"])
def test_static_program_is_refused_before_it_runs(tree, tmp_path, link):
    program = compile_c("#include <stdio.h>\nint main(void) { return puts(\"ran\") < 0; }", tmp_path / "program", link)
    assert subprocess.run([program], capture_output=True).stdout == b"ran\n"
    refused(tree("run", "--", program), 125, program, "not dynamically linked")


def test_program_that_takes_the_address_of_malloc(tree, tmp_path):
    source = "#include <stdlib.h>\nvoid *(*volatile get)(size_t) = malloc;\nint main(void) { return !get(9); }"
    program = compile_c(source, tmp_path / "program", "-no-pie", "-fno-pie")
    assert tree("run", "--", program).returncode == 0


def test_program_with_its_own_malloc_is_refused(tree, tmp_path):
    own = "void *__libc_malloc(unsigned long);\nvoid *malloc(unsigned long n) { return __libc_malloc(n); }\n"
    program = compile_c(own + "int main(void) { return 0; }", tmp_path / "program", "-rdynamic", "-fno-builtin")
    refused(tree("run", "--", program), 125, f"malloc from {program}")


def test_another_malloc_in_front_is_refused(tree, stand_in):
    refused(tree("run", "--", "true", env={**os.environ, "LD_PRELOAD": str(stand_in)}), 125, f"malloc from {stand_in}")


def test_library_that_cannot_be_loaded_is_refused(tree):
    tree.scale.write_bytes(b"not a library")
    refused(tree("run", "--", "true"), 125, "libc.so")


def test_library_under_a_path_with_a_space_is_refused(tmp_path, stand_in):
    tree = Tree(tmp_path / "a clone", stand_in)
    refused(tree("run", "--", "true"), 125, "not here")
    tree.library("scale")
    refused(tree("run", "--", "true"), 125, "space")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a program of another user's set-id")
@pytest.mark.parametrize("mode", [0o4755, 0o2755])
def test_set_id_program_is_refused(tree, tmp_path, mode):
    program = shutil.copy(shutil.which("true"), tmp_path / "program")
    os.chown(program, 65534, 65534)
    program.chmod(mode)
    refused(tree("run", "--", program), 125, program, "gains rights")
    program.chmod(0o755)
    assert tree("run", "--", program).returncode == 0


@pytest.mark.skipif(not (os.geteuid() or shutil.which("setpriv")), reason="root needs util-linux's setpriv")
def test_a_program_that_cannot_be_read_is_refused(tree, tmp_path):
    program = shutil.copy(shutil.which("true"), tmp_path / "program")
    program.chmod(0o111)
    as_others = [] if os.geteuid() else ["setpriv", "--bounding-set=-all"]  # root's rights read all files
    command = [*as_others, tree.hz3, "run", "--", program]
    refused(subprocess.run(command, capture_output=True, text=True), 125, f"'{program}' is not there or cannot be read")
    (script := tmp_path / "script").write_text("#!/no/such\n")
    script.chmod(0o755)
    refused(tree("run", "--", script), 125, "'/no/such' is not there or cannot be read")


@pytest.fixture
def installed(tmp_path, stand_in):
    return Tree(tmp_path / "prefix", stand_in)


@pytest.mark.parametrize("folder", ["lib", "lib64", "lib/x86_64-linux-gnu"])
def test_installed_library(installed, folder):
    library = installed.library("scale", folder)
    assert installed("run", "--", "sh", "-c", SHOW_PRELOAD).stdout == str(library)


def test_the_library_of_this_processor_is_taken(installed):
    other = installed.library("scale", "lib/aarch64-linux-gnu")
    library = installed.library("scale", "lib/x86_64-linux-gnu")
    with open(other, "r+b") as file:
        file.seek(18)  # e_machine
        file.write(b"\xff\xff")
    assert installed("run", "--", "sh", "-c", SHOW_PRELOAD).stdout == str(library)


def test_a_preloaded_library_that_begins_like_the_loader(tree, tmp_path):
    other = compile_c("int nothing;", tmp_path / "ldpatch.so", "-shared", "-fPIC")
    result = tree("run", "--", "true", env={**os.environ, "LD_PRELOAD": str(other)})
    assert (result.returncode, result.stderr) == (0, "")


def test_found_through_a_link(tree, tmp_path):
    link = tmp_path / "hz3"
    link.symlink_to(tree.hz3)
    assert subprocess.run([link, "run", "--", "true"]).returncode == 0


@pytest.mark.parametrize("verb", ["flags", "options"])
def test_texts(tree, installed, verb):
    refused(tree(verb), 2, f"{verb}.txt")
    for where, folder in ((tree, "build"), (installed, "share/hz3")):
        for lane in ("scale", "fast"):
            (where.root / folder / lane).mkdir(parents=True, exist_ok=True)
            (where.root / folder / lane / f"{verb}.txt").write_text(f"{verb} of {lane}\n")
        assert where(verb).stdout == f"{verb} of scale\n"
        assert where(verb, "--lane", "fast").stdout == f"{verb} of fast\n"
        refused(where(verb, "--lane", "slow"), 2, "'slow'")
    refused(tree(verb, "--stats"), 2, "--stats")
    refused(tree(verb, "more"), 2, "more")


def test_version(tree):
    assert tree("version").stdout == tree("version", "--lane=fast").stdout == tree("--version").stdout == "hz3 9.8.7\n"


def test_help(tree):
    shown = tree("help")
    assert shown.returncode == 0 and shown.stderr == ""
    assert shown.stdout == tree("--help").stdout == tree("run", "--help").stdout == tree().stderr
    assert tree().returncode == 2
    for verb in ("run", "flags", "options", "version"):
        assert f"\n  {verb} " in shown.stdout
    usage = subprocess.run([ROOT / "bin/hz3", "help"], capture_output=True, text=True).stdout
    for beside in ROOT.glob("bin/hz3-*"):
        assert re.search(rf"^  {beside.name[4:]} +\w+ .*\w$", usage, re.M), "a line with its meaning"
    columns = {len(before) for before in re.findall(r"^(  [a-z]+ +| {5,})\w", usage, re.M)}
    assert columns == {15} and max(map(len, usage.splitlines())) <= 100
    with open("/dev/full", "w") as full:
        lost = subprocess.run([tree.hz3, "help"], stdout=full, stderr=subprocess.PIPE, text=True)
    assert lost.returncode == 1 and lost.stderr.count("\n") == 1


def test_verbs_beside(tree):
    refused(tree("frobnicate"), 2, "'frobnicate'")
    beside = tree.root / "bin/hz3-frobnicate"
    beside.write_text('#!/bin/sh\necho "$# $1"\nexit 5\n')
    beside.chmod(0o755)
    result = tree("frobnicate", "a b", "--lane")
    assert (result.returncode, result.stdout) == (5, "2 a b\n")
    assert "frobnicate" in tree("help").stdout


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_shellcheck():
    names = "bin/hz3 */verb.sh tools/*.sh packaging/**/*.sh tests/fuzz/*.sh tests/vm/init tests/vm/redis .ci/run"
    scripts = [file for name in names.split() for file in ROOT.glob(name)]
    checked = subprocess.run(["shellcheck", "-s", "sh", *scripts], capture_output=True, text=True)
    assert checked.returncode == 0, checked.stdout
