/* Starts hz3.  A thread's first call, whichever it is, takes a slow path; if hz3 has not started, that starts it. */
#pragma once

#include "base/types.h"

extern HZ3_ATOMIC(bool) hz3_started;
void hz3_start(void);
void hz3_fork_prepare(void), hz3_fork_parent(void), hz3_fork_child(void); /* for pthread_atfork: api/fork.c */
/* Has it work as hz3_options has it now; option: the field that changed.  The options' lock is held. */
void hz3_option_changed(const size_t *option);
/* The process's memory is no longer locked. */
void hz3_memory_unlocked(void);

HZ3_INLINE void hz3_ensure_started(void)
{
    if (unlikely(!hz3_load(hz3_started, memory_order_acquire))) hz3_start();
}
