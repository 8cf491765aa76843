/* The heap profile (HZ3_PROFILE): the stack, size and thread of each sampled allocation, and the thread and the block's
 * age at its free.  They are added up in a table, which is written out as plain text.  A sampled object lies in a
 * large block of its own, whose descriptor has the number of the sample.
 *
 * The reader computes the weight of a sample: at a rate of r bytes one of s bytes was chosen with a probability of
 * 1 - exp(-s / r). */
#pragma once

#include "os/backtrace.h"
#include "os/lock.h"

/* Starts sampling one byte in `rate`, if there is room for the tables; 0 stops.  The first start loads the unwinder, so
 * call outside the gate, without locks.  Does nothing while another thread, or a caller of this one, is here. */
void hz3_profile_set(size_t rate);
/* The wanted rate.  `hz3 profile` writes it from outside, and hides the class table so that malloc sees it. */
extern HZ3_ATOMIC(size_t) hz3_profile_wanted;
extern HZ3_ATOMIC(size_t) hz3_profile_rate; /* the last that was not 0; 0: there is no profile */
/* Records that the large block p was just allocated for `bytes`, and sampled.  Call outside the gate. */
void hz3_profile_allocated(void *p, size_t bytes);
/* Records that the block p is being freed.  sample: its number, 0: it is none.  Takes no lock. */
void hz3_profile_freed(const void *p, uint32_t sample);
/* Records that a large block was resized, and is now at p.  sample: the number that it had, or 0. */
void hz3_profile_resized(const void *before, void *p, uint32_t sample, size_t bytes_before, size_t bytes);
/* Writes the table; `put` gets whole lines, outside the gate and the lock: other threads may add to the table. */
void hz3_profile_write(void (*put)(const char *text, size_t length));
extern struct hz3_lock hz3_profile_lock, hz3_profile_setting; /* for fork */

/* ---- the tables, for watch/pprof, which adds them up ---- */

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

/* Calls look, if any, under the lock, inside the gate, with frees counted.  False: there is no profile. */
bool hz3_profile_look(void (*look)(const struct hz3_profile_tables *tables, void *to), void *to);
