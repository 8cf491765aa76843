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

/* Every free object is wiped.  Those that were freed are already.  Pages that were never used are zero, too.  But
 * malloc reads what it hands out, and the first read of such a page costs a fault, the first write another one.  So
 * small objects are written here.  Large ones are not: some of a batch may never be used. */
void hz3_fresh_prepare(const struct hz3_span *run, void **objects, unsigned taken, unsigned fresh)
{
    bool wipe = !run->zeroed || hz3_class_size(run->cls) <= hz3_os.page;
    for (unsigned i = taken - fresh; wipe && i < taken; i++) hz3_seal_wipe(objects[i], run->cls);
    for (unsigned i = 0; i < taken; i += SHUFFLED) shuffle(objects + i, hz3_min(taken - i, (unsigned)SHUFFLED));
}
