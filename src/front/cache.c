#include "front/cache.h"

#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/evict.h"
#include "front/refill.h"
#include "front/threads.h"
#include "middle/transfer_cache.h"
#include "os/asleep.h"
#include "os/gate.h"

enum {
    SLOW_CALLS_PER_VISIT = 16,
};

/* Every slow path does this first.  False: this thread has no cache yet, or no longer.  A thread does not join in a
 * free by the loader.  That may be its last act, after its destructors, and nothing would make it leave. */
static bool enter(struct hz3_thread *self, bool may_join)
{
    if (unlikely(self->state != HZ3_THREAD_JOINED)) {
        if (self->state == HZ3_THREAD_NEW && may_join) hz3_threads_join(self);
        /* A thread that left still makes reclaim due: other destructors may free most of what it had, and then there
         * may be no other thread to do it. */
        if (self->state != HZ3_THREAD_JOINED && self->state != HZ3_THREAD_LEFT) return false;
    }
    hz3_budget_take_back(self);
    if (unlikely(!hz3_os_is_on_stack(self))) hz3_set(self->was_elsewhere, true);
    if (++self->slow_calls % SLOW_CALLS_PER_VISIT == 0) {
        self->due = true;
        if (unlikely(self->has_to_answer)) hz3_threads_answer(self);
    }
    return self->state == HZ3_THREAD_JOINED;
}

static void *take_one(struct hz3_thread *self, unsigned cls)
{
    void *p;
    enum hz3_refill_source source;
    struct hz3_heap *heap = self->heap ? self->heap : &hz3_heaps[0];
    if (!hz3_central_refill(heap, cls, &p, 1, true, &source)) return NULL;
    hz3_thread_allocated(cls);
    return p;
}

static void *pop(struct hz3_thread *self, unsigned cls)
{
    void *p = *self->cache.top[cls];
    hz3_cache_recount(&self->cache, cls);
    self->cache.top[cls]--;
    return p;
}

/* Swaps the loaded magazine, which is empty, and the previous one, which is not.  If the class has earned more room
 * than the previous one has, its objects move to the empty one, which is opened with all of the room.  So malloc and
 * free by turns do not come here again so soon.  Where others are stored, the empty one becomes a spare. */
static void swap(struct hz3_thread *self, unsigned cls)
{
    void **empty = self->cache.top[cls], **full = hz3_cache_take_previous(&self->cache, cls);
    unsigned count = hz3_magazine_count(hz3_magazine_close(full));
    hz3_assert(!hz3_is_stub(empty));
    if (!hz3_cache_is_roomy(&self->cache, cls, full)) {
        void **room = hz3_cache_open(&self->cache, cls, hz3_magazine_of(empty)) + 1;
        full -= count;
        for (unsigned i = 0; i < count; i++) room[i] = full[i + 1];
        empty = full;
        full = room + count - 1;
    }
    self->cache.top[cls] = full;
    if (hz3_is_stub(self->cache.previous[cls]))
        self->cache.previous[cls] = empty;
    else
        hz3_spares_put(&self->cache, cls, hz3_magazine_of(empty));
}

static void earn(struct hz3_thread *self, unsigned cls, bool overflow)
{
    hz3_budget_earn(self, cls, self->cache.overflowed[cls] != overflow);
    self->cache.overflowed[cls] = overflow;
}

/* Loads an empty magazine in place of the full one.  False: there is none. */
static bool load_empty(struct hz3_thread *self, unsigned cls)
{
    void **loaded = self->cache.top[cls], **previous = self->cache.previous[cls];
    if (!hz3_is_stub(previous) && hz3_is_empty(previous)) {
        self->cache.previous[cls] = loaded;
        self->cache.top[cls] = hz3_cache_open(&self->cache, cls, hz3_magazine_of(previous));
        return true;
    }
    earn(self, cls, true);
    struct hz3_magazine *empty = self->cache.capacity[cls] ? hz3_spares_get(&self->cache, cls) : NULL;
    if (!empty) return false;
    /* A thread that only frees keeps no full magazine: others have a use for it. */
    bool keep = !self->cache.freed_only[cls];
    self->cache.freed_only[cls] |= !hz3_is_stub(previous);
    self->cache.top[cls] = hz3_cache_open(&self->cache, cls, empty);
    hz3_evict_previous(&self->cache, cls, self->cache.store[cls]);
    if (keep)
        hz3_cache_put_previous(&self->cache, cls, loaded);
    else
        hz3_evict_magazine(&self->cache, cls, loaded);
    return true;
}

static void free_inside(struct hz3_thread *self, void *p, unsigned cls)
{
    hz3_thread_count(self, cls);
    /* Joining may have made room. */
    if (hz3_is_full(self->cache.top[cls]) && !load_empty(self, cls)) {
        hz3_thread_retire(p, cls);
        return;
    }
    hz3_cache_recount(&self->cache, cls);
    *++self->cache.top[cls] = p;
}

