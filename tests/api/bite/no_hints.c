/* Proves that hz3 works where the address space does not reach up to its preferred addresses.  With the free check the
 * heap may be bounded there.  At that bound malloc returns ENOMEM, and repeated refusals map nothing. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hardship.h"
#include "support.h"

/* An address space of 512 GiB.  Above 100 TiB lies what this process already has, such as its stack. */
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    bool beyond = (uintptr_t)at >= (uintptr_t)1 << 39 && (uintptr_t)at < (uintptr_t)100 << 40;
    if (!beyond) return (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

enum { SIZE = MIB(1), MOST = 4096 };

int main(void)
{
    static void *blocks[MOST];
    size_t n = 0;
    while (n < MOST && (blocks[n] = malloc(SIZE))) n++;
    CHECK(n > 16);
    size_t before = status_bytes("VmSize:");
    for (int i = 0; i < 20 && n < MOST; i++) CHECK(!malloc(SIZE) && errno == ENOMEM);
    CHECK(status_bytes("VmSize:") == before);
    for (size_t half = n / 2; n > half;) free(blocks[--n]);
    for (int i = 0; i < 8; i++) CHECK(blocks[n++] = malloc(SIZE));
    while (n) free(blocks[--n]);
}
