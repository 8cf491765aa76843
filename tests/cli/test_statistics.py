"""Statistics at exit of several processes can be told apart, by the head of each line or by a file for each process."""

import os
import re
import resource
import subprocess
import sys

from lab import ROOT

HEAD = re.compile(r"hz3: \[(\d+) ([^\]]*?)(?:, child of (\d+))?\] ")
FORKS = "import os; p = os.fork(); p and os.waitpid(p, 0)"


def run(preload, argv, stats, cwd=None, **options):
    env = {**preload.env, "HZ3_STATS": str(stats), **options}
    return subprocess.run(argv, env=env, cwd=cwd, capture_output=True, text=True, timeout=60)


def heads(text):
    """(pid, name, parent) of each line, in order."""
    found = [HEAD.match(line) for line in text.splitlines()]
    assert all(found), text
    return [(int(m[1]), m[2], m[3] and int(m[3])) for m in found]


def test_each_line_names_process_and_program_and_a_child_its_parent(preload):
    done = run(preload, [sys.executable, "-c", FORKS], 1)
    of = heads(done.stderr)
    assert done.returncode == 0 and len(of) == 6
    child, parent = of[:3], of[3:]
    assert len(set(child)) == len(set(parent)) == 1
    name = os.path.basename(sys.executable)
    assert parent[0] == (parent[0][0], name, None)
    assert child[0] == (child[0][0], name, parent[0][0])


def test_a_file_for_each_process_that_exits(preload, tmp_path):
    moves = f"import os; os.chdir('/'); {FORKS}; os._exit(0) if p and os.fork() == 0 else None"
    done = run(preload, [sys.executable, "-c", moves], "of-%p.txt", cwd=tmp_path)
    files = {int(re.fullmatch(r"of-(\d+)\.txt", f.name)[1]): f for f in tmp_path.iterdir()}
    assert (done.returncode, done.stderr, len(files)) == (0, "", 2)
    for pid, file in files.items():
        assert {head[0] for head in heads(file.read_text())} == {pid}


def test_only_what_is_named_stands_for_the_process(preload, tmp_path):
    folder = tmp_path / "100%p"
    folder.mkdir()
    assert run(preload, ["/bin/true"], "./of.txt", cwd=folder).returncode == 0
    assert len(heads((folder / "of.txt").read_text())) == 3


def test_the_flags_of_the_build_are_for_those_who_ask(preload):
    brief, verbose = (run(preload, ["/bin/true"], 1, HZ3_VERBOSE=asked).stderr for asked in "01")
    assert "config" not in brief
    (line,) = (line for line in verbose.splitlines() if "hz3-config: " in line)
    assert "] hz3-config: version=" in line and f" lane={preload.lane} HZ3_" in line


def test_processes_share_a_file_without_mixing_lines(preload, tmp_path):
    shared = tmp_path / "all.txt"
    script = "for i in 1 2 3 4 5 6 7 8; do /bin/true & done; wait"  # a shell ends without exit
    assert run(preload, ["/bin/sh", "-c", script], shared).returncode == 0
    of = heads(shared.read_text())
    assert len(of) == 8 * 3
    assert all(len(set(of[i : i + 3])) == 1 for i in range(0, len(of), 3))


def test_a_file_that_cannot_be_written_is_named_once_and_stops_nothing(preload, tmp_path):
    done = run(preload, ["/bin/echo", "there"], tmp_path / "none" / "x")
    assert (done.returncode, done.stdout) == (0, "there\n")
    assert done.stderr == f"hz3: warning: cannot write statistics to {tmp_path}/none/x: No such file or directory\n"


def test_a_folder_is_no_file(preload, tmp_path):
    done = run(preload, ["/bin/true"], tmp_path)
    assert done.stderr == f"hz3: warning: cannot write statistics to {tmp_path}: Is a directory\n"


def test_a_word_is_no_file(preload, tmp_path):
    done = run(preload, ["/bin/true"], "yes", cwd=tmp_path)
    takes = "0, 1, explain, a file's name with a / . or % in it, or explain: before that"
    assert done.stderr == f"hz3: warning: bad value for HZ3_STATS: yes (it takes {takes})\n"
    assert not list(tmp_path.iterdir())


