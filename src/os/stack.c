#define _GNU_SOURCE
#include "os/stack.h"

#include "os/os.h"
#include "os/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/uio.h>

static int (*unwind)(void **frames, int max);

void hz3_os_stack_start(void)
{
    void *first[1];
    unwind = (int (*)(void **, int))dlsym(RTLD_DEFAULT, "backtrace");
    if (unwind && unwind(first, 1) < 1) unwind = NULL; /* glibc's needs libgcc_s, which a small container may lack */
}

/* A register that is no frame pointer may hold anything, so the kernel reads for us: it refuses what is not mapped. */
static bool read_frame(uintptr_t at, uintptr_t frame[2])
{
    struct iovec to = {frame, 2 * sizeof *frame}, from = {(void *)at, 2 * sizeof *frame};
    return at % sizeof(void *) == 0 &&
           process_vm_readv(hz3_os.pid, &to, 1, &from, 1, 0) == (ssize_t)(2 * sizeof *frame);
}

/* Inline, so that the frame is that of the function below, and the first return address is in its caller. */
HZ3_INLINE unsigned follow_frame_pointers(void **frames, unsigned max)
{
    int saved = errno;
    unsigned n = 0;
    uintptr_t at = (uintptr_t)__builtin_frame_address(0), frame[2];
    while (n < max && read_frame(at, frame) && frame[1]) {
        frames[n++] = (void *)frame[1];
        if (frame[0] <= at) break;
        at = frame[0];
    }
    errno = saved;
    return n;
}

HZ3_NOINLINE unsigned hz3_os_stack(void **frames, unsigned max)
{
    if (!unwind) return !hz3_sandboxed() ? follow_frame_pointers(frames, max) : 0;
    int saved = errno, n = unwind(frames, (int)max);
    errno = saved;
    return n > 0 ? (unsigned)n : 0;
}
