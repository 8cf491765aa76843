/* Proves that exit ends a process with its status though another thread makes and frees large blocks, in the process or
 * in its parent. */
#include <stdlib.h>

#include "support.h"

enum { EXITS = 40, FORKS = 400, PATIENCE = 10 };

static size_t size = 300000;
enum { FULL = 131064 }; /* with its canary, in lane secure, it fills its pages; behind them may be no memory */

static void *make_large_blocks(void *unused)
{
    for (;;) {
        char *p = calloc(1, size);
        CHECK(p != NULL);
        p[0] = 1;
        free(forget(p));
    }
    return unused;
}

static void exit_beside(void *unused)
{
    (void)unused;
    free(forget(malloc(1)));
    start_thread(make_large_blocks, NULL);
    sleep_for(0.01);
    exit(0);
}

static void exit_at_once(void *unused)
{
    (void)unused;
    exit(0);
}

int main(void)
{
    for (int i = 0; i < EXITS; i++) expect_success(in_child(exit_beside, NULL), PATIENCE);
    size = FULL;
    for (int i = 0; i < EXITS; i++) expect_success(in_child(exit_beside, NULL), PATIENCE);
    start_thread(make_large_blocks, NULL);
    for (int i = 0; i < FORKS; i++) expect_success(in_child(exit_at_once, NULL), PATIENCE);
}
