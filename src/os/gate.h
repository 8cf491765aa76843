/* The gate between fork and everything that takes a lock.
 *
 * A forked child has one thread and a copy of the heap, which must be whole.  Holding our locks across the fork would
 * make it so, but the C library takes locks of its own in fork, after our handlers have run: the list of streams, the
 * loader's, the list of handlers.  A thread that holds one of those and allocates would wait for us, and we for it.
 * So the thread that forks holds nothing.  It closes the gate and waits until every other thread is outside, which none
 * puts off for a lock of anybody else's.  Whoever comes to a closed gate waits a little; then it is turned away and has
 * to do without locks (back/fork_reserve, front/refill).  Who cannot goes in at last all the same; only if it is
 * inside at the very moment of the fork is that child's heap not whole.
 *
 * Each thread that joined has a slot of its own, in which only it writes; all others share one.  Knows nothing of what
 * is behind the gate. */
#ifndef HZ3_OS_GATE_H
#define HZ3_OS_GATE_H

#include "base/types.h"

/* Around all that takes a lock; nests, and the inner calls always succeed.  False: a fork is under way; the thread
 * waited a little, is outside, and must do without. */
bool hz3_gate_enter(void);
void hz3_gate_leave(void);
/* The same for who cannot do without: waits longer, then goes in. */
void hz3_gate_enter_at_last(void);
/* The same for who holds no lock of anybody's: waits as long as it takes. */
void hz3_gate_enter_patiently(void);
/* Whether this thread's last hz3_gate_enter was in vain; whether it is inside, as a signal handler may find it. */
bool hz3_gate_turned_away(void);
bool hz3_gate_is_inside(void);

/* A slot for this thread, from now on; and, outside, the end of that.  Without one it shares, which costs a little. */
void hz3_gate_claim_slot(void);
void hz3_gate_give_up_slot(void);

/* For fork.  From close to open this thread passes through the gate as if it were open, but for other threads' forks.
 */
void hz3_gate_close(void);
void hz3_gate_open(void);
/* Waits until no other thread is inside.  False: some may be.  That is after a long while, or after a short one where
 * this thread is inside itself, since a signal handler of its own landed there: others may wait for its locks. */
bool hz3_gate_drain(void);
/* In the child, where no other thread is inside any more, and none has closed it.  False: one was inside. */
bool hz3_gate_after_fork(void);
#endif
