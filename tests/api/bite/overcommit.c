/* Proves that hz3 starts and works where the kernel never overcommits (vm.overcommit_memory = 2) and so counts every
 * reservation.  Memory that hz3 gives back is no longer counted.  The test is skipped where the kernel overcommits,
 * since a test must not change the host. */
#include <malloc.h>
#include <stdlib.h>

#include "hardship.h"
#include "support.h"

enum { BLOCKS = 4000, LARGE = 64, LARGE_BYTES = 1 << 20 };

static void allocate(void **blocks, size_t count, size_t bytes)
{
    for (size_t i = 0; i < count; i++) CHECK(blocks[i] = calloc(1, bytes));
}

static void release(void **blocks, size_t count)
{
    for (size_t i = 0; i < count; i++) free(blocks[i]);
}

static void what_is_given_back_counts_no_more(void)
{
    static void *small[BLOCKS], *large[LARGE];
    size_t before = status_bytes("VmData:"), bytes = (size_t)BLOCKS * 4096 + (size_t)LARGE * LARGE_BYTES;
    allocate(small, BLOCKS, 4096);
    allocate(large, LARGE, LARGE_BYTES);
    CHECK(status_bytes("VmData:") >= before + bytes);
    release(small, BLOCKS);
    release(large, LARGE);
    malloc_trim(0);
    CHECK(status_bytes("VmData:") < before + bytes / 4);
}

int main(void)
{
    if (!never_overcommits()) skip_test("vm.overcommit_memory is not 2 here");
    what_is_given_back_counts_no_more();
    CHECK(endure(MIB(8)) == 0);
}
