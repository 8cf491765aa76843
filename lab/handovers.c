/* Linked into a copy of hz3 that is compiled with -fsanitize=thread.  It replaces the sanitizer, so the compiler's code
 * calls it at every read and write.  For each line of 64 bytes it stores which thread wrote it last, and which have
 * read it since.  It counts how often a line is written, or first read, by another thread than the last writer.  If
 * each thread has its own core, these accesses cost time.
 *
 * malloc counts as a write to the object's first line, as the program will write there.  All threads share one core and
 * take turns after a number of calls, so the counts hardly depend on the machine, and not on its noise. */
#define _GNU_SOURCE
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "back/page_map.h"
#include "hz3.h"
#include "middle/magazine.h"

enum { LINE_SHIFT = 6, LINES = 1 << 23, THREADS = 1 << 16, READERS = 48, TURN = 8 };
enum { STATES, MAGAZINES, BITMAPS, DESCRIPTORS, HEADS, OBJECTS, KINDS };
static const char *const names[] = {"states", "magazines", "bitmaps", "descriptors", "heads", "objects"};

/* | the threads that have read it since, by number modulo READERS: 48 bits | the last writer: 16 bits | */
static _Atomic uint64_t *lines;
static struct counts {
    uint64_t calls, mallocs, written[KINDS], fetched[KINDS];
} __attribute__((aligned(64))) counts[THREADS]; /* one for each thread */
static _Atomic uint32_t threads;
static _Thread_local uint32_t me __attribute__((tls_model("initial-exec")));

/* Defined by the linker: the start and the end of this library. */
extern char __ehdr_start[] __attribute__((visibility("hidden"))), _end[] __attribute__((visibility("hidden")));

static bool within(uintptr_t at, const void *start, size_t bytes)
{
    return at - (uintptr_t)start < bytes;
}

/* The kind of memory at this address, or KINDS if it is not counted. */
static int kind_of(uintptr_t at)
{
    const struct hz3_window *window = &hz3_windows[0];
    size_t granules = window->bytes >> HZ3_GRANULE_SHIFT;
    if (within(at, (void *)hz3_magazine_area, (size_t)1 << HZ3_MAGAZINE_AREA_BITS)) return MAGAZINES;
    if (within(at, window->spans, granules * sizeof *window->spans)) return DESCRIPTORS;
    if (within(at, window->tags, granules * sizeof *window->tags)) return DESCRIPTORS;
    if (within(at, window->free, granules * sizeof *window->free)) return BITMAPS;
    for (unsigned i = 0; i < hz3_state_tables; i++) {
        unsigned shift = hz3_state_table_shift(i);
        if (within(at, hz3_state_at(window->base, shift), window->bytes >> shift)) return STATES;
    }
    return within(at, __ehdr_start, (size_t)(_end - __ehdr_start)) ? HEADS : KINDS;
}

static _Atomic uint64_t *line_of(uintptr_t at)
{
    return &lines[(at >> LINE_SHIFT ^ (at >> 32) * 0x9e3779b1u) % LINES];
}

