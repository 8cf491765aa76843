/* The heap profile (HZ3_PROFILE): the stack, size and thread of each sampled allocation, and the thread and the block's
 * age at its free.  They are added up in a table, which is written out as plain text.  A sampled object lies in a
 * large block of its own, whose descriptor has the number of the sample.
 *
 * The reader computes the weight of a sample: at a rate of r bytes one of s bytes was chosen with a probability of
 * 1 - exp(-s / r). */
#pragma once

#include "os/lock.h"

/* Starts sampling one byte in `rate`, if there is room for the tables; 0 stops. */
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
/* Writes the table; `put` gets whole lines. */
void hz3_profile_write(void (*put)(const char *text, size_t length));
extern struct hz3_lock hz3_profile_lock, hz3_profile_setting; /* for fork */
