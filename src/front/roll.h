/* The roll: which of the threads that joined are still there, by the word of the kernel.  It alone learns of a thread
 * that ends without its destructors: by the system call, or where a sandbox kills it.  Such a thread's own memory may
 * be unmapped or another's by then, so what the roll has of it lies elsewhere.
 *
 * Must not know what a thread caches.  Everything here but hz3_roll_open is under hz3_threads_lock: whoever finds an
 * entry finds it held, or its thread gone. */
#ifndef HZ3_FRONT_ROLL_H
#define HZ3_FRONT_ROLL_H

#include "front/thread.h"

struct hz3_roll_entry {
    pthread_mutex_t there; /* its thread holds it; robust, so that the kernel marks it when that ends */
    struct hz3_thread *thread;
    struct hz3_heap *heap;
    struct hz3_roll_entry *next, *prev; /* the newest first */
    struct hz3_roll_entry *same_bucket;
};

extern struct hz3_roll_entry *hz3_roll; /* its first entry, or NULL */

void hz3_roll_start(void);
/* For this thread; NULL: no memory. */
struct hz3_roll_entry *hz3_roll_open(void);
/* This thread's entry is ended, by itself. */
void hz3_roll_close(struct hz3_roll_entry *entry);

void hz3_roll_enter(struct hz3_roll_entry *entry, struct hz3_thread *thread, struct hz3_heap *heap);
/* The entry is gone after this. */
void hz3_roll_strike(struct hz3_roll_entry *entry);
/* Of a thread whose memory is at the same place, or NULL. */
struct hz3_roll_entry *hz3_roll_find(const struct hz3_thread *thread);
bool hz3_roll_is_gone(struct hz3_roll_entry *entry);

/* In a forked child, for the entry of its one thread, which has another number now. */
void hz3_roll_after_fork(struct hz3_roll_entry *own);
#endif
