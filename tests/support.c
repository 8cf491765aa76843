#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void check_failed(const char *truth, const char *file, int line)
{
    dprintf(STDERR_FILENO, "%s:%d: not so: %s (errno %d)\n", file, line, truth, errno);
    _exit(1);
}

void skip_test(const char *why)
{
    dprintf(STDERR_FILENO, "skipped: %s\n", why);
    _exit(77);
}

size_t least_alignment(size_t size)
{
    size_t alignment = 16;
    while (ANY_MALLOC && alignment > 1 && alignment > size) alignment /= 2;
    return alignment;
}

void *forget(void *p)
{
    __asm__("" : "+r"(p));
    return p;
}

static uint64_t mixed(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 29);
}

uint64_t next_random(uint64_t *state)
{
    return mixed(mixed(*state += 0x9e3779b97f4a7c15u));
}

/* __builtin_memcpy, as the tests are built with -fno-builtin, and a call for each word would take too long. */
static uint64_t word_at(uint64_t id, size_t at)
{
    return mixed(mixed(id + 1) + at);
}

void fill(void *p, size_t n, uint64_t id)
{
    char *bytes = (char *)p;
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= n; at += sizeof(uint64_t)) {
        uint64_t word = word_at(id, at);
        __builtin_memcpy(bytes + at, &word, sizeof(word));
    }
    uint64_t last = word_at(id, at);
    memcpy(bytes + at, &last, n - at);
}

bool is_filled(const void *p, size_t n, uint64_t id)
{
    const char *bytes = (const char *)p;
    size_t at = 0;
    for (; at + sizeof(uint64_t) <= n; at += sizeof(uint64_t)) {
        uint64_t word = word_at(id, at);
        if (__builtin_memcmp(bytes + at, &word, sizeof(word)) != 0) return false;
    }
    uint64_t last = word_at(id, at);
    return memcmp(bytes + at, &last, n - at) == 0;
}

static bool visit_part(char *p, size_t from, size_t to, uint64_t id, bool write)
{
    if (from >= to) return true;
    if (!write) return is_filled(p + from, to - from, id + from);
    fill(p + from, to - from, id + from);
    return true;
}

static bool visit(char *p, size_t n, size_t step, uint64_t id, size_t kept, bool write)
{
    bool whole = true;
    size_t line = 64, first = KIB(8), end = kept < n ? kept : n, to = 0;
    for (size_t from = 0; from < n; from = (to + step - 1) / step * step) {
        to = from + (from ? line : first);
        whole &= visit_part(p, from, to < end ? to : end, id, write);
    }
    size_t last = n > to + line ? n - line : to;
    return whole & visit_part(p, last, end, id, write);
}

void fill_sparsely(void *p, size_t n, size_t step, uint64_t id)
{
    visit((char *)p, n, step, id, n, true);
}

bool is_filled_sparsely(const void *p, size_t n, size_t step, uint64_t id, size_t kept)
{
    return visit((char *)p, n, step, id, kept, false);
}

bool is_zero(const void *p, size_t n)
{
    const char *bytes = (const char *)p;
    return n == 0 || (bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0);
}

double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void sleep_for(double seconds)
{
    struct timespec left = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    while (nanosleep(&left, &left) != 0 && errno == EINTR);
}

static void read_whole(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    ssize_t n = read(fd, text, size - 1);
    CHECK(n > 0);
    text[n] = 0;
    close(fd);
}

size_t resident_bytes(void)
{
    char text[256], *second;
    read_whole("/proc/self/statm", text, sizeof(text));
    strtoul(text, &second, 10);
    return strtoul(second, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
}

size_t number_in(const char *path, const char *words)
{
    char text[8192];
    read_whole(path, text, sizeof(text));
    const char *found = strstr(text, words);
    CHECK(found != NULL);
    return strtoul(found + strlen(words), NULL, 10);
}

size_t written_bytes(void)
{
    return KIB(number_in("/proc/self/smaps_rollup", "Private_Dirty:"));
}

size_t status_number(const char *line)
{
    return number_in("/proc/self/status", line);
}

size_t status_bytes(const char *line)
{
    return KIB(status_number(line));
}

bool never_overcommits(void)
{
    char text[8];
    read_whole("/proc/sys/vm/overcommit_memory", text, sizeof(text));
    return text[0] == '2';
}

pthread_t start_thread(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, body, arg) == 0);
    return thread;
}

void *join_thread(pthread_t thread)
{
    void *result;
    CHECK(pthread_join(thread, &result) == 0);
    return result;
}

pid_t in_child(void (*body)(void *), void *arg)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    body(arg);
    _exit(0);
}

static int wait_for(pid_t child, double seconds)
{
    double until = now() + seconds;
    int status;
    pid_t ended;
    while ((ended = waitpid(child, &status, WNOHANG)) == 0 && now() < until) sleep_for(0.0005);
    if (ended == 0) {
        kill(child, SIGKILL);
        waitpid(child, &status, 0);
        dprintf(STDERR_FILENO, "child %d still ran after %.0f s\n", (int)child, seconds);
    }
    CHECK(ended == 0 || ended == child);
    return status;
}

void expect_success(pid_t child, double seconds)
{
    int status = wait_for(child, seconds);
    if (WIFSIGNALED(status)) dprintf(STDERR_FILENO, "child ended by signal %d\n", WTERMSIG(status));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void fork_here(int signal)
{
    (void)signal;
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) _exit(0);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void keep_text(int fd, char *text, size_t size)
{
    ssize_t n = pread(fd, text, size - 1, 0);
    CHECK(n >= 0);
    text[n] = 0;
    close(fd);
}

struct program_run run_program(const char *const argv[], const char *const environment[], double seconds)
{
    struct program_run run;
    int out = memfd_create("out", MFD_CLOEXEC), err = memfd_create("err", MFD_CLOEXEC);
    CHECK(out >= 0 && err >= 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (; *environment; environment++) putenv((char *)*environment);
        if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0) _exit(126);
        execv(argv[0], (char *const *)argv);
        _exit(127);
    }
    run.status = wait_for(child, seconds);
    keep_text(out, run.out, sizeof(run.out));
    keep_text(err, run.err, sizeof(run.err));
    return run;
}
