/* The gate: a fork closes it, and all code that takes a lock passes it.  (A seccomp filter for all threads closes it,
 * too, for the moment in which it comes.)
 *
 * A forked child has one thread and a copy of hz3's structures, which must be consistent.  If the fork held our locks,
 * they would be.  But the C library takes locks of its own in fork, after our handlers have run: of the list of
 * streams, of the loader, of the list of handlers.  A thread that holds one of those and allocates would wait for us,
 * and we for it.  So the thread that forks holds no lock.  It closes the gate and waits until every other thread is
 * outside.  Inside, no thread waits for a lock that is not hz3's, except to start the background thread, which it may
 * not while the gate is closed.
 *
 * A thread that finds the gate closed waits a little, and is then turned away: it has to do without locks
 * (back/fork_reserve, front/refill).  If it cannot, it goes in at last, but not while the system copies the process,
 * which takes seconds for the largest.  The child's structures are damaged only if it is inside when that begins.
 *
 * Each thread that joined has a slot that only it writes; all others share one.  Must not know what is behind the gate.
 */
#pragma once

#include "base/types.h"

extern HZ3_HIDDEN HZ3_ATOMIC(uint32_t) hz3_gate_closed; /* how many threads closed the gate */

/* Call around all code that takes a lock.  Calls nest, and inner ones always succeed.  False: a fork is under way; the
 * thread waited a little, is outside, and must do without locks. */
bool hz3_gate_enter(void);
void hz3_gate_leave(void);
/* For a thread that cannot do without locks: waits longer, then goes in. */
void hz3_gate_enter_at_last(void);
/* For a thread that holds no lock, not even another library's: waits until the gate is open. */
void hz3_gate_enter_patiently(void);
/* Whether this thread's last hz3_gate_enter returned false; whether it is inside, as a signal handler may find it. */
bool hz3_gate_turned_away(void);
bool hz3_gate_is_inside(void);

/* Claims a slot for this thread and returns its number; gives it up.  Call outside the gate.  A thread without a slot
 * uses the shared one, which is a little slower. */
uint32_t hz3_gate_claim_slot(void);
void hz3_gate_give_up_slot(void);
/* Gives up the slot of a thread that no longer exists, even if it ended inside. */
void hz3_gate_clear_slot(uint32_t slot);

/* Whether no thread forks, as far as this one has seen: for work that needs no lock, but had better wait for the fork,
 * and for long work inside, which ends early (back/purge.h). */
HZ3_INLINE bool hz3_gate_is_open(void)
{
    return !hz3_get(hz3_gate_closed);
}

/* For the thread that forks or brings a filter.  From close to open it may pass; the gate stops it only if another
 * thread forks too. */
void hz3_gate_close(void);
void hz3_gate_open(void);
/* Waits until no other thread is inside.  False: it gave up, and one may be.  It gives up after a long while; after a
 * short one if this thread is inside itself (a signal handler that forks), since others may wait for its locks. */
bool hz3_gate_drain(void);
/* In the child: forgets the other threads.  False: one of them was inside, or ended there, and its locks are taken. */
bool hz3_gate_after_fork(void);