static void *malloc_inside(struct hz3_thread *self, unsigned cls)
{
    hz3_thread_count(self, cls);
    if (!hz3_is_empty(self->cache.top[cls])) return pop(self, cls); /* joining may have allocated and freed */
    self->cache.freed_only[cls] = false;
    if (!hz3_is_empty(self->cache.previous[cls])) {
        /* Few of those of a class that stores come here. */
        if (++self->cache.stats.swap % HZ3_SWAPS_PER_MISS == 0 || self->cache.stored[cls])
            hz3_budget_earn(self, cls, true);
        swap(self, cls);
        return pop(self, cls);
    }
    earn(self, cls, false);
    if (!self->cache.capacity[cls]) return take_one(self, cls);
    if (hz3_refill(self, cls)) return pop(self, cls);
    /* Refill may have failed for lack of a magazine: then there may still be an object. */
    return hz3_is_stub(self->cache.top[cls]) ? take_one(self, cls) : NULL;
}

bool hz3_cache_enter(void)
{
    if (!enter(&hz3_thread, !hz3_thread.by_loader)) return false;
    hz3_thread_go_inside(&hz3_thread);
    return true;
}

void hz3_cache_leave(void)
{
    hz3_thread_go_outside(&hz3_thread);
}

/* ---- while another thread forks ---- */

static HZ3_COLD void *malloc_during_fork(struct hz3_thread *self, unsigned cls)
{
    if (self->state != HZ3_THREAD_JOINED) return NULL;
    hz3_thread_go_inside(self);
    hz3_thread_count(self, cls);
    if (hz3_is_empty(self->cache.top[cls]) && !hz3_is_empty(self->cache.previous[cls])) swap(self, cls);
    bool filled =
        !hz3_is_empty(self->cache.top[cls]) || (self->cache.capacity[cls] && hz3_refill_during_fork(self, cls));
    void *p = filled ? pop(self, cls) : NULL;
    hz3_thread_go_outside(self);
    return p;
}

/* Pushes a magazine with p alone to the transfer cache.  If the thread has a full one loaded it pushes that, and loads
 * the one with p. */
static bool push_away(struct hz3_thread *self, void *p, unsigned cls, struct hz3_magazine *magazine)
{
    void **full = self->cache.top[cls];
    bool load = self->state == HZ3_THREAD_JOINED && !hz3_is_empty(full); /* it may have no room (front/sleepers) */
    void **top = hz3_magazine_open(magazine, load ? self->cache.capacity[cls] : 1);
    *++top = p;
    if (load) hz3_thread_count(self, cls);
    if (!hz3_transfer_push_anyway(cls, hz3_magazine_close(load ? full : top))) return false;
    hz3_thread_freed(cls, 1);
    if (load) self->cache.top[cls] = top;
    if (load) hz3_cache_recount(&self->cache, cls);
    return true;
}

static bool free_during_fork(struct hz3_thread *self, void *p, unsigned cls)
{
    if (self->state == HZ3_THREAD_JOINED && !hz3_is_full(self->cache.top[cls])) {
        *++self->cache.top[cls] = p;
        return true;
    }
    struct hz3_magazine *magazine = hz3_magazine_get_ready(cls);
    if (!magazine || push_away(self, p, cls, magazine)) return magazine;
    hz3_magazine_put(cls, magazine);
    return false;
}

HZ3_COLD bool hz3_cache_free_during_fork(void *p, unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    hz3_thread_go_inside(self);
    bool freed = free_during_fork(self, p, cls);
    hz3_thread_go_outside(self);
    return freed;
}

/* ---- the slow paths' entries ---- */

static void *malloc_slow(struct hz3_thread *self, unsigned cls)
{
    if (!enter(self, true)) return take_one(self, cls);
    hz3_thread_go_inside(self);
    void *p = malloc_inside(self, cls);
    hz3_thread_go_outside(self);
    return p;
}

HZ3_NOINLINE void *hz3_cache_malloc_slow(unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    if (unlikely(!hz3_gate_enter())) return malloc_during_fork(self, cls);
    void *p = malloc_slow(self, cls);
    hz3_gate_leave();
    return p;
}

static void free_slow(struct hz3_thread *self, void *p, unsigned cls)
{
    if (!enter(self, !self->by_loader)) {
        hz3_thread_retire(p, cls);
        return;
    }
    hz3_thread_go_inside(self);
    free_inside(self, p, cls);
    hz3_thread_go_outside(self);
}

HZ3_NOINLINE void hz3_cache_free_slow(void *p, unsigned cls)
{
    if (unlikely(!hz3_gate_enter())) {
        if (hz3_cache_free_during_fork(p, cls)) return;
        hz3_gate_enter_at_last();
    }
    free_slow(&hz3_thread, p, cls);
    hz3_gate_leave();
}
