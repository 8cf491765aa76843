/* Proves that hz3 starts and serves where another library has taken open, read, close and even syscall, and allocates
 * in them: hz3 reads files while it starts, and its locks make system calls. */
#include <fcntl.h>
#include <unistd.h>

#include "churn.h"

static void *live(void *arg)
{
    churn(2, 200);
    return arg;
}

int main(void)
{
    char byte;
    int fd = open("/dev/zero", O_RDONLY); /* all four are the library's */
    CHECK(fd == 1000 && read(fd, &byte, 1) == 1001 && close(fd) == 1002 && syscall(0) == 1003);
    churn(1, 200);
    join_thread(start_thread(live, NULL));
}
