/* What glibc (2.33 and later) has and other C libraries may not have. */
#pragma once

#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

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

/* Whether aligned_alloc refuses this alignment, which is no power of two.  glibc rounded it up until 2.37; its memalign
 * still does.  musl takes 0. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
static inline bool hz3_libc_refuses_alignment(size_t alignment)
{
    if (!gnu_get_libc_version) return alignment;
    const char *version = gnu_get_libc_version();
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

/* glibc calls what was registered so, by the thread that ends, before all handlers of atexit. */
extern int __cxa_thread_atexit_impl(void (*function)(void *), void *argument, void *library) __attribute__((weak));
static inline void hz3_libc_before_exit(void (*function)(void *))
{
    static char here; /* an address in this library, which glibc then does not unload */
    if (&__cxa_thread_atexit_impl) __cxa_thread_atexit_impl(function, NULL, &here);
}

/* Whether the kernel has marked such a mutex.  Reads it: a trylock would write to its page, which a forked child
 * shares.
 */
static inline bool hz3_libc_owner_died(const pthread_mutex_t *mutex)
{
#ifdef __GLIBC__
    enum { OWNER_DIED = 0x40000000 }; /* FUTEX_OWNER_DIED; the layout is part of glibc's ABI */
    return __atomic_load_n(&mutex->__data.__lock, __ATOMIC_ACQUIRE) & OWNER_DIED;
#else
    (void)mutex;
    return false;
#endif
}

/* What an error number means, by glibc (2.32 and later) without a translation, for which it would allocate. */
extern const char *strerrordesc_np(int error) __attribute__((weak));
static inline const char *hz3_libc_describe(int error)
{
    const char *known = &strerrordesc_np ? strerrordesc_np(error) : NULL;
    return known ? known : strerror(error);
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
#endif
