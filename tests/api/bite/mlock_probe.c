/* Says, in bytes, what it has locked and resident after some work under mlockall(MCL_FUTURE). */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "support.h"

enum { BLOCKS = 40000 };

static void *p[BLOCKS];

int main(void)
{
    if (mlockall(MCL_FUTURE) != 0) {
        printf("refused %d\n", errno);
        return 0;
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        size_t size = i % 1000 ? 16 + i * 7 % 2000 : KIB(200);
        p[i] = malloc(size);
        CHECK(p[i] != NULL);
        memset(p[i], 1, size);
    }
    for (size_t i = 0; i < BLOCKS; i += 2) free(p[i]);
    printf("%zu %zu\n", status_bytes("VmLck:"), status_bytes("VmRSS:"));
}
