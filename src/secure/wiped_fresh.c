#include "back/run.h"

#include "os/thread_random.h"
#include "secure/seal.h"
#include "secure/sweep.h"

enum {
    SHUFFLED = 4, /* more would be harder to guess, but neighbours in time would be too far from each other */
    TAKES_PER_LOOK = 16,
};

static _Thread_local uint32_t takes;

/* Fisher and Yates. */
static void shuffle(void **objects, unsigned n)
{
    for (unsigned i = n; i > 1; i--) {
        unsigned other = hz3_random_below(i);
        void *p = objects[i - 1];
        objects[i - 1] = objects[other];
        objects[other] = p;
    }
}

/* In a page that was never used the first read costs a fault, and the first write another one.  malloc reads what it
 * hands out, so this writes first. */
static void touch(uintptr_t from, uintptr_t end)
{
    for (; from < end; from = (from | (hz3_os.page - 1)) + 1) *(volatile char *)from = 0;
}

/* Every free object has to be zero.  Freed ones are already, and so are pages that were never used.  In such pages only
 * small objects are touched: some large ones of a batch may never be used, so malloc touches each when it needs it. */
static void prepare(const struct hz3_span *run, void **objects, unsigned count)
{
    size_t size = hz3_class_size(run->cls);
    if (!run->zeroed)
        for (unsigned i = 0; i < count; i++) hz3_seal_wipe(objects[i], run->cls);
    else if (size <= HZ3_PREPARED)
        touch((uintptr_t)objects[0], (uintptr_t)objects[0] + count * size);
}

void hz3_fresh_prepare(const struct hz3_span *run, void **objects, unsigned taken, unsigned fresh)
{
    if (++takes % TAKES_PER_LOOK == 0) hz3_sweep_some();
    prepare(run, objects + taken - fresh, fresh);
    for (unsigned i = 0; i < taken; i += SHUFFLED) shuffle(objects + i, hz3_min(taken - i, (unsigned)SHUFFLED));
}
