#include "front/processor.h"

#include "front/evict.h"
#include "front/refill.h"
#include "front/spares.h"
#include "variants/cpu_magazines.h"

/* Loads a magazine into the processor's slot, not the thread's.  A magazine that it displaces is evicted. */
static void give(struct hz3_thread *self, unsigned cls, void **top)
{
    if (*top) top = hz3_cpu_load(cls, top);
    if (top) hz3_evict_magazine(&self->cache, cls, top);
}

/* A refill by as many objects as a processor's magazine has room for.  Returns the top of their magazine, or NULL; the
 * thread has none left. */
static void **fetch(struct hz3_thread *self, unsigned cls)
{
    unsigned own = self->cache.capacity[cls];
    self->cache.capacity[cls] = (uint8_t)hz3_max(hz3_cpu_room(cls), own);
    bool loaded = hz3_refill(self, cls);
    self->cache.capacity[cls] = (uint8_t)own;
    void **top = self->cache.top[cls], **previous = self->cache.previous[cls];
    self->cache.top[cls] = self->cache.previous[cls] = HZ3_STUB_TOP;
    hz3_evict_magazine(&self->cache, cls, previous);
    if (loaded) return top;
    hz3_evict_magazine(&self->cache, cls, top);
    return NULL;
}

void *hz3_processor_malloc(struct hz3_thread *self, unsigned cls)
{
    void *p = hz3_cpu_take(cls);
    if (p) return p;
    void **top = hz3_cpu_take_previous(cls);
    if (!top) top = fetch(self, cls);
    if (!top) return NULL;
    p = *top;
    give(self, cls, top - 1);
    return p;
}

void hz3_processor_free(struct hz3_thread *self, void *p, unsigned cls)
{
    if (hz3_cpu_put(p, cls)) return;
    struct hz3_magazine *magazine = hz3_spares_get(&self->cache, cls);
    if (!magazine) {
        hz3_central_retire(cls, &p, 1);
        return;
    }
    void **top = hz3_magazine_open(magazine, hz3_cpu_room(cls));
    *++top = p;
    give(self, cls, top);
}
