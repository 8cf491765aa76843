/* Orphans: what the threads had cached that a fork left in the parent.  Their child has a copy of it, but not them.  At
 * the fork the child only notes where the magazines are: to write to them would copy pages, and many a child only
 * execs. Later its refills take them one by one, and passes retire what no refill wanted.
 *
 * The notes are the child's, and so are those of the child before it that it has not come to. */
#pragma once

#include "front/thread.h"

/* In a forked child, which has one thread: notes all that the thread had, and its entry of the registry.  Writes to
 * neither. Where there is no memory for notes it forgets the rest. */
void hz3_orphans_note(const struct hz3_thread *gone);
void hz3_orphans_noted(void); /* after the last of them */

/* A closed magazine of the class that is not empty, or NULL. */
struct hz3_magazine *hz3_orphans_pop(unsigned cls);
/* Retires what lay untouched since the last call, a page of notes at most; or `all`.  Class 0: what is of no class. */
void hz3_orphans_trim(unsigned cls, bool all);

size_t hz3_orphans_objects(unsigned cls);      /* in magazines, and in outboxes */
extern HZ3_ATOMIC(size_t) hz3_orphans_waiting; /* bytes, each magazine counted as full */
extern struct hz3_lock hz3_orphans_lock;       /* for fork */
