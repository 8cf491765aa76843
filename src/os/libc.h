/* What glibc (2.33 and later) has and musl has not. */
#ifndef HZ3_OS_LIBC_H
#define HZ3_OS_LIBC_H

#include <malloc.h>
#include <sched.h>
#include <stddef.h>

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
