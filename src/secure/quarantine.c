#include "secure/quarantine.h"

#include "back/page_map.h"
#include "base/check.h"
#include "middle/central.h"
#include "secure/seal.h"

void hz3_quarantine_look(const void *p, unsigned cls)
{
    if (!hz3_seal_is_wiped(p, hz3_class_size(cls))) hz3_misuse(HZ3_SEAL_OVERWRITTEN_LATE, p);
}

size_t hz3_quarantine_flush(struct hz3_outbox *outbox)
{
    size_t bytes = 0;
    for (unsigned i = 0; outbox && i < HZ3_WAITING; i++) {
        void *p = outbox->waiting[i];
        outbox->waiting[i] = NULL;
        if (!p) continue;
        unsigned cls = hz3_class_at(p);
        hz3_quarantine_look(p, cls);
        hz3_central_retire(cls, &p, 1);
        bytes += hz3_class_size(cls);
    }
    return bytes;
}

HZ3_RACY size_t hz3_quarantine_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    size_t count = 0;
    for (unsigned i = 0; i < HZ3_WAITING; i++) count += outbox->waiting[i] && hz3_class_at(outbox->waiting[i]) == cls;
    return count;
}

HZ3_RACY bool hz3_quarantine_has(const struct hz3_outbox *outbox, const void *p)
{
    for (unsigned i = 0; outbox && i < HZ3_WAITING; i++)
        if (outbox->waiting[i] == p) return true;
    return false;
}
