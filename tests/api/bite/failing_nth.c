/* Proves that hz3 survives if the nth of its memory calls fails, or all from the nth on, for every n.  Once calls
 * succeed again, so do all requests.
 *
 *     failing_nth [STEP [FIRST]]     every STEP-th call, from number FIRST on */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "gate.h"
#include "hardship.h"
#include "support.h"

enum { LARGEST = KIB(200), MOST = 400 }; /* lane secure makes some 380 calls, and moves a block near their end */

static const int *counted; /* calls of which the nth fails */
static size_t counted_kinds;

static void live_behind_the_gate(void *arg)
{
    struct gate *gate = (struct gate *)arg;
    CHECK(malloc(MIB(60)) != NULL); /* most of a small window, so that the workload needs more than it has */
    gate_count(gate, counted, counted_kinds);
    endure(LARGEST);
    gate->last = 0;
    CHECK(endure(LARGEST) == 0);
}

static unsigned refused; /* bit i: a call of the kind memory_calls[i] */

/* Returns whether the workload reached call number `first`. */
static bool fail(struct gate *gate, long first, long last)
{
    *gate = (struct gate){.first = first, .last = last, .error = ENOMEM};
    expect_success(in_child(live_behind_the_gate, gate), 20);
    CHECK(gate->refused != 0 || gate->calls < first);
    refused |= gate->refused << (counted - memory_calls);
    return gate->calls >= first;
}

int main(int argc, char **argv)
{
    long step = argc > 1 ? atol(argv[1]) : 1, first = argc > 2 ? atol(argv[2]) : 1, n = first;
    CHECK(step > 0 && first > 0);
    struct gate *gate = mmap(NULL, sizeof(*gate), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(gate != MAP_FAILED);
    counted = memory_calls;
    counted_kinds = memory_calls_count;
    while (n <= MOST && fail(gate, n, n) && (n % 5 != 0 || fail(gate, n, LONG_MAX))) n += step;
    /* In lane secure the number of a call varies, so a kind of few calls may have been missed. */
    counted_kinds = 1;
    for (size_t i = 0; step == 1 && i < memory_calls_count; i++) {
        if (refused >> i & 1) continue;
        counted = &memory_calls[i];
        fail(gate, 1, 1);
    }
    CHECK(refused == (1U << memory_calls_count) - 1 || (refused != 0 && step > 1)); /* some kinds make few calls */
    printf("tried=%ld held=%ld\n", (n - first) / step, (n - first) / step);
}