static void begin(void)
{
    if (!me) me = ++threads % THREADS;
    if (lines) return;
    void *got =
        mmap(NULL, LINES * sizeof *lines, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    lines = got == MAP_FAILED ? abort(), NULL : got; /* no other thread runs yet */
}

static void wrote_kind(uintptr_t at, int kind)
{
    _Atomic uint64_t *line = line_of(at);
    if (*line == me) return;
    uint64_t before = atomic_exchange_explicit(line, me, memory_order_relaxed) % THREADS;
    counts[me].written[kind] += before && before != me;
}

static void wrote(const volatile void *p)
{
    int kind = kind_of((uintptr_t)p);
    if (kind == KINDS) return;
    begin();
    wrote_kind((uintptr_t)p, kind);
}

static void has_read(const volatile void *p)
{
    int kind = kind_of((uintptr_t)p);
    if (kind == KINDS) return;
    begin();
    _Atomic uint64_t *line = line_of((uintptr_t)p);
    uint64_t bit = (uint64_t)THREADS << me % READERS, was = *line;
    if (!(was % THREADS) || was % THREADS == me || was & bit) return;
    atomic_fetch_or_explicit(line, bit, memory_order_relaxed);
    counts[me].fetched[kind]++;
}

/* ---- the sanitizer's functions that gcc calls for C ---- */

void __tsan_init(void) {}
void __tsan_func_entry(void *caller)
{
    (void)caller;
}
void __tsan_func_exit(void) {}
#define TOLD(name, what) \
    void __tsan_##name(void *p) \
    { \
        what(p); \
    }
#define ACCESS(bytes) \
    TOLD(read##bytes, has_read) \
    TOLD(write##bytes, wrote) TOLD(unaligned_read##bytes, has_read) TOLD(unaligned_write##bytes, wrote)
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
#define RANGE(name, what) \
    void __tsan_##name##_range(void *p, size_t bytes) \
    { \
        for (size_t i = 0; i < bytes; i += 1 << LINE_SHIFT) what((char *)p + i); \
    }
RANGE(read, has_read)
RANGE(write, wrote)

void __tsan_atomic_thread_fence(int order)
{
    (void)order, atomic_thread_fence(memory_order_seq_cst);
}
void __tsan_atomic_signal_fence(int order)
{
    (void)order;
}
#define CHANGE(bits, name, builtin) \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *p, uint##bits##_t value, int order) \
    { \
        (void)order; \
        wrote(p); \
        return builtin(p, value, __ATOMIC_SEQ_CST); \
    }
#define CAS(bits, name) \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *p, void *expected, \
                                                      uint##bits##_t value, int order, int fail) \
    { \
        (void)order, (void)fail; \
        wrote(p); \
        return atomic_compare_exchange_strong((volatile _Atomic uint##bits##_t *)p, (uint##bits##_t *)expected, \
                                              value); \
    }
#define ATOMIC(bits) \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *p, int order) \
    { \
        (void)order; \
        has_read(p); \
        return __atomic_load_n(p, __ATOMIC_SEQ_CST); \
    } \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *p, uint##bits##_t value, int order) \
    { \
        (void)order; \
        wrote(p); \
        __atomic_store_n(p, value, __ATOMIC_SEQ_CST); \
    } \
    CHANGE(bits, exchange, __atomic_exchange_n) \
    CHANGE(bits, fetch_add, __atomic_fetch_add) \
    CHANGE(bits, fetch_sub, __atomic_fetch_sub) \
    CHANGE(bits, fetch_or, __atomic_fetch_or) \
    CHANGE(bits, fetch_and, __atomic_fetch_and) \
    CAS(bits, strong) CAS(bits, weak)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

/* ---- the standard names ---- */

static void stay_on_one_core(void)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one); /* threads inherit it from the first */
}

static void called(void)
{
    begin();
    if (!counts[me].calls && me == 1) stay_on_one_core();
    if (++counts[me].calls % TURN == 0) sched_yield();
}

static void *took(void *p)
{
    called();
    counts[me].mallocs++;
    if (p) wrote_kind((uintptr_t)p, OBJECTS);
    return p;
}

void *malloc(size_t size)
{
    return took(hz3_malloc(size));
}
void *calloc(size_t nmemb, size_t size)
{
    return took(hz3_calloc(nmemb, size));
}
void *realloc(void *ptr, size_t size)
{
    return took(hz3_realloc(ptr, size));
}
void *aligned_alloc(size_t alignment, size_t size)
{
    return took(hz3_aligned_alloc(alignment, size));
}
int posix_memalign(void **memptr, size_t alignment, size_t size)
{
    return hz3_posix_memalign(memptr, alignment, size);
}
void *memalign(size_t alignment, size_t size)
{
    return took(hz3_memalign(alignment, size));
}
size_t malloc_usable_size(void *ptr)
{
    return hz3_malloc_usable_size(ptr);
}
void free(void *ptr)
{
    called();
    hz3_free(ptr);
}

static uint64_t sum(size_t offset)
{
    uint64_t all = 0;
    for (uint32_t i = 1; i <= threads; i++) all += *(uint64_t *)((char *)&counts[i] + offset);
    return all;
}

__attribute__((destructor)) static void say(void)
{
    (void)fprintf(stderr, "handovers: mallocs=%zu", (size_t)sum(offsetof(struct counts, mallocs)));
    for (size_t kind = 0; kind < KINDS; kind++)
        (void)fprintf(stderr, " written_%s=%zu fetched_%s=%zu", names[kind],
                      (size_t)sum(offsetof(struct counts, written) + kind * sizeof(uint64_t)), names[kind],
                      (size_t)sum(offsetof(struct counts, fetched) + kind * sizeof(uint64_t)));
    (void)fprintf(stderr, "\n");
}
