"""The recipes for other packagers.  Conan's makes its package here.  Of the others what they run is run: vcpkg's port by
functions of the same names, conda's script with its variables; nix evaluates its expression."""

import json
import os
import re
import subprocess
import sys

import pytest
from ruamel.yaml import YAML
from test_packages import VERSION, need, run

from lab import ROOT

CONAN = "2.34.0"
RECIPES = ROOT / "packaging"
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def conan(tmp_path_factory):
    """Runs Conan, which is not installed where the tests' packages are."""
    folder = tmp_path_factory.mktemp("conan")
    env = {**os.environ, "CONAN_HOME": str(folder / "home")}
    run(sys.executable, "-m", "venv", folder / "venv")
    run(folder / "venv/bin/pip", "install", "--quiet", "--disable-pip-version-check", f"conan=={CONAN}")
    run(folder / "venv/bin/conan", "profile", "detect", env=env)
    layout = f"tools.cmake.cmake_layout:test_folder={folder / 'test'}"
    return lambda *words: run(folder / "venv/bin/conan", *words, "-c", layout, env=env)


@pytest.mark.parametrize("lane, shared", [("scale", True), ("fast", False)])
def test_conan_makes_a_package_that_serves(conan, lane, shared):
    said = conan("create", RECIPES / "conan", "-o", f"hz3/*:lane={lane}", "-o", f"hz3/*:shared={shared}")
    assert f"hz3-config: version={VERSION} lane={lane} " in said


def test_the_port_of_vcpkg_installs_what_programs_need(tmp_path):
    run("cmake", f"-DPORT={RECIPES / 'vcpkg/hz3'}", f"-DWORK={tmp_path}", "-P", ROOT / "tests/packages/vcpkg.cmake")
    root = tmp_path / "packages"
    assert {path.name for path in (root / "include").iterdir()} == {"hz3.h", "hz3.hpp"}
    assert (root / "lib/libhz3.so").exists() and (root / "lib/libhz3.a").exists()
    assert (root / "debug/lib/libhz3.so").exists() and not (root / "debug/include").exists()
    assert (root / "share/hz3/copyright").read_text() == (ROOT / "LICENSE").read_text()
    assert not [path for path in root.rglob("*") if path.is_dir() and not any(path.iterdir())]  # vcpkg refuses these
    port = json.loads((RECIPES / "vcpkg/hz3/vcpkg.json").read_text())
    assert (port["name"], port["version"]) == ("hz3", VERSION)


STUBS = """let made = (import %s) {
  lib = { concatStringsSep = builtins.concatStringsSep; cleanSource = p: p; licenses.mit = "MIT"; };
  stdenv.mkDerivation = a: a; cmake = "cmake"; python3 = "python3"; lane = "fast";
}; in { inherit (made) version cmakeFlags meta; }"""


def test_the_expression_of_nix_is_of_this_version(tmp_path):
    need("nix-instantiate", "nix-bin")
    file = tmp_path / "package.nix"
    file.write_text(STUBS % (RECIPES / "nix/package.nix"))
    done = subprocess.run(["nix-instantiate", "--eval", "--strict", "--json", "--store", "dummy://", file],
                          capture_output=True, text=True, check=True)
    made = json.loads(done.stdout)
    assert made["version"] == VERSION and "-DHZ3_LANE=fast" in made["cmakeFlags"] and made["meta"]["license"] == "MIT"
    run("nix-instantiate", "--parse", RECIPES / "nix/default.nix")


def test_conda_runs_a_script_that_installs(tmp_path):
    text = re.sub(r"{% .* %}\n", "", (RECIPES / "conda/meta.yaml").read_text())
    recipe = YAML(typ="safe").load(text.replace('{{ compiler("c") }}', "c-compiler").replace("{{ version }}", VERSION))
    assert recipe["package"] == {"name": "hz3", "version": VERSION}
    assert (RECIPES / "conda" / recipe["source"]["path"]).resolve() == ROOT
    env = {**os.environ, "SRC_DIR": str(ROOT), "PREFIX": str(tmp_path / "prefix")}
    run(RECIPES / "conda/build.sh", cwd=tmp_path, env=env)
    env["PATH"] = f"{tmp_path}/prefix/bin:{env['PATH']}"
    for command in recipe["test"]["commands"]:
        run("sh", "-c", command, env=env)
