"""peers.toml is valid, every peer that is installed is the allocator it is called, and others are refused by name.

    python3 -m pytest peers
"""

import ctypes
import json
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import build

PEERS = {peer.name: peer for peer in build.peers()}
FORWARD = """
#include <stddef.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
void *malloc(size_t n) { return __libc_malloc(n); }
void free(void *p) { __libc_free(p); }
"""
# A complete allocator, with a function of its own and one that must not be exported.  It knows no sizes, and so reports
# a very large usable size.
WHOLE = FORWARD + """
void *calloc(size_t k, size_t n) { return __libc_calloc(k, n); }
void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
void *memalign(size_t a, size_t n) { return __libc_memalign(a, n); }
void *aligned_alloc(size_t a, size_t n) { return __libc_memalign(a, n); }
int posix_memalign(void **p, size_t a, size_t n) { return (*p = __libc_memalign(a, n)) ? 0 : 12; }
size_t malloc_usable_size(void *p) { return p ? (size_t)1 << 30 : 0; }
int mi_version(void) { return 10203; }
int secret(void) { return 1; }
"""


def here(name):
    row = build.have(PEERS[name], may_build=False)
    if row["status"] != "ok":
        pytest.skip(f"{name}: {row['status']}")
    return row


def shared(folder, source):
    library = folder / "libmade.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-fno-builtin", "-x", "c", "-", "-o", library], input=source, text=True,
                   check=True)
    return library


def made_up(**fields):
    return build.Peer(**{"name": "made-up", "source": "wheel", "library": "*.so", "identity": "mi_version"} | fields)


def test_table_is_sound():
    assert len(PEERS) == len(build.peers()) and "glibc" in PEERS
    for name, peer in PEERS.items():
        assert re.fullmatch(r"[a-z]+(-[a-z0-9.]+)*", name)
        assert peer.source in ("system", "debian", "crate", "wheel")
        assert bool(peer.build) == bool(peer.package_version) == (peer.source in ("crate", "wheel"))
        assert bool(peer.package) == bool(peer.version) == (peer.source != "system")


def test_versions_are_those_of_the_lock_files():
    lock = tomllib.loads((build.HERE / "Cargo.lock").read_text())["package"]
    locked = {row["name"]: row["version"] for row in lock}
    wheels = (build.HERE / "requirements.txt").read_text().splitlines()
    for peer in PEERS.values():
        if peer.source == "crate":
            assert locked[peer.package] == peer.package_version
        if peer.source == "wheel":
            assert any(line.startswith(f"{peer.package}=={peer.package_version} --hash=sha256:") for line in wheels)


def test_the_documentation_names_those_who_tell_no_version():
    probe = (build.HERE / "probe.py").read_text()
    said = (build.HERE.parent / "docs/lab.md").read_text().partition(" tell no version")[0].rpartition("(")[2]
    silent = [name for name, peer in PEERS.items() if f'case "{peer.identity}"' not in probe]
    assert silent == re.findall("`(.*?)`", said)


@pytest.mark.parametrize("name", PEERS)
def test_the_loader_sends_cxx_and_the_whole_family_to_it(name):
    row = here(name)
    program = "import ctypes; ctypes.CDLL('libstdc++.so.6')"
    environment = PEERS[name].environment(row["file"]) | {"LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    binding = re.compile(r"binding file (\S+) \[0\] to (\S+) \[0\]: normal symbol `(malloc|calloc|realloc|free)'")
    bound = [match.groups() for match in binding.finditer(done.stderr)]
    assert {name for file, _, name in bound if "libstdc++" in file} >= {"malloc", "free"}
    assert {server for _, server, _ in bound} == {row["file"]}
    if row["operators"] == "own":
        new = re.findall(r"libstdc\+\+\S* \[0\] to (\S+) \[0\]: normal symbol `_Znwm'", done.stderr)
        assert set(new) == {row["file"]}


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.mode])
def test_the_environment_brings_its_best_mode(name):
    row = here(name)
    if ctypes.c_uint.in_dll(ctypes.CDLL(None), "__rseq_size").value == 0:
        pytest.skip("no restartable sequences: glibc has them, or this kernel")
    assert row["mode"] == f"{PEERS[name].mode['asks']} on"
    without = build.verify(replace(PEERS[name], env={}), row["file"])
    assert without["mode"] == f"{PEERS[name].mode['asks']} off"


def test_another_allocator_is_refused():
    jemalloc = here("jemalloc-5.3.0")["file"]
    with pytest.raises(build.Missing, match="another allocator: it has no mi_version"):
        build.verify(PEERS["mimalloc-2.0"], jemalloc)


def test_another_version_is_refused():
    jemalloc = here("jemalloc-5.3.0")["file"]
    with pytest.raises(build.Missing, match=r"is version 5\.3\.0, not 5\.3\.1"):
        build.verify(PEERS["jemalloc-5.3.1"], jemalloc)


def test_a_library_without_malloc_is_refused(tmp_path):
    library = shared(tmp_path, "int mi_version(void) { return 10203; }")
    with pytest.raises(build.Missing, match=r"libmade\.so does not serve malloc, .*libc\.so\.6 does"):
        build.verify(made_up(), library)


