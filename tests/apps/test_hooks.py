"""Preloaded libraries that hook malloc, as heap profilers do.  They look up symbols and open libraries before hz3
starts."""

import os
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab import ROOT

# This does what heaptrack's library does at worst, in its first call and in its constructor.
HOOK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <unistd.h>
static void *(*next_malloc)(size_t);
static void (*next_free)(void *);
static int calls, finding;
static void find(void)
{
    if (next_malloc || finding) return;
    finding = 1;
    next_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
    next_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
    void *library = dlopen("libm.so.6", RTLD_LAZY);
    if (library) dlclose(library);
    finding = 0;
}
extern void *__libc_malloc(size_t);
extern void __libc_free(void *);
void *malloc(size_t size) { find(); calls++; return next_malloc ? next_malloc(size) : __libc_malloc(size); }
void free(void *p) { find(); if (next_free) next_free(p); }
__attribute__((constructor)) static void start(void) { find(); next_free(next_malloc(100)); }
__attribute__((destructor)) static void end(void) { if (calls) write(2, "hooked\\n", 7); }
"""
PROGRAM = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *unused)
{
    for (int i = 0; i < 20000; i++) {
        char *p = malloc(100 + i % 5000);
        memset(p, 1, 100);
        free(p);
    }
    return unused;
}
int main(void)
{
    pthread_t thread[4];
    for (int i = 0; i < 4; i++) pthread_create(&thread[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++) pthread_join(thread[i], NULL);
    puts("done");
}
"""


def compiled(tmp_path, name, source, *options):
    file = tmp_path / f"{name}.c"
    file.write_text(source)
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, "-O1", "-fno-builtin", "-o", tmp_path / name, file, *options], check=True)
    return tmp_path / name


@pytest.fixture
def hook(tmp_path):
    return compiled(tmp_path, "hook.so", HOOK, "-shared", "-fPIC", "-ldl")


def run(argv, preloaded):
    env = {**os.environ, "LD_PRELOAD": ":".join(map(str, preloaded)), "HZ3_STATS": "1"}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)


def test_a_hook_in_front_of_the_preloaded_library(preload, tmp_path, hook):
    done = run([compiled(tmp_path, "app", PROGRAM, "-pthread")], [hook, preload.library])
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert "hooked" in done.stderr and " app] this process ran on hz3" in done.stderr


def test_a_hook_beside_a_program_that_hz3_is_linked_into(preload, tmp_path, hook):
    archive = ROOT / f"build/{preload.lane}/libhakozuna_hz3_{preload.lane}.a"
    if not archive.is_file():
        pytest.skip(f"of lane {preload.lane} only the preload library is built")
    app = compiled(tmp_path, "app", PROGRAM, "-pthread", "-rdynamic", str(archive), "-ldl")
    done = run([app], [hook])
    assert (done.returncode, done.stdout) == (0, "done\n")
    assert " app] this process ran on hz3" in done.stderr


# The least malloc that a program may have of its own.
OWN = """
#include <stddef.h>
static _Alignas(16) char room[1 << 20];
static size_t used;
void *malloc(size_t size)
{
    size_t at = __atomic_fetch_add(&used, (size + 15) & ~(size_t)15, __ATOMIC_RELAXED);
    return at + size <= sizeof(room) ? room + at : NULL;
}
void free(void *p) { (void)p; }
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *p, size_t size) { (void)p; return malloc(size); }
"""
ONE_BLOCK = """
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    free(malloc(100));
    puts("done");
}
"""


def state_after(tmp_path, app, seconds):
    """What heaptrack says of a program, and its exit status, or None if it does not end."""
    command = ["heaptrack", "-o", tmp_path / f"profile-{app.name}", app]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}  # for its FIFO, which it leaves if it is killed
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as heaptrack:
        try:
            return heaptrack.communicate(timeout=seconds)[0], heaptrack.returncode
        except subprocess.TimeoutExpired:
            os.killpg(heaptrack.pid, signal.SIGKILL)
            return heaptrack.communicate()[0], None


@pytest.mark.skipif(not shutil.which("heaptrack"), reason="heaptrack is not installed")
def test_heaptrack_treats_a_program_with_hz3_as_one_with_any_malloc_of_its_own(preload, tmp_path):
    """It waits for the first call of its library, which no program with a malloc of its own makes."""
    if preload.lane != "scale":
        pytest.skip("the launcher is the same for each lane")
    archive = ROOT / "build/scale/libhakozuna_hz3_scale.a"
    (tmp_path / "malloc.c").write_text(OWN)
    linked = compiled(tmp_path, "linked", ONE_BLOCK, "-pthread", "-rdynamic", str(archive), "-ldl")
    own = compiled(tmp_path, "own", ONE_BLOCK, "-rdynamic", str(tmp_path / "malloc.c"))
    with ThreadPoolExecutor() as both:
        (said, status), (said_of_own, status_of_own) = both.map(
            lambda app: state_after(tmp_path, app, 4), (linked, own)
        )
    assert "done" in said and "done" in said_of_own
    assert status == status_of_own


@pytest.mark.skipif(not shutil.which("heaptrack"), reason="heaptrack is not installed")
def test_heaptrack_beside_the_preloaded_library(preload, tmp_path):
    app = compiled(tmp_path, "app", PROGRAM, "-pthread")
    command = ["heaptrack", "-o", tmp_path / "profile", app]
    done = run(command, [preload.library])
    assert done.returncode == 0 and "done" in done.stdout
    assert " app] this process ran on hz3" in done.stderr
    assert list(tmp_path.glob("profile*"))
