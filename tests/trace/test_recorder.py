"""hz3 record of programs that have much of their own: operators, handlers of signals, functions of their allocator.  They
run as they do without it, and nothing is lost."""

import subprocess
from collections import Counter

import pytest
import trace_file
from trace_file import ALIGNED, FREE, MALLOC
from tracing import ROOT, build, play, preloading, record, words


def program_of(source, folder):
    (folder / "program.c").write_text(source)
    return build(folder / "program", "cc", "-fno-builtin", "-rdynamic", "-D_GNU_SOURCE", folder / "program.c")


@pytest.mark.parametrize("under", [None, "hz3", "libjemalloc.so.2"])
@pytest.mark.parametrize("source", ["operators.cpp", "replaced_operators.cpp"])
def test_operators_do_what_the_standard_says(under, source, tmp_path):
    """They call a program's own operators, and its new-handler."""
    env = preloading(under)
    of_any = ["-DHZ3_TEST_STANDIN=1", "-D_GNU_SOURCE", f"-I{ROOT / 'tests'}"]
    subprocess.run(["cc", "-c", ROOT / "tests/support.c", *of_any, "-o", tmp_path / "support.o"], check=True)
    program = build(tmp_path / "operators", "g++", "-std=c++17", "-Wno-sized-deallocation", *of_any,
                    ROOT / "tests/api" / source, tmp_path / "support.o")
    record(tmp_path / "t", program, env=env)
    if source == "replaced_operators.cpp":
        events, _ = trace_file.read(tmp_path / "t")
        found = Counter((event.kind, event.size, event.align) for event in events)
        assert found[MALLOC, 100 + 64, 0] == found[ALIGNED, 192, 6] == 6


PLUGIN = """
#include <cstdint>
#include <new>
extern "C" int is_refused()
{
    volatile std::size_t impossible = PTRDIFF_MAX / 2;
    try {
        operator delete(operator new(impossible));
    } catch (const std::bad_alloc &) {
        return 1;
    }
    return 0;
}
"""
HOST = """
#include <dlfcn.h>
int main(int count, char **words)
{
    void *plugin = count > 1 ? dlopen(words[1], RTLD_NOW) : 0;
    int (*is_refused)(void) = dlsym(plugin, "is_refused");
    return !is_refused();
}
"""


def test_a_plugin_that_brings_the_library_of_cpp_gets_bad_alloc(tmp_path):
    (tmp_path / "plugin.cc").write_text(PLUGIN)
    plugin = build(tmp_path / "plugin.so", "g++", "-shared", "-fPIC", tmp_path / "plugin.cc")
    record(tmp_path / "t", program_of(HOST, tmp_path), plugin)


SLOW_TO_UNLOCK = """
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
int pthread_mutex_unlock(pthread_mutex_t *mutex) /* the recorder calls it, too */
{
    int (*next)(pthread_mutex_t *) = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
    int error = next(mutex);
    usleep(50000);
    return error;
}
static void *allocate(void *unused)
{
    for (;;) free(malloc(50));
    return unused;
}
int main(void)
{
    pthread_t id;
    for (int i = 0; i < 4; i++) pthread_create(&id, NULL, allocate, NULL);
    usleep(400000);
}
"""


def test_a_buffer_that_is_written_while_the_process_ends_is_written_once(player, tmp_path):
    record(tmp_path / "t", program_of(SLOW_TO_UNLOCK, tmp_path))
    events, ended = trace_file.read(tmp_path / "t")
    assert ended and len({event.thread for event in events}) == 5
    for thread in range(5):
        times = [event.time for event in events if event.thread == thread]
        assert times == sorted(times)
    assert int(words(play(player, "--facts", tmp_path / "t"))["events"]) == len(events)


INTERRUPTED = """
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
static void map(int signal)
{
    (void)signal;
    munmap(mmap(NULL, 9 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 9 << 16);
}
int main(void)
{
    void *p = malloc(100);
    signal(SIGALRM, map);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 50}, {0, 50}}, NULL);
    for (int i = 0; i < 500000; i++) p = realloc(p, 100 + i % 2);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
}
"""


def test_a_signal_handler_may_record_while_realloc_does(player, tmp_path):
    record(tmp_path / "t", program_of(INTERRUPTED, tmp_path))
    events, _ = trace_file.read(tmp_path / "t")
    assert sum(event.size == 9 << 16 for event in events) > 100
    starts, ends = [event.time - event.took for event in events], [event.time for event in events]
    assert all(start >= end for start, end in zip(starts[1:], ends[:-1], strict=True))
    assert int(words(play(player, "--facts", tmp_path / "t"))["events"]) == len(events)


SIZED = """
#include <dlfcn.h>
#include <stdlib.h>
int main(void)
{
    void (*sized)(void *, size_t) = dlsym(RTLD_DEFAULT, "free_sized"), (*old)(void *) = dlsym(RTLD_DEFAULT, "cfree");
    void (*aligned)(void *, size_t, size_t) = dlsym(RTLD_DEFAULT, "free_aligned_sized");
    sized(malloc(4001), 4001);
    aligned(aligned_alloc(64, 4096), 64, 4096);
    old(malloc(4003));
}
"""


def test_functions_that_only_the_allocator_has_free(tmp_path):
    record(tmp_path / "t", program_of(SIZED, tmp_path), env=preloading("hz3"))
    events, _ = trace_file.read(tmp_path / "t")
    at = next(i for i, event in enumerate(events) if event.size == 4001)
    assert [(e.kind, e.size) for e in events[at : at + 6]] == [
        (MALLOC, 4001), (FREE, 0), (ALIGNED, 4096), (FREE, 0), (MALLOC, 4003), (FREE, 0)]
    assert all(events[at + i].address == events[at + i + 1].address for i in (0, 2, 4))


FORKED = """
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void)
{
    free(malloc(3001));
    if (_Fork() == 0) { /* which runs no handlers of pthread_atfork */
        for (int i = 0; i < 20000; i++) free(malloc(3002));
        exit(0);
    }
    wait(NULL);
    free(malloc(3003));
}
"""


def test_a_child_of_any_fork_has_a_trace_of_its_own(player, tmp_path):
    record(tmp_path / "t", program_of(FORKED, tmp_path))
    (of_child,) = tmp_path.glob("t.program-*")
    sizes = [Counter(event.size for event in trace_file.read(path)[0]) for path in (tmp_path / "t", of_child)]
    assert [[found[size] for size in (3001, 3002, 3003)] for found in sizes] == [[1, 0, 1], [0, 20000, 0]]
    for path in (tmp_path / "t", of_child):
        assert play(player, "--facts", path).stderr == ""
