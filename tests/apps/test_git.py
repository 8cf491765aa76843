import subprocess

import pytest
from host import require

COMMITS = 400


def history():
    """A stream for fast-import: files of many sizes over many commits, with a branch merged back."""
    for n in range(1, COMMITS + 1):
        yield f"commit refs/heads/main\nmark :{n}\n"
        yield f"committer T <t@example.org> {1700000000 + n} +0000\ndata 5\nn{n:04}\n"
        yield f"merge :{n // 2}\n" if n % 10 == 0 else ""
        for path in (f"dir{n % 20}/file{n % 50}.c", f"big{n % 5}.txt"):
            body = "".join(f"line {i * n % 1009} of {path}\n" for i in range(n * 37 % 900 + 1))
            yield f"M 644 inline {path}\ndata {len(body)}\n{body}\n"
    yield "done\n"


@pytest.fixture(scope="module")
def git(host):
    program = require("git", "git")
    host.env |= {"GIT_CONFIG_NOSYSTEM": "1", "HOME": str(host.folder), "GIT_CONFIG_GLOBAL": "/dev/null"}
    return lambda *args: host.run(program, "-c", "pack.threads=2", "-c", "gc.autoDetach=false", *args)


def test_import_clone_gc_fsck(host, git):
    git("init", "-q", "--bare", "-b", "main", "origin.git")
    importer = ["git", "-C", "origin.git", "fast-import", "--quiet", "--done"]
    with subprocess.Popen(importer, env=host.env, cwd=host.folder, stdin=subprocess.PIPE) as importing:
        host.assert_on_hz3(importing.pid)
        for part in history():
            importing.stdin.write(part.encode())
    assert importing.returncode == 0

    git("clone", "-q", f"file://{host.folder}/origin.git", "clone")
    git("-C", "clone", "gc", "-q", "--aggressive", "--prune=now")
    assert git("-C", "clone", "fsck", "--full", "--strict", "--no-dangling") == b""
    assert git("-C", "clone", "rev-list", "--count", "HEAD") == b"%d\n" % COMMITS
    assert git("-C", "clone", "status", "--porcelain") == b""

    plain = ["git", "-C", "origin.git", "log", "--raw", "--numstat", "--no-abbrev", "main"]
    expected = subprocess.run(plain, env=host.plain_env(), cwd=host.folder, check=True, capture_output=True).stdout
    assert git("-C", "clone", "log", "--raw", "--numstat", "--no-abbrev", "main") == expected
