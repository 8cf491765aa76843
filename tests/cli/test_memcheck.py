"""Under valgrind, called as docs/use/misuse.md says, memcheck sees each block that hz3 hands out, and no other."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MEMCHECK = ["valgrind", "--soname-synonyms=somalloc=nouserintercepts,hz3=*", "--leak-check=full"]
SOURCE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static volatile char sink;
static char *volatile p;

__attribute__((noinline)) static void leaks(void) { p = malloc(1001), p = NULL; }
__attribute__((noinline)) static void reads_past_the_end(void) { p = malloc(13), sink = p[13], free(p); }
__attribute__((noinline)) static void reads_before(void) { p = aligned_alloc(4096, 70000), sink = p[-1], free(p); }
__attribute__((noinline)) static void uses_after_free(void) { p = malloc(77), free(p), sink = p[5]; }
__attribute__((noinline)) static void reads_uninitialised(void) { p = malloc(64); if (p[3]) sink = 1; free(p); }
__attribute__((noinline)) static void uses_after_realloc(void) { p = malloc(40); char *q = realloc(p, 39); sink = *p, free(q); }

static void need(int holds) { if (!holds) abort(); }
static void *work(void *kept)
{
    for (int i = 0; i < 3000; i++) {
        size_t size = (size_t)i * 37 % 70000;
        char *q = malloc(size);
        memset(q, 'a', size);
        need(malloc_usable_size(q) == size);
        q = realloc(q, size + 10);
        need(!size || q[size - 1] == 'a');
        free(((char **)kept)[i % 8]); /* another thread's, maybe */
        ((char **)kept)[i % 8] = q;
    }
    for (int i = 0; i < 8; i++) free(((char **)kept)[i]);
    return NULL;
}

static void is_right(void)
{
    static char *kept[2][8];
    pthread_t thread;
    pthread_create(&thread, NULL, work, kept[0]);
    work(kept[1]);
    pthread_join(thread, NULL);
    for (size_t alignment = 8; alignment <= 1 << 20; alignment *= 2) {
        void *q = NULL;
        need(!posix_memalign(&q, alignment, 100) && (uintptr_t)q % alignment == 0);
        free(q);
    }
    for (size_t size = 1; size < 1 << 20; size *= 3) {
        char *zeroed = calloc(size, 1);
        for (size_t i = 0; i < size; i++) need(!zeroed[i]);
        free(zeroed);
    }
    need(!calloc(SIZE_MAX / 2, 3) && !malloc(SIZE_MAX) && !pvalloc(SIZE_MAX) && !realloc(NULL, SIZE_MAX));
    void *none = &none;
    need(!malloc(PTRDIFF_MAX) && posix_memalign(&none, 64, PTRDIFF_MAX) == ENOMEM && none == &none);
    free(malloc(0)), free(valloc(1)), free(pvalloc(1)), free(reallocarray(NULL, 3, 3)), free(strdup("a string"));
}

int main(int argc, char **argv)
{
    if (argc == 1) return is_right(), 0;
    leaks(), reads_past_the_end(), reads_before(), uses_after_free(), reads_uninitialised(), uses_after_realloc();
    return 0;
}
"""


@pytest.fixture(scope="module", params=["preloaded", "linked"])
def memcheck(request, preload, tmp_path_factory):
    """memcheck(*words): runs the program under memcheck, and returns memcheck's output."""
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    program, archive = tmp_path_factory.mktemp("memcheck") / "program", f"libhakozuna_hz3_{preload.lane}.a"
    linked = [ROOT / "build" / preload.lane / archive, "-ldl"] if request.param == "linked" else []
    subprocess.run(["cc", "-x", "c", "-w", "-g", "-fno-builtin", "-pthread", "-", "-o", program, "-x", "none", *linked],
                   input=SOURCE, text=True, check=True)
    env = {**(os.environ if linked else preload.env), "HZ3_BACKGROUND": "0"}

    def told(*words):
        done = subprocess.run([*MEMCHECK, program, *words], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return re.sub(r"==\d+== ?", "", done.stderr)

    return told


def test_each_misuse_is_told_where_it_happens_and_of_which_block(memcheck):
    told = memcheck("misuse")

    def is_told(what, where, of=""):
        return re.search(rf"^{what}.*\n   at 0x\w+: {where} \(.*\n(?:   by .*\n)*{of}", told, re.M)

    assert is_told("Invalid read of size 1", "reads_past_the_end", r" Address 0x\w+ is 0 bytes after a block of size 13 alloc'd")
    assert is_told("Invalid read of size 1", "reads_before", r" Address 0x\w+ is 1 bytes before a block of size 70,000 alloc'd")
    assert is_told("Invalid read of size 1", "uses_after_free", r" Address 0x\w+ is 5 bytes inside a block of size 77 free'd")
    assert is_told("Invalid read of size 1", "uses_after_realloc", r" Address 0x\w+ is 0 bytes inside a block of size 40 free'd")
    assert is_told("Conditional jump or move depends on uninitialised", "reads_uninitialised")
    assert re.search(r"^1,001 bytes in 1 blocks are definitely lost.*\n(?:   .*\n)*   by 0x\w+: leaks ", told, re.M)
    assert "ERROR SUMMARY: 6 errors from 6 contexts" in told


def test_of_a_right_program_nothing_is_told(memcheck):
    told = memcheck()
    assert "All heap blocks were freed" in told and "ERROR SUMMARY: 0 errors" in told
    assert int(re.search(r"total heap usage: ([\d,]+) allocs", told)[1].replace(",", "")) > 12000
