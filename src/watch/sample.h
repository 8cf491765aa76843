/* Chooses the allocations that the heap profile and the guard pages sample.  While it is off it costs nothing on the
 * fast paths.  While it is on, the class table of malloc's fast path is empty, so every malloc takes the slow path and
 * is counted there.  free's fast path does not change. */
#pragma once

#include "front/thread.h"

/* Which kinds there are: none; bytes alone; guard pages, and maybe bytes. */
enum hz3_sampling { HZ3_SAMPLING_NONE, HZ3_SAMPLING_BYTES, HZ3_SAMPLING_GUARDS };
extern HZ3_ATOMIC(uint32_t) hz3_sampling;

enum hz3_sample_kind { HZ3_SAMPLE_PROFILE, HZ3_SAMPLE_GUARD, HZ3_SAMPLE_KINDS }; /* in bytes, in allocations */
/* Starts sampling.  For the profile one in `rate` of all allocated bytes is chosen at random (a Poisson process, as in
 * gperftools and jemalloc), and with it its allocation.  An allocation of s bytes is chosen with probability 1 - exp(-s
 * / rate).  For guard pages it is one allocation in `rate`.  0 stops. */
void hz3_sample_start(enum hz3_sample_kind kind, size_t rate);
size_t hz3_sample_rate(void); /* of the profile */

/* A thread's counters.  left: how much until the next chosen allocation; below 0: not drawn yet.  While bytes alone are
 * sampled what is left of them is in hz3_thread.unsampled. */
struct hz3_sampler {
    uint64_t random; /* 0: not seeded yet */
    int64_t left[HZ3_SAMPLE_KINDS];
    bool off[HZ3_SAMPLE_KINDS]; /* when the thread looked last; `left` was not drawn then */
    uint32_t paused;
    int64_t kept; /* while it is paused: hz3_thread.unsampled */
};
extern HZ3_HIDDEN _Thread_local struct hz3_sampler hz3_sampler;

/* Counts an allocation for both kinds.  False: one of them may choose it, or nothing was counted; call the two
 * functions below. */
HZ3_INLINE bool hz3_sample_spares(size_t bytes)
{
    struct hz3_sampler *mine = &hz3_sampler;
    int64_t units = (int64_t)hz3_units_of(bytes);
    if (likely(hz3_thread.unsampled >= units)) return hz3_thread.unsampled -= units, true;
    int64_t bytes_left = mine->left[HZ3_SAMPLE_PROFILE] - (int64_t)bytes, left = mine->left[HZ3_SAMPLE_GUARD] - 1;
    if (unlikely((bytes_left | left) < 0 || mine->paused)) return false;
    mine->left[HZ3_SAMPLE_PROFILE] = bytes_left;
    mine->left[HZ3_SAMPLE_GUARD] = left;
    return true;
}

/* Counts an allocation of `bytes`, or growth by `bytes`, by this thread.  True: it is sampled. */
bool hz3_sample_chooses(size_t bytes);
/* The same for guard pages. */
bool hz3_sample_chooses_to_guard(void);
/* The probability with which an allocation of so many bytes is chosen. */
double hz3_sample_probability(size_t bytes, size_t rate);
/* True with such a probability. */
bool hz3_sample_chance(double probability);
/* Call around the work for a sample: nothing that this thread allocates meanwhile is counted. */
void hz3_sample_pause(void);
void hz3_sample_go_on(void);
