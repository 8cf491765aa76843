/* Makes the background thread run with the settings of the process, not with those of the thread that started it. */
#pragma once

#include <pthread.h>

/* Records on which processors the process may run; returns how many.  Call once, at the start. */
unsigned hz3_os_first_cpus(void);

/* pthread_create, past those of the program and of libraries before this one: theirs may take locks that a thread
 * holds while it allocates.  Known from hz3_os_libc_started on; libc's name until then. */
extern int (*hz3_os_make_worker)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
void hz3_os_find_make_worker(void);

/* Names the calling thread, one of hz3's, and makes it run as SCHED_OTHER, or as the main thread if that is SCHED_BATCH
 * or SCHED_IDLE, with the nice value of the main thread, on the processors that the process had at its start.  Reads
 * what it has first, and changes only what differs, usually nothing: a seccomp filter may kill for any change.  What
 * the system refuses stays as it is.  Changes errno. */
void hz3_os_become_worker(void);
/* The same, but for the nice value, for a thread that the calling one just made and did not detach yet: until a thread
 * first runs, which may take long where others do, it has its maker's policy and processors. */
void hz3_os_made_worker(pthread_t worker);
