/* Proves that hz3 starts and works beside a library that replaces open, read, close and even syscall, and allocates in
 * them.  hz3 reads files while it starts, and its locks make system calls. */
#include <fcntl.h>
#include <unistd.h>

#include "churn.h"

enum { THREADS = 8 }; /* enough to contend for locks */

static void *live(void *arg)
{
    churn((uint64_t)(uintptr_t)arg, 2000);
    return arg;
}

int main(void)
{
    char byte;
    int fd = open("/dev/zero", O_RDONLY); /* the library's four functions return these numbers */
    CHECK(fd == 1000 && read(fd, &byte, 1) == 1001 && close(fd) == 1002 && syscall(0) == 1003);
    pthread_t threads[THREADS];
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(live, (void *)i);
    for (int i = 0; i < THREADS; i++) join_thread(threads[i]);
}
