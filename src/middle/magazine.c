#include "middle/magazine.h"

#include "base/layout.h"

enum {
    EMPTY_STACKS = 16,
    BATCH = 4, /* magazines taken from the area at a time, and written; these neighbours are one thread's */
};
const struct hz3_magazine hz3_magazine_stub;
HZ3_TOGETHER HZ3_CACHE_ALIGNED struct hz3_lock hz3_magazine_lock;
static struct {
    struct hz3_stack stack;
} HZ3_CACHE_ALIGNED empties[EMPTY_STACKS];

_Static_assert(HZ3_MAGAZINE_AREA_BITS <= HZ3_STACK_NUMBER_BITS + 8, "every magazine of the area has a number");

struct hz3_magazine *hz3_magazine_carve(void)
{
    hz3_lock(&hz3_magazine_lock);
    struct hz3_magazine *bundle = (struct hz3_magazine *)hz3_arena_magazines(sizeof(struct hz3_magazine) * BATCH);
    hz3_unlock(&hz3_magazine_lock);
    for (int i = 0; bundle && i < BATCH; i++) bundle[i].word[1] = i + 1 < BATCH ? &bundle[i + 1] : NULL;
    if (bundle) bundle->header.top = BATCH;
    return bundle;
}

struct hz3_magazine *hz3_magazine_get_ready_bundle(unsigned hint)
{
    struct hz3_magazine *bundle = NULL;
    for (unsigned i = 0; i < EMPTY_STACKS && !bundle; i++)
        bundle = hz3_stack_pop(&empties[(hint + i) % EMPTY_STACKS].stack);
    return bundle;
}

void hz3_magazine_put_bundle(unsigned hint, struct hz3_magazine *bundle, unsigned count)
{
    bundle->header.top = (uint8_t)count;
    hz3_stack_push(&empties[hint % EMPTY_STACKS].stack, bundle);
}

/* Takes the first magazine of a bundle, and puts the rest back. */
static struct hz3_magazine *one_of(unsigned hint, struct hz3_magazine *bundle)
{
    if (bundle && bundle->word[1]) hz3_magazine_put_bundle(hint, bundle->word[1], bundle->header.top - 1u);
    return bundle;
}

struct hz3_magazine *hz3_magazine_get(unsigned hint)
{
    return one_of(hint, hz3_magazine_get_bundle(hint));
}

struct hz3_magazine *hz3_magazine_get_ready(unsigned hint)
{
    return one_of(hint, hz3_magazine_get_ready_bundle(hint));
}

void hz3_magazine_stock_up(void)
{
    for (unsigned i = 0; i < EMPTY_STACKS; i++) {
        struct hz3_magazine *bundle = hz3_stack_count(&empties[i].stack) ? NULL : hz3_magazine_carve();
        if (bundle) hz3_stack_push(&empties[i].stack, bundle);
    }
}

void hz3_magazine_put(unsigned hint, struct hz3_magazine *magazine)
{
    magazine->word[1] = NULL;
    hz3_magazine_put_bundle(hint, magazine, 1);
}

const struct hz3_place hz3_magazine_places[] = {
    HZ3_NUMBER("magazine.size", sizeof(struct hz3_magazine)),
    HZ3_FIELD("magazine.next", struct hz3_magazine, header.next),
    HZ3_FIELD("magazine.floor", struct hz3_magazine, header.floor),
    HZ3_FIELD("magazine.top", struct hz3_magazine, header.top),
    HZ3_FIELD("magazine.key", struct hz3_magazine, header.key),
    HZ3_PLACES_END,
};