def test_half_a_family_is_refused(tmp_path):
    with pytest.raises(build.Missing, match="serves malloc, but not calloc by .*, realloc by .*, malloc_usable_size"):
        build.verify(made_up(), shared(tmp_path, FORWARD))


@pytest.mark.parametrize("was, becomes, reason", [
    ("return __libc_malloc(n);", "__builtin_trap();", "died of SIGILL"),
    ("return __libc_calloc(k, n);", "char *p = __libc_calloc(k, n); p[0] = k * n == 300000; return p;", "not zero"),
    ("(size_t)1 << 30 : 0", "0 : 0", "malloc_usable_size is below"),
])
def test_a_library_that_does_wrong_is_refused(tmp_path, was, becomes, reason):
    assert was in WHOLE
    with pytest.raises(build.Missing, match=reason):
        build.verify(made_up(), shared(tmp_path, WHOLE.replace(was, becomes)))


def test_what_is_not_installed_is_named():
    row = build.have(replace(PEERS["jemalloc-5.3.0"], library="libnobody.so.9"))
    reason = r"missing: libnobody\.so\.9 does not serve malloc, .*: apt-get install libjemalloc2"
    assert row["file"] is None and re.fullmatch(reason, row["status"])


def test_what_is_not_built_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "OUT", tmp_path)
    assert build.have(PEERS["snmalloc"], may_build=False)["status"] == "missing: not built: make peers"


@pytest.mark.parametrize("recipe, reason", [
    ("echo no such luck >&2; exit 3", r"the build failed: no such luck \(.*build\.log\)"),
    ("false\ntouch made.so", "the build failed: it said nothing"),
    ("touch other", r"the build left 0 files \*\.so"),
])
def test_a_build_that_fails_is_named(tmp_path, monkeypatch, recipe, reason):
    monkeypatch.setattr(build, "OUT", tmp_path)
    assert re.match(f"missing: {reason}", build.have(made_up(build=recipe))["status"])


def test_the_compiler_is_the_one_that_builds_hz3_here(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "OUT", tmp_path)
    monkeypatch.setenv("CC", "clang")
    monkeypatch.setenv("CXX", "clang++")
    status = build.have(made_up(build='echo "by ${CC-cc} and ${CXX-c++}" >&2; exit 3'))["status"]
    assert status.startswith("missing: the build failed: by cc and c++ (")


@pytest.mark.skipif(not shutil.which("c++"), reason="no C++ compiler")
def test_an_archive_is_linked_whole_and_shows_only_its_api(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "OUT", tmp_path)
    (tmp_path / "whole.c").write_text(WHOLE)
    recipe = f"cc -c -fPIC -fno-builtin $CFLAGS {tmp_path}/whole.c\nar rc libwhole.a whole.o"
    peer = made_up(version="1.2.3", build=recipe, library="libwhole.a")
    row = build.have(peer)
    assert (row["status"], row["file"], row["version"]) == ("ok", str(peer.built), "1.2.3")
    assert peer.is_built() and not replace(peer, build=recipe + "\n").is_built()
    library = ctypes.CDLL(str(peer.built))
    assert library.mi_version() == 10203 and not hasattr(library, "secret")
    assert sorted(file.name for file in peer.built.parent.iterdir()) == ["build.log", "libmade-up.so", "stamp"]


def test_a_file_put_in_the_place_of_a_built_one_does_not_pass_for_it(tmp_path, monkeypatch):
    monkeypatch.setattr(build, "OUT", tmp_path)
    original = shared(tmp_path, WHOLE)
    peer = made_up(build=f"cp {original} .")
    assert build.have(peer)["status"] == "ok"
    shutil.copy(shared(tmp_path, WHOLE + "int other;"), peer.built)
    assert build.have(peer, may_build=False)["status"] == "missing: not built: make peers"


@pytest.mark.parametrize("version", [None, "0.66.0", "1.86.1"])
def test_without_a_cargo_that_can_crates_are_named(tmp_path, monkeypatch, version):
    if version:
        cargo = tmp_path / "cargo"
        cargo.write_text(f"#!/bin/sh\necho 'cargo {version} (d8cb3a1 2026-01-01)'\n")
        cargo.chmod(0o755)
    monkeypatch.setattr(build, "OUT", tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    reason = f"needs cargo 1.87 or newer (Debian 12: cargo-web; elsewhere rustup), there is {version or 'none'}"
    assert build.have(PEERS["rpmalloc"])["status"] == f"missing: {reason}"


def test_the_command_names_what_is_missing_and_fails_only_when_asked(tmp_path, monkeypatch, capsys):
    rows = [PEERS["glibc"], made_up(library="libnobody.so.9", version="7.7")]
    monkeypatch.setattr(build, "OUT", tmp_path / "new")
    monkeypatch.setattr(build, "peers", lambda: rows)
    for options, status in ([], 0), (["--all"], 1):
        monkeypatch.setattr(sys, "argv", ["build.py", *options])
        assert build.main() == status
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["name", "glibc", "made-up"]
        assert "missing: libnobody.so.9 does not serve malloc" in lines[2]
    glibc, missing = json.loads((tmp_path / "new" / "peers.json").read_text())
    assert (glibc["status"], missing["file"]) == ("ok", None)
    assert Path(glibc["file"]).is_file() and re.fullmatch(r"\d+\.\d+", glibc["version"])
