#include "front/refill.h"

#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/orphans.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "variants/central_magazines.h"
#include "variants/flush.h"
#include HZ3_CENTRAL_LOCAL_H
#include HZ3_COUNTERS_H
#include HZ3_PAGE_LOCAL_H

/* How many objects a refill asks for; if that is more than a magazine holds, both are filled. */
static unsigned batch(const struct hz3_thread *self, unsigned cls)
{
    unsigned room = self->cache.capacity[cls] * (HZ3_SMALL_V2_REFILL_BATCH > HZ3_MAGAZINE_LAST - 1 ? 2u : 1u);
    return hz3_min(room, (unsigned)HZ3_SMALL_V2_REFILL_BATCH);
}

/* Puts n objects into the empty magazine at *top; malloc will take the first one first. */
static void fill(struct hz3_thread *self, unsigned cls, void ***top, void **objects, unsigned n)
{
    void **last = hz3_cache_open(&self->cache, cls, hz3_magazine_of(*top));
    while (n) *++last = objects[--n];
    *top = last;
}

/* Fills the loaded magazine, then the previous; both are empty, and together have room for n objects. */
static void fill_both(struct hz3_thread *self, unsigned cls, void **objects, unsigned n)
{
    unsigned first = hz3_min(n, self->cache.capacity[cls]);
    fill(self, cls, &self->cache.top[cls], objects, first);
    if (n > first) fill(self, cls, &self->cache.previous[cls], objects + first, n - first);
}

/* Replaces stubs by empty magazines: the loaded one and, if a refill's objects need it, the previous one.  Returns for
 * how many objects there is room: where there is no second magazine, for those of one. */
static unsigned have_magazines(struct hz3_thread *self, unsigned cls)
{
    void ***tops[] = {&self->cache.top[cls], &self->cache.previous[cls]};
    unsigned want = batch(self, cls), room = 0;
    for (int i = 0; i < 2 && room < want; i++, room += self->cache.capacity[cls]) {
        struct hz3_magazine *magazine =
            hz3_is_stub(*tops[i]) ? hz3_spares_get(&self->cache, cls) : hz3_magazine_of(*tops[i]);
        if (!magazine) break;
        *tops[i] = hz3_cache_open(&self->cache, cls, magazine);
    }
    return hz3_min(room, want);
}

/* Takes what other threads left for this thread's shard (S44). */
static bool take_from_stash(struct hz3_thread *self, unsigned cls)
{
    void *objects[HZ3_SMALL_V2_REFILL_BATCH];
    unsigned want, n;
    if (!HZ3_STASH_POPS) return false;
    HZ3_COUNT(s44_calls, 1);
    if (!(want = have_magazines(self, cls))) return false;
    if (!(n = hz3_owner_stash_pop_batch(self->cache.owner, cls, objects, want))) return false;
    fill_both(self, cls, objects, n);
    HZ3_COUNT(s44, n);
    self->cache.stats.stash++;
    return true;
}

/* Loads a magazine that another thread left (S42), or that a fork did. */
static bool take_left(struct hz3_thread *self, unsigned cls)
{
    HZ3_COUNT(s42_calls, 1);
    struct hz3_magazine *magazine = hz3_transfer_pop(cls);
    if (magazine)
        HZ3_COUNT(s42, hz3_magazine_count(magazine));
    else
        magazine = hz3_orphans_pop(cls);
    if (!magazine) return false;
    hz3_refill_load(&self->cache, cls, magazine);
    self->cache.stats.transfer++;
    return true;
}

/* Loads what this thread kept of central's (S145-A), or a magazine of central (S142). */
static bool take_central(struct hz3_thread *self, unsigned cls, bool collision)
{
    struct hz3_magazine *magazine = hz3_kept_take(cls, collision);
    if (magazine)
        HZ3_COUNT(kept, hz3_magazine_count(magazine));
    else if ((magazine = hz3_central_get_magazine(cls)))
        HZ3_COUNT(central, hz3_magazine_count(magazine));
    if (!magazine) return false;
    hz3_refill_load(&self->cache, cls, magazine);
    self->cache.stats.central++;
    return true;
}

/* Fills the loaded magazine from runs with room, or a new one. */
static bool carve(struct hz3_thread *self, unsigned cls, bool collision)
{
    bool keeps = !collision && cls <= HZ3_SMALL_NUM_SC;
    unsigned more = keeps ? hz3_min((unsigned)HZ3_CENTRAL_MORE, hz3_class_info[cls].load) : 0;
    void *objects[HZ3_SMALL_V2_REFILL_BATCH + HZ3_CENTRAL_MORE];
    enum hz3_refill_source source;
    unsigned want = have_magazines(self, cls);
    if (!want) return false;
    unsigned got = hz3_central_refill(self->heap, cls, objects, want + more, true, &source);
    unsigned now = hz3_min(got, want);
    fill_both(self, cls, objects, now);
    hz3_kept_put(cls, objects + now, got - now);
    HZ3_COUNT(run, got);
    self->cache.stats.held += source == HZ3_REFILL_HELD;
    self->cache.stats.central += source == HZ3_REFILL_CENTRAL;
    self->cache.stats.fresh += source == HZ3_REFILL_FRESH || source == HZ3_REFILL_GROWN;
    if (source == HZ3_REFILL_GROWN) {
        self->cache.grown += (size_t)hz3_class_info[cls].granules << HZ3_GRANULE_SHIFT;
        if (hz3_pages_above_limit()) self->due = true; /* else it would take fifteen more runs first */
    }
    return got;
}

bool hz3_refill_during_fork(struct hz3_thread *self, unsigned cls)
{
    struct hz3_magazine *magazine = hz3_transfer_pop(cls);
    if (magazine) hz3_refill_load(&self->cache, cls, magazine);
    return magazine;
}

/* S44, S42, central, page, after the flush with a budget. */
bool hz3_refill(struct hz3_thread *self, unsigned cls)
{
    bool collision = hz3_get(self->heap->threads) > 1;
    HZ3_COUNT(refills, 1);
    if (HZ3_REMOTE_FLUSH_BUDGET && hz3_outbox) hz3_outgoing_flush_some(hz3_outbox, HZ3_REMOTE_FLUSH_BUDGET);
    hz3_page_remote_collect(self->cache.owner, cls);
    return take_from_stash(self, cls) || take_left(self, cls) || take_central(self, cls, collision) ||
           carve(self, cls, collision);
}
