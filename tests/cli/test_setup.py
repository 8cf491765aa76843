"""tools/setup.sh installs Debian packages for root, and for users who ask it to.  Others get the command that would."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = "sudo apt-get install --no-install-recommends gcc libc6-dev make cmake"


@pytest.fixture
def machine(tmp_path):
    """Runs setup.sh without a compiler or a build tool.  The commands that it ran are in the file `done`."""
    tools, bin, done = tmp_path / "tree/tools", tmp_path / "bin", tmp_path / "done"
    tools.mkdir(parents=True)
    shutil.copy(ROOT / "tools/setup.sh", tools)
    bin.mkdir()
    for name in ("sh", "dirname", "sed", "mkdir", "env", "cat"):
        (bin / name).symlink_to(shutil.which(name))

    def command(name, text):
        assert not (bin / name).is_symlink()  # otherwise this would overwrite the machine's own command
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)

    command("sudo", f'echo "sudo $*" >>{done}; [ "$1" = -v ] || "$@"')
    command("apt-get", f'echo "apt-get $*" >>{done}')
    command("tee", "cat >/dev/null")
    command("chmod", "")
    command("rm", "")
    command("python3", "exit 1")  # the real one would get cmake from the registry, if that can be reached

    def run(user, *words):
        command("id", f"echo {user}")
        result = subprocess.run([tools / "setup.sh", *words], capture_output=True, text=True,
                                env={"PATH": str(bin)}, cwd=tmp_path)
        return result, done.read_text() if done.exists() else ""

    return run


def test_a_user_is_told_the_command_and_nothing_is_asked_of_sudo(machine):
    result, done = machine(1000, "build")
    assert result.returncode == 1 and result.stdout == ""
    assert result.stderr == (f"setup: cannot build without gcc libc6-dev make cmake: {COMMAND} (or: make setup FOR=build)\n")
    assert done == ""


def test_the_demo_names_redis_before_anything_is_built(machine):
    result, _ = machine(1000, "run")
    assert result.returncode == 1
    assert result.stderr == (f"setup: cannot run without gcc libc6-dev make cmake redis-server redis-tools: {COMMAND} "
                             "redis-server redis-tools (or: make setup FOR=run)\n")


def test_a_user_who_asks_for_it_has_them_installed_by_sudo(machine):
    result, done = machine(1000, "--install", "build")
    assert done.startswith("sudo -v\n")
    assert "sudo env DEBIAN_FRONTEND=noninteractive apt-get" in done
    assert [line for line in done.splitlines() if line.startswith("apt-get") and line.endswith(
        " install -y --no-install-recommends gcc libc6-dev make cmake systemtap-sdt-dev valgrind")]
    assert result.returncode == 1 and COMMAND in result.stderr  # this apt-get installs nothing


def test_root_need_not_ask(machine):
    _, done = machine(0, "build")
    assert "sudo" not in done and "install -y --no-install-recommends gcc libc6-dev make cmake systemtap-sdt-dev valgrind" in done


def test_a_purpose_that_there_is_not_is_refused(machine):
    result, done = machine(0, "everything")
    assert result.returncode == 2 and result.stderr.startswith("usage: ") and done == ""


def test_what_pip_says_does_not_go_where_a_verb_s_table_goes(machine, tmp_path):
    for name in ("cp", "cmp"):
        (tmp_path / "bin" / name).symlink_to(shutil.which(name))
    (tmp_path / "tree/lab").mkdir()
    (tmp_path / "tree/lab/requirements.txt").touch()
    (tmp_path / "tree/.venv/bin").mkdir(parents=True)
    for name in ("bin/cc", "bin/make", "bin/cmake", "bin/python3", "tree/.venv/bin/python"):
        (tmp_path / name).unlink(missing_ok=True)
        (tmp_path / name).write_text('#!/bin/sh\ncase "$*" in *" install "*) echo Collecting ;; esac\n')
        (tmp_path / name).chmod(0o755)
    result, _ = machine(1000, "lab")
    assert (result.returncode, result.stdout) == (0, "") and "\nCollecting\n" in result.stderr
