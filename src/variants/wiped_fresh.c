/* In the place of back/fresh.c. */
#include "back/fresh.h"

#include "os/random.h"
#include "variants/seal.h"

enum { SHUFFLED = 4 }; /* more would be harder to guess, but neighbours in time would be too far from each other */

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

/* The first read of a page that was never used costs a fault, and the first write another one.  malloc looks at what it
 * hands out, so there is a write first. */
static void touch(uintptr_t from, uintptr_t end)
{
    for (; from < end; from = (from | (hz3_os.page - 1)) + 1) *(volatile char *)from = 0;
}

/* Every free object is wiped.  Those that were freed are already.  Pages that were never used are zero, too.  In these
 * only small objects are prepared: of large ones in a batch some may never be used, and malloc touches them. */
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
    prepare(run, objects + taken - fresh, fresh);
    for (unsigned i = 0; i < taken; i += SHUFFLED) shuffle(objects + i, hz3_min(taken - i, (unsigned)SHUFFLED));
}
