/* Proves that a fork does not wait for a thread that a sandbox killed in a call of the allocator. */
#include <stdlib.h>
#include <sys/syscall.h>

#include "gate.h"
#include "support.h"

static bool survived;

/* Joins, then moves a block that cannot grow where it is. */
static void *be_killed(void *unused)
{
    free(forget(malloc(1)));
    char *block = malloc(MIB(1)), *behind = malloc(MIB(1));
    CHECK(block != NULL && behind != NULL);
    fill(block, MIB(1), 1);
    fill(behind, MIB(1), 2);
    gate_kill_threads(SYS_mremap);
    survived = realloc(block, MIB(64)) != NULL;
    return unused;
}

static void live(void *unused)
{
    (void)unused;
    for (size_t size = 8; size < MIB(4); size *= 2) {
        void *p = malloc(size);
        CHECK(p != NULL);
        fill(p, size, size);
        free(p);
    }
}

int main(void)
{
    join_thread(start_thread(be_killed, NULL));
    CHECK(!survived);
    double begun = now();
    expect_success(in_child(live, NULL), 10);
    CHECK(now() - begun < 5);
    live(NULL);
}