def test_a_snapshot_for_hz3_explain_lies_beside_the_file_or_where_the_program_started(preload, tmp_path):
    assert re.search(rf"] hz3 explain {tmp_path}/hz3\.\d+\.memory says where the resident memory is\n",
                     run(preload, ["/bin/true"], "explain", cwd=tmp_path).stderr)
    (one,) = tmp_path.iterdir()
    assert "  sum\n" in explained(one) + "\n" and one.stat().st_mode & 0o777 == 0o600
    one.unlink()
    done = run(preload, [sys.executable, "-c", FORKS], "explain:of-%p.txt", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for file in tmp_path.glob("*.txt"):
        pid = int(re.fullmatch(r"of-(\d+)\.txt", file.name)[1])
        assert {head[0] for head in heads(file.read_text())} == {pid}
        assert f"] hz3 explain {file}.memory says where the resident memory is\n" in file.read_text()
        assert f" ({pid}): where " in explained(f"{file}.memory")
    assert len(list(tmp_path.iterdir())) == 4


def explained(snapshot):
    return subprocess.run([ROOT / "bin/hz3", "explain", snapshot], check=True, capture_output=True, text=True).stdout


def test_a_snapshot_that_cannot_be_written_is_named(preload, tmp_path):
    done = run(preload, ["/bin/true"], f"explain:{tmp_path}/./x", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "x.memory").unlink()
    (tmp_path / "x.memory").mkdir()
    done = run(preload, ["/bin/true"], f"explain:{tmp_path}/./x", cwd=tmp_path)
    assert done.returncode == 0 and done.stderr.startswith("hz3: warning: cannot write the snapshot for hz3 explain to ")
    assert "] where the resident memory is cannot be told\n" in (tmp_path / "x").read_text()


def test_a_program_s_name_cannot_write_on_the_terminal(preload, tmp_path):
    wild = tmp_path / "a\x1b[31m]b"
    os.symlink("/bin/true", wild)
    assert {head[1] for head in heads(run(preload, [str(wild)], 1).stderr)} == {"a?[31m?b"}


def at_a_limit():
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512))


def test_a_limit_on_files_ends_no_program(preload, tmp_path):
    full = tmp_path / "full.txt"
    for stats, error in ((str(full), subprocess.PIPE), ("1", full.open("wb"))):
        full.write_bytes(bytes(512))
        options = {"env": {**preload.env, "HZ3_STATS": stats}, "stdout": subprocess.PIPE, "preexec_fn": at_a_limit}
        done = subprocess.run(["/bin/echo", "there"], stderr=error, text=True, **options)
        assert (done.returncode, done.stdout, full.stat().st_size) == (0, "there\n", 512)
        said = f"hz3: warning: cannot write statistics to {full}: File too large\n"
        assert done.stderr == (said if error == subprocess.PIPE else None)


PIPES = """
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
int main(int count, char **arguments)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    if (count > 1) sigprocmask(SIG_BLOCK, &set, NULL);
    if (count > 2) raise(SIGPIPE);
    malloc_stats();
    sigpending(&set);
    printf("%d", sigismember(&set, SIGPIPE));
}
"""


def test_who_reads_no_more_ends_no_program_and_no_signal_is_lost_or_left(preload, tmp_path):
    (tmp_path / "p.c").write_text(PIPES)
    subprocess.run(["cc", tmp_path / "p.c", "-o", tmp_path / "p"], check=True)
    for arguments, waits in (([], "0"), (["block"], "0"), (["block", "raise"], "1")):
        reader, writer = os.pipe()
        os.close(reader)
        options = {"env": {**preload.env, "HZ3_STATS": "1"}, "stdout": subprocess.PIPE, "stderr": writer, "text": True}
        done = subprocess.run([tmp_path / "p", *arguments], **options)
        os.close(writer)
        assert (done.returncode, done.stdout) == (0, waits)
