"""HZ3_GUARD: the message on each misuse of a guarded block, and that correct programs run as usual."""

import re
import subprocess
import sys

import pytest

SOURCE = r"""
#define _GNU_SOURCE
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *volatile p;
static void *free_it(void *q) { free(q); return NULL; }
static void own(int signal) { _exit(signal == SIGSEGV ? 42 : 1); }

static void misuse(const char *how)
{
    p = malloc(96);
    memset(p, 1, 96);
    if (!strcmp(how, "write_behind")) memset(p, 1, 97);
    if (!strcmp(how, "read_behind")) printf("%d", p[100]);
    if (!strcmp(how, "read_before")) printf("%d", p[-4050]);
    if (!strcmp(how, "write_before")) p[-1] = 1;
    if (!strcmp(how, "free_in_thread")) {
        pthread_t thread;
        pthread_create(&thread, NULL, free_it, p);
        pthread_join(thread, NULL);
        printf("%d", p[5]);
    }
    if (!strcmp(how, "interior")) free(p + 16);
    free(p);
    if (!strcmp(how, "twice")) free(p);
    if (!strcmp(how, "realloc")) p = realloc(p, 10);
    if (!strcmp(how, "usable")) printf("%zu", malloc_usable_size(p));
    if (!strcmp(how, "null")) p = NULL, *p = 1;
    if (!strcmp(how, "raise")) raise(SIGSEGV);
}

int main(int argc, char **argv)
{
    if (argc > 2) signal(SIGSEGV, own);
    misuse(argv[1]);
}
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    target = tmp_path_factory.mktemp("guard") / "misuser"
    subprocess.run(["cc", "-x", "c", "-w", "-fno-builtin", "-pthread", "-", "-o", target], input=SOURCE, text=True, check=True)
    return target


def run(preload, *argv, guard=1):
    env = {**preload.env, "HZ3_GUARD": str(guard)}
    return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(
    ("how", "what", "where"),
    [
        ("write_behind", "access out of bounds", "1 bytes behind the end of"),
        ("read_behind", "access out of bounds", "5 bytes behind the end of"),
        ("read_before", "access out of bounds", "4050 bytes before"),
        ("write_before", "written out of bounds, found by free", "1 bytes before"),
        ("free_in_thread", "use after free", "at byte 5 of"),
        ("interior", "interior pointer freed", "at byte 16 of"),
        ("twice", "double free", "at byte 0 of"),
        ("realloc", "realloc of a freed pointer", "at byte 0 of"),
        ("usable", "malloc_usable_size of a freed pointer", "at byte 0 of"),
    ],
)
def test_misuse_is_told_with_who_did_what(preload, program, how, what, where):
    done = run(preload, program, how)
    assert done.returncode == -6 and done.stdout == ""
    first, *traces = done.stderr.splitlines()
    told = re.fullmatch(rf"hz3: {what}: 0x[0-9a-f]+, {where} a block of 96 bytes at 0x[0-9a-f]+", first)
    assert told, first
    traces = [re.fullmatch(r"hz3:   (used|allocated|freed) by thread (\d+) from( \S+\+0x[0-9a-f]+)+", t) for t in traces]
    assert all(traces) and all(" misuser+0x" in t[0] and "hz3_" not in t[0].split("from")[1] for t in traces if t[1] != "freed")
    was_freed = how in ("free_in_thread", "twice", "realloc", "usable")
    assert [t[1] for t in traces] == ["used", "allocated", *(["freed"] if was_freed else [])]
    threads = {t[1]: t[2] for t in traces}
    assert threads["used"] == threads["allocated"]
    assert (threads.get("freed", threads["used"]) == threads["used"]) == (how != "free_in_thread")


def test_other_faults_are_the_program_s_own(preload, program):
    for fault in ("null", "raise"):
        assert run(preload, program, fault).returncode == -11
        assert run(preload, program, fault, "own handler").returncode == 42


def test_right_programs_run_as_ever(preload, program):
    done = run(preload, program, "nothing")
    assert (done.returncode, done.stderr) == (0, "")
    work = "import json, threading; r = range(20000)\n" \
           "def f(): print(sum(len(json.dumps({'a': [i] * (i % 50)})) for i in r))\n" \
           "t = [threading.Thread(target=f) for _ in range(4)]; [x.start() for x in t]; [x.join() for x in t]"
    plain = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)
    for guard in (1, 50):
        done = run(preload, sys.executable, "-c", work, guard=guard)
        assert (done.returncode, done.stderr, sorted(done.stdout)) == (0, "", sorted(plain.stdout))
