/* The tables of the heap profile, for watch/profile, which fills them, and watch/pprof, which adds them up. */
#pragma once

#include "os/backtrace.h"

/* Sizes of the tables, which are address space: pages are touched as they are needed. */
enum {
    HZ3_PROFILE_FRAMES = HZ3_CALLS_MAX,
    HZ3_PROFILE_STACKS = 1 << 14,
    HZ3_PROFILE_CELLS = 1 << 17,
    HZ3_PROFILE_SAMPLES = 1 << 20, /* live ones */
    HZ3_PROFILE_THREADS = 1 << 12,
};

struct hz3_profile_stack {
    uint32_t hash, depth; /* depth 0: unused */
    void *frames[HZ3_PROFILE_FRAMES];
};

/* How often an allocation by thread `by`, or (to != 0) its free by thread `to`, happened. */
struct hz3_profile_cell {
    uint64_t bytes, count; /* count 0: unused */
    uint32_t stack;        /* its index, plus 1 */
    uint16_t by, to;
    uint8_t age; /* by powers of two of ms: 0 to 32 */
};

struct hz3_profile_sample {
    size_t bytes;
    uint32_t stack, born, died; /* ms */
    uint16_t by, to;
    uint32_t next; /* in the list free_samples or freed */
};

struct hz3_profile_thread {
    HZ3_ATOMIC(int) tid; /* 0: not written yet */
    char name[16];       /* the thread writes this and the next at each of its samples */
    struct hz3_calls calls;
};

struct hz3_profile_tables {
    struct hz3_profile_stack stacks[HZ3_PROFILE_STACKS];
    struct hz3_profile_cell cells[HZ3_PROFILE_CELLS];
    struct hz3_profile_sample samples[HZ3_PROFILE_SAMPLES]; /* 0 is none */
    struct hz3_profile_thread threads[HZ3_PROFILE_THREADS];
};

/* Calls look under the lock, inside the gate, with frees counted.  False: there is no profile. */
bool hz3_profile_look(void (*look)(const struct hz3_profile_tables *tables, void *to), void *to);
