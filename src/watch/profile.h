/* The heap profile: for each sampled allocation its stack, size and thread, and at its free the thread and its age,
 * added up in a table that is written out as plain text (HZ3_PROFILE).  A sampled object lies in a large block of its
 * own, whose descriptor has the number of the sample.
 *
 * What a sample stands for is the reader's business: one of s bytes at a rate of r bytes was chosen with a probability
 * of 1 - exp(-s / r). */
#ifndef HZ3_WATCH_PROFILE_H
#define HZ3_WATCH_PROFILE_H

#include "base/layout.h"
#include "os/lock.h"

/* Samples one byte in `rate` (0: none any more), if there is room for the tables. */
void hz3_profile_set(size_t rate);
/* The rate that is wanted: whoever takes a slow path sees to it.  hz3 profile writes it, from outside. */
extern HZ3_ATOMIC(size_t) hz3_profile_wanted;
/* p, of a large block's, was just allocated for so many bytes, and chosen.  To be called outside the gate. */
void hz3_profile_allocated(void *p, size_t bytes);
/* A sample (0: none), which is at p, is being freed.  Takes no lock. */
void hz3_profile_freed(const void *p, uint32_t sample);
/* A large block was resized, and is now at p; sample: that which it was, or 0. */
void hz3_profile_resized(const void *before, void *p, uint32_t sample, size_t bytes_before, size_t bytes);
/* Writes the table, line by line: `put` gets whole lines. */
void hz3_profile_write(void (*put)(const char *text, size_t length));
extern struct hz3_lock hz3_profile_lock, hz3_profile_setting; /* for fork */
extern const struct hz3_place hz3_profile_places[]; /* for readers outside: base/layout */
#endif
