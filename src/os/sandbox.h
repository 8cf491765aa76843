/* Which threads a seccomp filter binds, as far as hz3 sees it (api/interpose).  A bound thread makes only the calls
 * that os.h lists: it opens no files and starts no thread.  Must not know what hz3 does instead. */
#pragma once

#include "base/types.h"

enum { HZ3_SANDBOX_NONE, HZ3_SANDBOX_SOME, HZ3_SANDBOX_ALL }; /* which threads of the process are bound */
extern HZ3_ATOMIC(uint32_t) hz3_sandbox;

/* Whether this thread is bound, or may be.  A thread is known to be free if it joined before there was any filter,
 * since a filter passes on to threads that a bound thread starts. */
bool hz3_sandboxed(void);
/* Call before this thread installs a filter.  True: this is a child that was not made by libc's fork (after vfork it
 * shares the parent's memory).  It counts as bound from now on, and the process that hz3 knows does not. */
bool hz3_sandbox_binds_child(void);
/* This thread installs a filter; all_threads: for all threads of the process.  Returns the filter's number, from 1. */
uint32_t hz3_sandbox_enter(bool all_threads);
/* The system refused that filter.  If it is the only one that came, nobody is bound. */
void hz3_sandbox_refused(uint32_t filter);
/* By a thread that joins, or begins.  made_by_free: a thread that is not bound made it. */
void hz3_sandbox_join(bool made_by_free);
/* In the child of a fork; hz3_os.pid is the child's by then.  bound: hz3_sandboxed() before it was. */
void hz3_sandbox_set(bool bound);
