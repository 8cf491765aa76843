#include "front/thread.h"

#include "os/os.h"

void hz3_thread_wait_for_visitor(struct hz3_thread *self)
{
    while (hz3_load(self->visited, memory_order_acquire)) hz3_os_wait(&self->visited, 1, 1);
}

/* The words of a loaded magazine that the visitor took are NULL; the topmost of them is the floor. */
void hz3_thread_lose_visitor(struct hz3_thread *self)
{
    if (likely(!hz3_get(self->visited))) return;
    hz3_set(self->visited, 0);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        void **floor = self->cache.top[cls];
        if (hz3_is_stub(floor)) continue;
        struct hz3_magazine *magazine = hz3_magazine_of(floor);
        while (*floor && floor > &magazine->word[magazine->header.floor]) floor--;
        magazine->header.floor = (uint8_t)(floor - magazine->word);
    }
}

_Thread_local struct hz3_thread hz3_thread = {
    .cache = {.top = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP},
              .previous = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP}},
    .unsampled = -1,
};

/* ---- spares ---- */

void hz3_spares_take(struct hz3_cache *cache, struct hz3_magazine *bundle)
{
    cache->spare = bundle;
    cache->spares = bundle ? bundle->header.top : 0;
}

void hz3_spares_fetch(struct hz3_cache *cache, unsigned cls)
{
    hz3_spares_take(cache, hz3_magazine_get_bundle(cls));
}

/* Gives half of the spares to the shared stacks. */
void hz3_spares_share(struct hz3_cache *cache, unsigned cls)
{
    struct hz3_magazine *bundle = cache->spare, *last = bundle;
    for (int i = 1; i < HZ3_SPARES_MAX / 2; i++) last = last->word[1];
    cache->spare = last->word[1];
    cache->spares -= HZ3_SPARES_MAX / 2;
    last->word[1] = NULL;
    hz3_magazine_put_bundle(cls, bundle, HZ3_SPARES_MAX / 2);
}
