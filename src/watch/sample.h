/* Which allocations are looked at.  Off, it costs nothing on the fast paths.  On, the class table of malloc's fast path
 * is empty, so that every malloc takes the slow path and is counted there; free's stays as it is. */
#ifndef HZ3_WATCH_SAMPLE_H
#define HZ3_WATCH_SAMPLE_H

#include "base/types.h"

extern HZ3_ATOMIC(bool) hz3_sampling;

/* From now on one byte in `rate`, at random (a Poisson process, as in gperftools and jemalloc), chooses the allocation
 * it lies in for the profile: one of s bytes with a probability of 1 - exp(-s / rate).  0: none any more. */
void hz3_sample_start(size_t rate);
size_t hz3_sample_rate(void);
/* The same for guard pages: one allocation in `rate`. */
void hz3_sample_start_guards(size_t rate);

/* Counts an allocation of so many bytes, or growth by them, by this thread; whether it is chosen. */
bool hz3_sample_chooses(size_t bytes);
/* The same for guard pages. */
bool hz3_sample_chooses_to_guard(void);
/* With which an allocation of so many bytes is chosen at a rate. */
double hz3_sample_probability(size_t bytes, size_t rate);
/* True with such a probability. */
bool hz3_sample_chance(double probability);
/* Around what is done for a sample: nothing that this thread allocates meanwhile is counted. */
void hz3_sample_pause(void);
void hz3_sample_go_on(void);
#endif
