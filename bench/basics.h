/* What all other headers here stand on: how a program ends, its clock, its random numbers, its own memory, and RSS. */
#ifndef BENCH_BASICS_H
#define BENCH_BASICS_H

#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define BENCH_CACHE_LINE 64
#define BENCH_COUNT(a)   (sizeof(a) / sizeof((a)[0]))

__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    flockfile(stderr); /* for good: of several threads that die, one says why */
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(1); /* exit would flush half a line to stdout, which would look like a result */
}

/* ---- clock and random numbers ---- */

static inline uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64.  Any seed is good, so a thread's seed is its number. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 32 random bits to a number below n. */
static inline uint64_t bench_scale(uint32_t random_bits, uint64_t n)
{
    return random_bits * n >> 32;
}

/* ---- the program's own memory, and RSS ---- */

static _Atomic uint64_t bench_own_bytes;

/* Zeroed, touched and page-aligned memory, mapped past the allocator. */
static inline void *bench_map(size_t bytes)
{
    bytes = (bytes + 4095) & ~(size_t)4095;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) bench_die("bench: cannot map %zu bytes", bytes);
    atomic_fetch_add(&bench_own_bytes, bytes);
    return p;
}

static inline uint64_t bench_proc_kib(const char *path, const char *field)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0) bench_die("bench: cannot read %s", path);
    close(fd);
    text[length] = '\0';
    const char *found = strstr(text, field);
    if (!found) bench_die("bench: no %s in %s", field, path);
    uint64_t kib = strtoull(found + strlen(field), NULL, 10), own = atomic_load(&bench_own_bytes) / 1024;
    if (kib < own) bench_die("bench: what %s says is less than the program's own memory", path);
    return kib - own;
}

/* smaps_rollup walks the page tables and is exact.  The counters behind statm lag by some pages per core. */
static inline uint64_t bench_rss_kib(void)
{
    return bench_proc_kib("/proc/self/smaps_rollup", "Rss:");
}

/* ru_maxrss survives exec, so it would include the parent's RSS.  The kernel takes VmHWM from counters that lag
 * a little, so it may be some hundred KiB below an exact RSS. */
static inline uint64_t bench_peak_kib(void)
{
    return bench_proc_kib("/proc/self/status", "VmHWM:");
}

/* RSS over time, for programs that ask about it. */
#define BENCH_SAMPLES 512

static uint64_t bench_start_ns;
static size_t bench_sample_count;
static struct {
    uint64_t ms, kib;
} bench_sample[BENCH_SAMPLES];

/* Records RSS with the time since the start, and returns it. */
static inline uint64_t bench_sample_rss(void)
{
    uint64_t kib = bench_rss_kib();
    if (bench_sample_count == BENCH_SAMPLES) bench_die("bench: too many samples of RSS");
    bench_sample[bench_sample_count].ms = (bench_now_ns() - bench_start_ns) / 1000000;
    bench_sample[bench_sample_count++].kib = kib;
    return kib;
}

static inline void bench_print_samples(void)
{
    for (size_t i = 0; i < bench_sample_count; i++)
        printf("%s%llu:%llu", i ? "," : " rss_over_time=", (unsigned long long)bench_sample[i].ms,
               (unsigned long long)bench_sample[i].kib);
}

#endif
