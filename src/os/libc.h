/* What glibc (2.33 and later) has and other C libraries may not have. */
#ifndef HZ3_OS_LIBC_H
#define HZ3_OS_LIBC_H

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* glibc has this since 2.32: whether no second thread was ever started. */
extern char __libc_single_threaded __attribute__((weak));
static inline bool hz3_libc_counts_threads(void)
{
    return &__libc_single_threaded;
}
static inline bool hz3_libc_single_threaded(void)
{
    return hz3_libc_counts_threads() && __libc_single_threaded;
}

/* Whether aligned_alloc refuses an alignment that is no power of two.  glibc rounded it up until 2.37; its memalign
 * still does. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
static inline bool hz3_libc_refuses_odd_alignment(void)
{
    const char *version = gnu_get_libc_version ? gnu_get_libc_version() : "musl";
    return version[0] != '2' || version[1] != '.' || version[2] > '3' || (version[2] == '3' && version[3] > '7');
}

/* The kernel marks such a mutex when the thread that holds it ends.  Does nothing on musl, which would make a system
 * call for it in each thread that locks one. */
static inline void hz3_libc_make_robust(pthread_mutexattr_t *kind)
{
#ifdef __GLIBC__
    pthread_mutexattr_setrobust(kind, PTHREAD_MUTEX_ROBUST);
#else
    (void)kind;
#endif
}

#ifndef RTLD_DEEPBIND
#define RTLD_DEEPBIND 0
#endif

#ifndef __GLIBC__
/* For programs that call mallinfo and declare the structures themselves. */
struct mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* Fails: it would have to make a system call, and hz3 makes none but those in os.h. */
static inline int getcpu(unsigned *cpu, unsigned *node)
{
    *cpu = *node = 0;
    return -1;
}
#endif
#endif
