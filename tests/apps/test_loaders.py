"""Tools that load or watch programs: auditors of the loader, sanitizers, valgrind and emulators.  Also runtimes that
lay out the address space themselves."""

import subprocess
import sys

import pytest
from host import require
from test_hooks import PROGRAM, compiled, run

from lab import ROOT

LOADED = " app] this process ran on hz3"  # though a program with a sanitizer uses the sanitizer's malloc


AUDITOR = "unsigned la_version(unsigned v) { return v; }"
ROOM = "glibc.rtld.optional_static_tls=4096"


def test_an_auditor_of_the_loader(preload, tmp_path, monkeypatch):
    monkeypatch.setenv("LD_AUDIT", str(compiled(tmp_path, "audit.so", AUDITOR, "-shared", "-fPIC")))
    monkeypatch.setenv("GLIBC_TUNABLES", ROOM)
    done = run([compiled(tmp_path, "app", PROGRAM, "-pthread")], [preload.library])
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert LOADED in done.stderr


def test_hz3_run_says_what_an_auditor_of_the_loader_needs(preload, tmp_path, monkeypatch):
    monkeypatch.setenv("LD_AUDIT", str(compiled(tmp_path, "audit.so", AUDITOR, "-shared", "-fPIC")))
    command = [ROOT / "bin/hz3", "run", "--lane", preload.lane, "--", compiled(tmp_path, "app", PROGRAM, "-pthread")]
    without = run(command, []).stderr
    hints = [line for line in without.splitlines() if ROOM in line]
    assert len(hints) == 1 and hints[0].startswith("hz3: with LD_AUDIT ")
    monkeypatch.setenv("GLIBC_TUNABLES", ROOM)
    done = run(command, [])
    assert (done.returncode, done.stdout) == (0, "done\n") and ROOM not in done.stderr
    assert LOADED in done.stderr


@pytest.mark.parametrize("sanitizer", ["thread", "memory", "address", "undefined"])
def test_a_program_with_a_sanitizer_of_clang(preload, tmp_path, monkeypatch, sanitizer):
    require("clang-19", "clang-19")
    monkeypatch.setenv("CC", "clang-19")
    done = run([compiled(tmp_path, "app", PROGRAM, "-pthread", f"-fsanitize={sanitizer}")], [preload.library])
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert LOADED in done.stderr


@pytest.mark.parametrize("sanitizer", ["thread", "address"])
def test_a_program_whose_sanitizer_has_to_come_first_is_refused(preload, tmp_path, monkeypatch, sanitizer):
    monkeypatch.setenv("CC", "gcc")
    app = compiled(tmp_path, "app", PROGRAM, "-pthread", f"-fsanitize={sanitizer}")
    done = run([ROOT / "bin/hz3", "run", "--lane", preload.lane, "--", app], [])
    assert done.returncode == 125 and "san.so" in done.stderr
    assert done.stderr.endswith("run it without hz3, or build it without -fsanitize\n")


def test_valgrind(preload, tmp_path):
    program = require("valgrind", "valgrind")
    app = compiled(tmp_path, "app", PROGRAM, "-pthread")
    done = run([program, "--error-exitcode=9", "--leak-check=full", app], [preload.library])
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "total heap usage: 80,0" in done.stderr  # valgrind's own malloc served all 80,000 allocations


def test_an_emulated_program(preload, tmp_path):
    program = require("qemu-x86_64", "qemu-user")
    app = compiled(tmp_path, "app", PROGRAM, "-pthread")
    done = run([program, "-E", f"LD_PRELOAD={preload.library}", app], [])
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert LOADED in done.stderr


def test_an_emulator(host):
    command = [require("qemu-x86_64", "qemu-user"), "-U", "LD_PRELOAD", "/bin/cat"]  # the emulated cat runs without hz3
    with host.running(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as emulator:
        assert emulator.communicate(b"through\n")[0] == b"through\n"


def test_luajit(host):
    """LuaJIT needs its own heap in the lower 47 bits of the address space."""
    command = [require("luajit", "luajit"), ROOT / "tests/programs/scripts/blocks.lua", "200000"]
    plain = subprocess.run(command, env=host.plain_env(), input=b"", capture_output=True, check=True).stdout
    with host.running(*command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as lua:
        assert lua.communicate()[0] == plain != b""


# Each WebAssembly memory reserves 4 GiB of addresses and a guard behind them.
WASM = """
from wasmtime import Engine, Instance, Module, Store
engine = Engine()
module = Module(engine, '(module (memory (export "m") 1 200) (func (export "f") (param i32) (result i32)'
    '(drop (memory.grow (local.get 0))) (i32.store (i32.const 70000) (local.get 0)) (i32.load (i32.const 70000))))')
stores = [Store(engine) for _ in range(50)]
print(sum(Instance(store, module, []).exports(store)["f"](store, n) for n, store in enumerate(stores, 1)))
"""


def test_wasmtime(host):
    pytest.importorskip("wasmtime", reason="wasmtime is not installed (PyPI)")
    done = subprocess.run([sys.executable, "-c", WASM], env={**host.env, "HZ3_STATS": "1"}, capture_output=True)
    assert done.stdout == b"1275\n" and b"this process ran on hz3" in done.stderr
