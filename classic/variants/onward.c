#include "variants/onward.h"

#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/transfer_cache.h"
#include "variants/central_magazines.h"

bool hz3_onward_send(unsigned cls, struct hz3_magazine *magazine)
{
    return hz3_transfer_push(cls, magazine) || hz3_central_put_magazine(cls, magazine);
}

static void send(void ***waiting, unsigned cls)
{
    void **top = *waiting;
    *waiting = HZ3_STUB_TOP;
    if (top == HZ3_STUB_TOP) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    if (!hz3_onward_send(cls, magazine)) hz3_central_take_apart(cls, magazine);
}

void hz3_onward_put(struct hz3_outbox *outbox, unsigned cls, void *p)
{
    void ***waiting = &outbox->onward[cls];
    if (hz3_is_full(*waiting)) {
        send(waiting, cls);
        struct hz3_magazine *magazine = hz3_magazine_get(cls);
        if (!magazine) {
            hz3_central_retire(cls, &p, 1);
            return;
        }
        *waiting = hz3_magazine_open(magazine, hz3_class_info[cls].load);
    }
    *++*waiting = p;
}

void hz3_onward_flush(struct hz3_outbox *outbox)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) send(&outbox->onward[cls], cls);
}

HZ3_RACY size_t hz3_onward_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    return hz3_magazine_objects(outbox->onward[cls]);
}
