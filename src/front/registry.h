/* The registry: which of the threads that joined still run.  Only the kernel knows of a thread that ended without its
 * destructors, by the system call or because a sandbox killed it.  Such a thread's memory may be unmapped or reused by
 * then, so its entry lies elsewhere.
 *
 * Must not know what a thread caches.  Everything here but hz3_registry_open is under hz3_threads_lock, so an entry
 * that is found is either held by its thread, or its thread is gone. */
#pragma once

#include "front/thread.h"

struct hz3_registry_entry {
    pthread_mutex_t there; /* its thread holds it; robust: the kernel marks it when the thread ends */
    struct hz3_thread *thread;
    struct hz3_heap *heap;
    struct hz3_registry_entry *next, *prev; /* the newest first */
    struct hz3_registry_entry *same_bucket;
    uint32_t gate_slot;           /* os/gate; 0: none of its own */
    HZ3_ATOMIC(intptr_t) claimed; /* what the thread claims of the total budget: its reserved - lent (front/budget) */
};

extern struct hz3_registry_entry *hz3_registry; /* its first entry, or NULL */
/* Walks that come to some entries at a time: where each goes on.  NULL: at the first. */
enum hz3_registry_walk { HZ3_WALK_LEND, HZ3_WALK_EMPTY, HZ3_WALKS };
extern struct hz3_registry_entry *hz3_registry_next[HZ3_WALKS];
extern HZ3_ATOMIC(bool) hz3_threads_several; /* more than one has joined, or had when the last one did */

/* Makes an entry, held by this thread; NULL: no memory. */
struct hz3_registry_entry *hz3_registry_open(void);
/* This thread no longer holds its entry. */
void hz3_registry_close(struct hz3_registry_entry *entry);

/* Returns the entry of an earlier thread whose memory was at the same place, or NULL. */
struct hz3_registry_entry *hz3_registry_add(struct hz3_registry_entry *entry, struct hz3_thread *thread,
                                            struct hz3_heap *heap);
/* Removes the entry, which does not exist after this. */
void hz3_registry_remove(struct hz3_registry_entry *entry);
bool hz3_registry_is_gone(struct hz3_registry_entry *entry);

/* The magazine that the entry is made of. */
void *hz3_registry_memory(struct hz3_registry_entry *entry);

/* In a forked child: only this entry is left, or none if it is NULL.  Does not write to the others. */
void hz3_registry_keep(struct hz3_registry_entry *own);
/* Its thread has a new number, and so has to take its entry's mutex anew. */
void hz3_registry_hold(struct hz3_registry_entry *entry);
