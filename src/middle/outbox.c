#include "middle/outbox.h"

#include "back/arena.h"
#include "base/layout.h"

enum {
    /* The area deals out powers of two. */
    OUTBOX_BYTES = sizeof(struct hz3_outbox) <= 1024   ? 1024
                   : sizeof(struct hz3_outbox) <= 2048 ? 2048
                   : sizeof(struct hz3_outbox) <= 4096 ? 4096
                                                       : 8192,
};
_Static_assert(sizeof(struct hz3_outbox) <= OUTBOX_BYTES, "a outbox fits");

_Thread_local struct hz3_outbox *hz3_outbox;
struct hz3_lock hz3_outbox_lock;
static struct free_outbox {
    struct free_outbox *next;
} *free_outboxes;

static struct hz3_outbox *take(void)
{
    hz3_lock(&hz3_outbox_lock);
    struct free_outbox *outbox = free_outboxes;
    if (outbox) free_outboxes = outbox->next;
    hz3_unlock(&hz3_outbox_lock);
    if (outbox) return (struct hz3_outbox *)outbox;
    hz3_lock(&hz3_magazine_lock);
    outbox = (struct free_outbox *)hz3_arena_magazines(OUTBOX_BYTES);
    hz3_unlock(&hz3_magazine_lock);
    return (struct hz3_outbox *)outbox;
}

struct hz3_outbox *hz3_outbox_get(void)
{
    if (likely(hz3_outbox != NULL)) return hz3_outbox;
    struct hz3_outbox *outbox = take();
    if (!outbox) return NULL;
    hz3_outbox_clear(outbox);
    hz3_fence(memory_order_release); /* statistics look into other threads' outboxes */
    return hz3_outbox = outbox;
}

void hz3_outbox_put(struct hz3_outbox *outbox)
{
    struct free_outbox *free_outbox = (struct free_outbox *)outbox;
    hz3_lock(&hz3_outbox_lock);
    free_outbox->next = free_outboxes;
    free_outboxes = free_outbox;
    hz3_unlock(&hz3_outbox_lock);
}

const struct hz3_place hz3_outbox_places[] = {
    HZ3_NUMBER("outbox.size", sizeof(struct hz3_outbox)),
    HZ3_FIELD("outbox.outgoing", struct hz3_outbox, outgoing),
    HZ3_OUTBOX_PLACES HZ3_PLACES_END,
};
