/* Makes the background thread run with the settings of the process, not with those of the thread that started it. */
#ifndef HZ3_OS_WORKER_H
#define HZ3_OS_WORKER_H

/* Records on which processors the process may run; returns how many.  Call once, at the start. */
unsigned hz3_os_first_cpus(void);

/* Makes the calling thread, one of hz3's, run as SCHED_OTHER, with the nice value of the main thread, on the processors
 * that the process had at its start.  Reads what it has first, and changes only what differs, usually nothing: a
 * seccomp filter may kill for any change.  What the system refuses stays as it is.  Changes errno. */
void hz3_os_become_worker(void);
#endif
