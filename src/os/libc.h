/* What glibc (2.33 and later) has and other C libraries may not have. */
#ifndef HZ3_OS_LIBC_H
#define HZ3_OS_LIBC_H

#include <malloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

/* glibc's since 2.32: no second thread was ever started. */
extern char __libc_single_threaded __attribute__((weak));
static inline bool hz3_libc_single_threaded(void)
{
    return &__libc_single_threaded && __libc_single_threaded;
}

/* Of aligned_alloc: glibc rounded alignments up to a power of two until 2.37, as memalign does still. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));
static inline bool hz3_libc_refuses_odd_alignment(void)
{
    const char *version = gnu_get_libc_version ? gnu_get_libc_version() : "musl";
    return version[0] != '2' || version[1] != '.' || version[2] > '3' || (version[2] == '3' && version[3] > '7');
}

#ifndef __GLIBC__
/* Whoever calls these brings the structures along. */
struct mallinfo {
    int arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};
struct mallinfo2 {
    size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks, keepcost;
};

/* Fails: it would have to be a system call, of which hz3 makes none but those in os.h. */
static inline int getcpu(unsigned *cpu, unsigned *node)
{
    *cpu = *node = 0;
    return -1;
}
#endif
#endif
