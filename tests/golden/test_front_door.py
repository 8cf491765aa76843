"""What newcomers see first: the same version everywhere, valid forms and workflows, and commands that exist."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from cmake import configure, make
from lab import ROOT

SCHEMAS = {
    "vendor.github-workflows": ROOT.glob(".github/workflows/*.yml"),
    "vendor.github-issue-forms": (file for file in ROOT.glob(".github/ISSUE_TEMPLATE/*.yml") if file.stem != "config"),
    "vendor.github-issue-config": ROOT.glob(".github/ISSUE_TEMPLATE/config.yml"),
}
FORMS = [(schema, file) for schema, files in SCHEMAS.items() for file in files]


def text(path):
    return (ROOT / path).read_text()


def version():
    numbers = re.findall(r"^#define HZ3_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", text("include/hz3.h"), re.M)
    assert [name for name, _ in numbers] == ["MAJOR", "MINOR", "PATCH"]
    return ".".join(number for _, number in numbers)


@pytest.mark.parametrize("file, form", [
    ("CHANGELOG.md", r"^## (\d+\.\d+\.\d+) \(\d{4}-\d\d-\d\d\)$"),
    ("debian/changelog", r"^hz3 \((.*)\) "),
    ("packaging/rust/Cargo.toml", r'^version = "(.*)"$'),
    ("packaging/vcpkg/hz3/vcpkg.json", r'^  "version": "(.*)",$'),
    ("packaging/conda/meta.yaml", r'^{% set version = "(.*)" %}$'),
    ("packaging/rust/Cargo.lock", r'^name = "hz3"\nversion = "(.*)"$'),
])
def test_the_version_is_the_same_where_it_has_to_be_repeated(file, form):
    assert re.search(form, text(file), re.M)[1] == version()


def test_what_can_read_the_version_reads_it(tmp_path):
    assert configure(ROOT, tmp_path).returncode == 0
    assert f"CMAKE_PROJECT_VERSION:STATIC={version()}\n" in (tmp_path / "CMakeCache.txt").read_text()
    assert f'#define HZ3_VERSION_TEXT "{version()}"\n' in (tmp_path / "generated/hz3_flags.h").read_text()
    pattern = re.search(r"^regex = '(.*)'$", text("packaging/python/pyproject.toml"), re.M)[1]
    assert ".".join(re.search(pattern, text("include/hz3.h")).group("major", "minor", "patch")) == version()


@pytest.mark.parametrize("schema, file", FORMS, ids=[file.name for _, file in FORMS])
def test_forms_are_as_github_wants_them(schema, file):
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_a_form_that_is_not_is_refused(tmp_path):
    bad = tmp_path / "bad.yml"
    bad.write_text(text(".github/workflows/test.yml").replace("runs-on", "runs_on"))
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", bad],
                          capture_output=True)
    assert done.returncode == 1


def test_workflows_run_what_contributors_are_told_to_run():
    told, makefile = text("CONTRIBUTING.md"), text("Makefile")
    steps = [step["run"] for file in ROOT.glob(".github/workflows/*.yml") for job in YAML().load(file)["jobs"].values()
             for step in job["steps"] if "run" in step]
    ours = [step for step in steps if not step.startswith("apt-get ")]
    assert len(ours) >= 5
    for step in ours:
        assert step == ".ci/run" or step.startswith("make ")
        assert " ".join(step.split()[:2]) in told
        assert step == ".ci/run" or re.search(rf"^\.PHONY:.* {step.split()[1]}\b", makefile, re.M)


def test_every_command_that_contributors_are_told_is_a_target():
    targets = set(re.findall(r"(?:^    |`)make ([a-z]\w*)", text("CONTRIBUTING.md"), re.M))
    assert {"check", "test", "setup", "test_packages"} <= targets
    for target in targets:
        done = subprocess.run(["make", "--dry-run", target], cwd=ROOT, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_a_program_that_is_not_there_is_told_before_anything_is_built():
    done = make("run", "APP=no-such-program --version")
    assert done.returncode == 2 and done.stdout == ""
    assert done.stderr.startswith("hz3: 'no-such-program' was not found\n")


def test_hooks_are_tools_that_setup_brings():
    (local,) = YAML().load(ROOT / ".pre-commit-config.yaml")["repos"]  # so that nothing is downloaded
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        assert hook["language"] == "system" and re.compile(hook.get("files", "")) and re.compile(hook.get("exclude", ""))
        tool = hook["entry"].split()[0]
        if tool.startswith(".venv/"):
            assert f"\n{Path(tool).name}==" in text("tests/requirements.txt") + "".join(
                file.read_text() for file in ROOT.glob("lab/requirements.txt"))
        else:
            assert (ROOT / tool).exists() or f" {tool} " in text("tools/setup.sh")


@pytest.mark.parametrize("message, complaint", [
    ("Return memory at once\n\nIt was kept for no reason.\n", ""),
    ("Return memory at once\n\nIt was kept for no reason.\n# On branch main\n", ""),
    ("x" * 72 + "\n\nWhy.\n", ""),
    ("x" * 73 + "\n\nWhy.\n", "commit: the subject has 73 characters; 72 are allowed\n"),
    ("Return memory at once\n", "commit: no body that says why\n"),
    ("Return memory at once\n\n# On branch main\n", "commit: no body that says why\n"),
    ("Return memory\nat once\n\nWhy.\n", "commit: no empty line after the subject\n"),
])
def test_messages_of_commits(tmp_path, message, complaint):
    file = tmp_path / "message"
    file.write_text(message)
    done = subprocess.run([ROOT / "tools/commit-message.sh", file], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1 if complaint else 0, complaint)


BUILDS_THE_DEB = "build-essential debhelper cmake dh-python pkgconf python3 systemtap-sdt-dev valgrind"


@pytest.mark.parametrize("kind, lacking, packages", [
    ("deb", f"{BUILDS_THE_DEB} git", f"{BUILDS_THE_DEB} git"),
    ("crate", "cargo cmake make cc git", "cargo-web cmake make gcc git"),
    ("wheel", "python3-venv cc", "python3-venv gcc"),
])
def test_a_packaging_step_names_all_packages_that_it_lacks(tmp_path, kind, lacking, packages):
    for name in ("sh", "dirname", "sed"):
        (tmp_path / name).symlink_to(shutil.which(name))
    done = subprocess.run([ROOT / "packaging/build.sh", kind], capture_output=True, text=True, env={"PATH": str(tmp_path)})
    assert done.returncode == 1
    assert done.stderr == f"packaging: cannot make the {kind} without {lacking}: apt-get install {packages}\n"


def test_a_packaging_step_names_no_package_that_is_installed(tmp_path):
    for name in ("sh", "dirname", "sed", "git"):
        (tmp_path / name).symlink_to(shutil.which(name))
    (tmp_path / "dpkg-query").write_text('#!/bin/sh\n[ "$4" = cmake ] || printf installed\n')
    (tmp_path / "dpkg-query").chmod(0o755)
    done = subprocess.run([ROOT / "packaging/build.sh", "deb"], capture_output=True, text=True, env={"PATH": str(tmp_path)})
    assert done.stderr == "packaging: cannot make the deb without cmake: apt-get install cmake\n"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has folders of other users")
def test_a_checkout_of_another_user_is_packed(tmp_path):
    """As in a container, of which root is the user."""
    tree, bin = tmp_path / "tree", tmp_path / "bin"
    for folder in (tree / "packaging", tree / "debian", bin):
        folder.mkdir(parents=True)
    shutil.copy(ROOT / "packaging/build.sh", tree / "packaging")
    (tree / "debian/control").write_text("Build-Depends: git\n")
    for name, text in (("dpkg-query", "printf installed"), ("dpkg-buildpackage", "cat debian/control")):
        (bin / name).write_text(f"#!/bin/sh\n{text}\n")
        (bin / name).chmod(0o755)
    subprocess.run(["git", "init", "-q", tree], check=True)
    subprocess.run(["chown", "-R", "65534", tree], check=True)
    env = {"PATH": f"{bin}:{os.environ['PATH']}", "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run([tree / "packaging/build.sh", "deb"], capture_output=True, text=True, env=env)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Build-Depends: git\n", "")


@pytest.mark.parametrize("words", [[], ["rpm"]])
def test_a_kind_of_package_that_there_is_not_is_refused(words):
    done = subprocess.run([ROOT / "packaging/build.sh", *words], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("usage: ") and done.stderr.endswith("deb|crate|wheel\n") and done.stderr.count("\n") == 1
