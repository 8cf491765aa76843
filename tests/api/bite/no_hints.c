/* Proves that hz3 works on a system whose address space ends below where it would like to be, up to a ceiling, if the
 * free check sets one, at which it says ENOMEM and from which on a refusal costs nothing. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hardship.h"
#include "support.h"

/* Below 512 GiB it would end, and this one's mappings are above 100 TiB. */
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
