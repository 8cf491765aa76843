#include "front/evict.h"

#include "back/limits.h"
#include "front/outgoing.h"
#include "middle/owner_stash.h"
#include HZ3_SECURE_H

/* The heap whose stash takes the magazine, since all its objects are of that heap; HZ3_NO_OWNER: there is none.
 * The thread's own stay in its heap if others could mix them. */
static int owner_of(const struct hz3_cache *cache, const struct hz3_magazine *magazine)
{
    if (!HZ3_S44_OWNER_STASH) return HZ3_NO_OWNER;
    unsigned i = magazine->header.floor + 1u, owner = hz3_owner_at(magazine->word[i]);
    if (owner == cache->owner && !hz3_get(hz3_heap_highest)) return HZ3_NO_OWNER;
    while (i < magazine->header.top && hz3_owner_at(magazine->word[i + 1]) == owner) i++;
    return i == magazine->header.top ? (int)owner : HZ3_NO_OWNER;
}

void hz3_evict_magazine(struct hz3_cache *cache, unsigned cls, void **top)
{
    if (hz3_is_stub(top)) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    unsigned count = hz3_magazine_count(magazine), usual = hz3_max(cache->capacity[cls], hz3_cache_free_capacity(cls));
    int owner = count ? owner_of(cache, magazine) : HZ3_NO_OWNER;
    cache->route[cls] = (uint16_t)(owner + 2);
    /* An emptier magazine would give the next thread little. */
    if (count && 2 * count >= usual && !hz3_pages_over_limit() && hz3_outgoing_send(owner, cls, magazine)) {
        cache->stats.overflow++;
        return;
    }
    if (count) hz3_central_retire(cls, &magazine->word[magazine->header.floor + 1], count);
    cache->stats.retired += count > 0;
    hz3_spares_put(cache, cls, magazine);
}

void hz3_evict_class(struct hz3_cache *cache, unsigned cls)
{
    void **loaded = cache->top[cls];
    cache->counted[cls] = (int8_t)(cache->counted[cls] - (int)hz3_magazine_objects(loaded));
    cache->top[cls] = HZ3_STUB_TOP;
    hz3_evict_magazine(cache, cls, loaded);
    hz3_evict_previous(cache, cls, 0);
}

void hz3_evict_classes(struct hz3_cache *cache)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) hz3_evict_class(cache, cls);
}

void hz3_evict_outbox(struct hz3_outbox *outbox)
{
    if (outbox) hz3_outgoing_flush(outbox);
    size_t freed = hz3_quarantine_flush(outbox);
    if (outbox == hz3_outbox) hz3_thread.freed += freed;
}

HZ3_RACY size_t hz3_evict_waiting(const struct hz3_outbox *outbox, unsigned cls)
{
    return outbox ? hz3_outgoing_objects(outbox, cls) + hz3_quarantine_objects(outbox, cls) : 0;
}

void hz3_evict_all(struct hz3_thread *thread)
{
    hz3_evict_outbox(*thread->outbox);
    hz3_evict_classes(&thread->cache);
}

void **hz3_evict_foreign(const struct hz3_cache *cache, unsigned cls, void **top)
{
    void *foreign[HZ3_MAGAZINE_LAST];
    unsigned count = 0;
    if (hz3_is_empty(top)) return top;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    if (owner_of(cache, magazine) != HZ3_NO_OWNER) return top;
    void **left = &magazine->word[magazine->header.floor];
    for (void **from = left + 1; from <= top; from++) {
        if (hz3_owner_at(*from) == cache->owner)
            *++left = *from;
        else
            foreign[count++] = *from;
    }
    if (count) hz3_central_retire(cls, foreign, count);
    return left;
}

void hz3_cache_flush(void)
{
    struct hz3_thread *self = &hz3_thread;
    if (self->state != HZ3_THREAD_JOINED) return;
    hz3_thread_go_inside(self);
    hz3_evict_all(self);
    hz3_thread_go_outside(self);
}

/* Whether one of the objects is in a run in which no more than `most` are live; those in magazines count as live. */
static bool has_run_of_few(void **top, size_t most)
{
    for (size_t i = hz3_magazine_objects(top); i > 0; i--, top--)
        if (hz3_get(hz3_run_of(*top)->live) <= most) return true;
    return false;
}

static bool flush_may_help(const struct hz3_cache *cache)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        size_t objects = hz3_cache_count(cache, cls);
        if (hz3_outbox && hz3_quarantine_objects(hz3_outbox, cls)) return true;
        if (has_run_of_few(cache->top[cls], objects)) return true;
        void **previous = cache->previous[cls];
        for (unsigned i = 0; i <= cache->stored[cls]; i++, previous = hz3_cache_behind(previous))
            if (has_run_of_few(previous, objects)) return true;
    }
    return false;
}

bool hz3_cache_flush_may_help(void)
{
    if (hz3_thread.state != HZ3_THREAD_JOINED) return false;
    hz3_thread_go_inside(&hz3_thread);
    bool may = flush_may_help(&hz3_thread.cache);
    hz3_thread_go_outside(&hz3_thread);
    return may;
}
