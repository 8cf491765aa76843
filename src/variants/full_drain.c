#include "variants/full_drain.h"

#include "middle/central.h"
#include "middle/owner_stash_transport.h"

struct hz3_magazine *hz3_full_drain_get(unsigned cls)
{
    struct hz3_outbox *outbox = hz3_outbox;
    if (!outbox || !outbox->spill[cls].first) return NULL;
    struct hz3_spill *spill = &outbox->spill[cls];
    struct hz3_magazine *magazine = spill->first;
    spill->first = hz3_magazine_below(magazine);
    spill->count--;
    return magazine;
}

bool hz3_full_drain_put(unsigned cls, struct hz3_magazine *magazine)
{
    struct hz3_outbox *outbox = hz3_outbox_get();
    if (!outbox || outbox->spill[cls].count == HZ3_SPILL_MAGAZINES) return false;
    struct hz3_spill *spill = &outbox->spill[cls];
    hz3_set(magazine->header.next, spill->first ? hz3_magazine_number(spill->first) : 0);
    spill->first = magazine;
    spill->count++;
    return true;
}

void hz3_transport_flush_spill(struct hz3_spill *spill, unsigned cls)
{
    for (struct hz3_magazine *magazine = spill->first, *next; magazine; magazine = next) {
        next = hz3_magazine_below(magazine);
        hz3_central_take_apart(cls, magazine);
    }
    *spill = (struct hz3_spill){0};
}

HZ3_RACY size_t hz3_transport_spilled(const struct hz3_spill *spill)
{
    size_t objects = 0;
    for (struct hz3_magazine *magazine = spill->first; magazine; magazine = hz3_magazine_below(magazine))
        objects += hz3_magazine_count(magazine);
    return objects;
}
