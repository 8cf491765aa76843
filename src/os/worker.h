/* hz3's own thread is one of the process: it does not run as the thread that happened to make it. */
#ifndef HZ3_OS_WORKER_H
#define HZ3_OS_WORKER_H

/* Remembers on which processors the process may run; returns how many.  At the start, once. */
unsigned hz3_os_first_cpus(void);

/* From now on the calling thread, one of hz3's, runs as SCHED_OTHER with the nice value of the main thread, on the
 * processors that the process had at its start.  Asks for what it has first, and changes what differs, usually nothing:
 * a filter that the process began with may kill who changes any of these.  What the system refuses stays as it is.
 * Changes errno. */
void hz3_os_become_worker(void);
#endif
