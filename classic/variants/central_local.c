#include "variants/central_local.h"

#include "variants/central_magazines.h"

static void give_back(unsigned cls, struct hz3_magazine *magazine)
{
    if (magazine && !hz3_central_put_magazine(cls, magazine)) hz3_central_take_apart(cls, magazine);
}

struct hz3_magazine *hz3_kept_take(unsigned cls, bool collision)
{
    struct hz3_magazine *magazine = hz3_outbox && cls < HZ3_OUTBOX_CENTRAL ? hz3_outbox->central[cls] : NULL;
    if (magazine) hz3_outbox->central[cls] = NULL;
    if (!collision) return magazine;
    give_back(cls, magazine);
    return NULL;
}

void hz3_kept_put(unsigned cls, void **objects, unsigned n)
{
    struct hz3_outbox *outbox = n ? hz3_outbox_get() : NULL;
    struct hz3_magazine *magazine = outbox ? hz3_magazine_get(cls) : NULL;
    if (magazine) {
        void **top = hz3_magazine_open(magazine, n);
        for (unsigned i = n; i--;) *++top = objects[i];
        outbox->central[cls] = hz3_magazine_close(top);
    } else if (n) {
        hz3_central_retire(cls, objects, n);
    }
}

void hz3_kept_flush(struct hz3_outbox *outbox, const bool *used)
{
    for (unsigned cls = 1; cls < HZ3_OUTBOX_CENTRAL; cls++) {
        if (used && used[cls]) continue;
        struct hz3_magazine *magazine = outbox->central[cls];
        outbox->central[cls] = NULL;
        give_back(cls, magazine);
    }
}

/* Read once: its thread may take it meanwhile. */
HZ3_RACY size_t hz3_kept_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    if (cls >= HZ3_OUTBOX_CENTRAL) return 0;
    const struct hz3_magazine *magazine = *(struct hz3_magazine *const volatile *)&outbox->central[cls];
    return magazine ? hz3_magazine_count(magazine) : 0;
}
