#include "front/refill.h"

#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/orphans.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include HZ3_CENTRAL_LOCAL_H
#include HZ3_CENTRAL_MAGAZINES_H
#include HZ3_PAGE_LOCAL_H
#include HZ3_COUNTERS_H

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

/* Replaces stubs by empty magazines: the loaded one and, if n objects need it, the previous one. */
static bool have_magazines(struct hz3_thread *self, unsigned cls, unsigned n)
{
    void ***tops[] = {&self->cache.top[cls], &self->cache.previous[cls]};
    for (int i = 0; i < (n > self->cache.capacity[cls] ? 2 : 1); i++) {
        struct hz3_magazine *magazine =
            hz3_is_stub(*tops[i]) ? hz3_spares_get(&self->cache, cls) : hz3_magazine_of(*tops[i]);
        if (!magazine) return false;
        *tops[i] = hz3_cache_open(&self->cache, cls, magazine);
    }
    return true;
}

/* Takes up to `want` objects that other threads left for this heap, or, to steal, for any heap. */
static unsigned take_linked(struct hz3_thread *self, unsigned cls, void **objects, unsigned want, bool steal)
{
    return steal ? hz3_owner_stash_steal_batch(cls, objects, want)
                 : hz3_owner_stash_pop_batch(self->cache.owner, cls, objects, want);
}

/* Refills the loaded magazine from the owner stash. */
static bool take_from_stash(struct hz3_thread *self, unsigned cls, bool steal)
{
    if (!HZ3_STASH_POPS) return false;
    HZ3_COUNT(s44_calls, 1);
    if (HZ3_S44_TRANSPORT_LIST) {
        void *objects[HZ3_SMALL_V2_REFILL_BATCH];
        unsigned want = batch(self, cls), n;
        if (!have_magazines(self, cls, want) || !(n = take_linked(self, cls, objects, want, steal))) return false;
        fill_both(self, cls, objects, n);
        HZ3_COUNT(s44, n);
        return true;
    }
    struct hz3_magazine *magazine = steal ? hz3_owner_stash_steal(cls) : hz3_owner_stash_pop(self->cache.owner, cls);
    if (!magazine) return false;
    HZ3_COUNT(s44, hz3_magazine_count(magazine));
    hz3_refill_load(&self->cache, cls, magazine);
    return true;
}

/* Loads a whole magazine from the transfer cache, this thread's outbox, what a fork left behind, or central. */
static bool take_whole(struct hz3_thread *self, unsigned cls)
{
    struct hz3_magazine *magazine;
    HZ3_COUNT(s42_calls, 1);
    if ((magazine = hz3_transfer_pop(cls))) {
        self->cache.stats.transfer++;
        HZ3_COUNT(s42, hz3_magazine_count(magazine));
    } else if ((magazine = hz3_kept_take(cls))) {
        self->cache.stats.central++;
        HZ3_COUNT(kept, hz3_magazine_count(magazine));
    } else if ((magazine = hz3_orphans_pop(cls))) {
        self->cache.stats.transfer++;
    } else if ((magazine = hz3_central_get_magazine(cls))) {
        self->cache.stats.central++;
        HZ3_COUNT(central, hz3_magazine_count(magazine));
    }
    if (magazine) hz3_refill_load(&self->cache, cls, magazine);
    return magazine;
}

/* Fills the loaded magazine from runs; `fresh`: from a new one if need be. */
static bool carve(struct hz3_thread *self, unsigned cls, bool fresh)
{
    unsigned more = hz3_min((unsigned)HZ3_CENTRAL_MORE, hz3_class_info[cls].load);
    void *objects[HZ3_SMALL_V2_REFILL_BATCH + HZ3_CENTRAL_MORE];
    enum hz3_refill_source source;
    unsigned want = batch(self, cls);
    if (!have_magazines(self, cls, want)) return false;
    unsigned got = hz3_central_refill(self->heap, cls, objects, want + more, fresh, &source);
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

/* Each source is read before it is written, so that empty ones cost little. */
bool hz3_refill(struct hz3_thread *self, unsigned cls)
{
    hz3_page_remote_collect(self->cache.owner, cls);
    if (take_from_stash(self, cls, false)) {
        self->cache.stats.stash++;
        return true;
    }
    if (take_whole(self, cls) || carve(self, cls, false)) return true;
    if (take_from_stash(self, cls, true)) {
        self->cache.stats.stolen++;
        return true;
    }
    hz3_page_remote_collect_all(cls);
    return carve(self, cls, true);
}
