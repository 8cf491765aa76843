"""Others that load, watch or place what a program has: auditors of the loader, sanitizers, valgrind, emulators, and
runtimes that lay out the address space themselves."""

import subprocess

import pytest
from host import require
from test_hooks import PROGRAM, compiled, run

from lab import ROOT

LOADED = " app] this process ran on hz3"  # though what a sanitizer is in has the malloc of the sanitizer


def test_an_auditor_of_the_loader(preload, tmp_path, monkeypatch):
    auditor = compiled(tmp_path, "audit.so", "unsigned la_version(unsigned v) { return v; }", "-shared", "-fPIC")
    monkeypatch.setenv("LD_AUDIT", str(auditor))
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.rtld.optional_static_tls=4096")
    done = run([compiled(tmp_path, "app", PROGRAM, "-pthread")], [preload.library])
    assert (done.returncode, done.stdout) == (0, "done\n")
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


def test_valgrind(preload, tmp_path):
    program = require("valgrind", "valgrind")
    app = compiled(tmp_path, "app", PROGRAM, "-pthread")
    done = run([program, "--error-exitcode=9", "--leak-check=full", app], [preload.library])
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert "80,0" in done.stderr  # valgrind's own malloc served all 80,000 allocations, and not hz3's


def test_an_emulated_program(preload, tmp_path):
    program = require("qemu-x86_64", "qemu-user")
    app = compiled(tmp_path, "app", PROGRAM, "-pthread")
    done = run([program, "-E", f"LD_PRELOAD={preload.library}", app], [])
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr
    assert LOADED in done.stderr


# Objects of every size, in Lua's own heap and in malloc's: LuaJIT has only the lower 47 bits for its own.
LUA = """
local ffi = require('ffi')
ffi.cdef('void *malloc(size_t); void free(void *); void *memset(void *, int, size_t);')
local kept, sum = {}, 0
for i = 1, 200000 do
    kept[i % 500] = ffi.gc(ffi.C.memset(ffi.C.malloc(i % 5000 + 1), i % 100, 1), ffi.C.free)
    sum = sum + ffi.cast('char *', kept[i % 500])[0] + #tostring(i):rep(i % 9)
end
print(sum)
"""


def test_luajit(host):
    script = host.folder / "blocks.lua"
    script.write_text(LUA)
    command = [require("luajit", "luajit"), script]
    plain = subprocess.run(command, env=host.plain_env(), capture_output=True, check=True).stdout
    with_statistics = {**host.env, "HZ3_STATS": "1"}
    done = subprocess.run(command, env=with_statistics, capture_output=True, check=True)
    assert done.stdout == plain and b"this process ran on hz3" in done.stderr
