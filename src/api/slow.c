/* The slow paths of malloc and free. */
#include "api/entry.h"
#include "api/init.h"
#include "api/report.h"
#include "back/fork_reserve.h"
#include "back/large.h"
#include "back/limits.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/exchange.h"
#include "front/remote_free.h"
#include "os/gate.h"
#include "reclaim/search.h"
#include "reclaim/visit.h"
#include "watch/guard.h"
#include "watch/profile.h"
#include "watch/sample.h"

#include <errno.h>

void *hz3_no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

static void *large_inside(size_t size, size_t alignment)
{
    hz3_reclaim_tick();
    void *p = hz3_large_alloc(size, alignment);
    if (unlikely(!p) && hz3_reclaim_search(size + alignment)) {
        p = hz3_large_alloc(size, alignment);
        if (!p) hz3_reclaim_search_failed();
    }
    if (!p) return hz3_no_memory();
    hz3_reclaim_grew(hz3_large_fresh(p));
    return p;
}

static void *large_of(size_t size, size_t alignment, bool zero)
{
    if (unlikely(!hz3_gate_enter())) {
        void *reserve = hz3_fork_reserve_take(size, alignment);
        if (reserve) return reserve;
        hz3_gate_enter_at_last();
    }
    void *p = large_inside(size, alignment);
    hz3_gate_leave();
    if (p && zero) hz3_large_zero(p, size); /* outside the gate */
    return p;
}

static void *large(size_t size, size_t alignment, bool zero)
{
    if (size > HZ3_LARGE_MAX || hz3_pages_exceed_memory(size)) return hz3_no_memory();
    void *p = large_of(hz3_sealed(size), alignment, zero);
    if (p) hz3_seal(p, HZ3_CLASS_LARGE, size), hz3_thread.allocated += hz3_large_usable(p); /* less, when sealed */
    return p;
}

/* Applies the wanted rate, and dumps what is due.  To be called without locks.  Does nothing in a call by the loader,
 * which may hold locks. */
static void apply_wishes(void)
{
    size_t rate = hz3_get(hz3_profile_wanted);
    if (unlikely(rate != hz3_sample_rate()) && !hz3_thread.by_loader) hz3_profile_set(rate);
    if (unlikely(hz3_get(hz3_report_watches)) && !hz3_thread.by_loader) hz3_report_visit();
}

/* Does what is due after a slow path. */
static void visit(void)
{
    if (likely(!hz3_thread.due)) return;
    hz3_reclaim_visit_slow();
    apply_wishes();
}

/* A chosen allocation gets a large block of its own, so that its free is recognised. */
static HZ3_NOINLINE void *sampled(size_t size, size_t alignment, bool zero)
{
    void *p = large(size, alignment, zero);
    if (p) hz3_profile_allocated(p, size);
    return p;
}

static void *large_or_sampled(size_t size, size_t alignment, bool zero)
{
    hz3_ensure_started();
    apply_wishes();
    bool chosen = unlikely(hz3_get(hz3_sampling)) && hz3_sample_chooses(size);
    return chosen ? sampled(size, alignment, zero) : large(size, alignment, zero);
}

static HZ3_COLD void *small_at_last(unsigned cls, size_t size)
{
    if (!hz3_gate_turned_away()) {
        if (!hz3_reclaim_search(size)) return hz3_no_memory();
        void *p = hz3_cache_malloc(cls);
        if (p) return hz3_hand_out(p, cls, size);
    }
    /* While another thread forks there is memory without a lock, but only as large blocks. */
    if (hz3_gate_turned_away()) return large(size, 1, false);
    hz3_reclaim_search_failed();
    return hz3_no_memory();
}

static HZ3_NOINLINE void *refilled(unsigned cls, size_t size)
{
    void *p = hz3_cache_malloc_slow(cls);
    if (unlikely(!p)) return small_at_last(cls, size);
    visit();
    return hz3_hand_out(p, cls, size);
}

static void *unwatched(unsigned cls, size_t size)
{
    void *p = hz3_cache_pop(cls);
    return likely(p) ? hz3_hand_out(p, cls, size) : refilled(cls, size);
}

/* malloc_usable_size returns the same for a chosen allocation as for others of its class. */
static HZ3_NOINLINE void *watched(unsigned cls, size_t size, size_t alignment)
{
    apply_wishes();
    void *p = hz3_sample_chooses_to_guard() ? hz3_guard_alloc(size, alignment) : NULL;
    if (p) return p;
    if (!hz3_sample_chooses(size)) return unwatched(cls, size);
    int saved = errno;
    p = sampled(size, alignment, false);
    if (!p) {
        errno = saved;
        return unwatched(cls, size);
    }
    hz3_thread.allocated -= hz3_seal_like_small(p, cls);
    return p;
}

/* While allocations are sampled each comes here.  The usual case makes no call.  If none are sampled and the class is
 * hidden all the same, hz3 profile hid it from outside to have the wanted rate applied, which shows it again or not. */
static void *small(unsigned cls, size_t size, size_t alignment)
{
    if (unlikely(hz3_get(hz3_sampling))) {
        if (!hz3_sample_spares(size)) return watched(cls, size, alignment);
    } else if (unlikely(hz3_class_table_of_malloc[hz3_units_of(hz3_sealed(size))] == HZ3_CLASS_NONE)) {
        hz3_profile_set(hz3_get(hz3_profile_wanted));
    }
    return unwatched(cls, size);
}

HZ3_NOINLINE void *hz3_malloc_large(size_t size)
{
    return large_or_sampled(size, 1, false);
}

static HZ3_NOINLINE void *exchanged(unsigned cls, size_t size)
{
    void *p = hz3_exchange_malloc(cls);
    return likely(p) ? hz3_hand_out(p, cls, size) : refilled(cls, size);
}

static HZ3_NOINLINE void *uncounted(size_t units)
{
    hz3_thread.unsampled += (int64_t)units;
    size_t size = units << HZ3_UNIT_SHIFT;
    unsigned cls = hz3_class_table_of_malloc[units];
    void *p = cls ? hz3_exchange_malloc(cls) : NULL;
    if (likely(p)) return hz3_hand_out(p, cls, size);
    hz3_ensure_started();
    return small(hz3_class_of(size), size, 1);
}

/* While bytes alone are sampled nearly every malloc comes here, and ends here. */
HZ3_NOINLINE void *hz3_malloc_slow(size_t units)
{
    if (unlikely((hz3_thread.unsampled -= (int64_t)units) < 0)) return uncounted(units);
    size_t size = units << HZ3_UNIT_SHIFT;
    unsigned cls = hz3_class_table_hidden[units];
    void *p = *hz3_thread.cache.top[cls];
    if (unlikely(!p)) return exchanged(cls, size);
    HZ3_FORGET_MEMORY(p);
    hz3_thread.cache.top[cls]--;
    return hz3_hand_out(p, cls, size);
}

void *hz3_malloc_zeroed(size_t size)
{
    return large_or_sampled(size, 1, true);
}

void *hz3_malloc_aligned(size_t size, size_t alignment)
{
    hz3_ensure_started();
    void *empty = hz3_empty_alloc(size, alignment);
    if (unlikely(empty != NULL)) return empty;
    unsigned cls = hz3_class_aligned(hz3_sealed(size), alignment);
    return cls ? small(cls, size, alignment) : large_or_sampled(size, alignment, false);
}

/* ---- free ---- */

static void free_large(void *p)
{
    hz3_thread.freed += hz3_large_usable(p);
    hz3_profile_freed(p, hz3_large_take_sample(p));
    if (unlikely(!hz3_gate_enter())) {
        hz3_fork_reserve_put(p);
        return;
    }
    hz3_fork_reserve_settle();
    hz3_large_free(p);
    hz3_reclaim_tick();
    hz3_gate_leave();
}

static void put_away(void *p, unsigned cls)
{
    if (hz3_goes_home(hz3_window_of(p), p, cls))
        hz3_remote_free(p, cls, hz3_owner_at(p));
    else
        hz3_cache_free(p, cls);
    visit();
}

static void free_any(void *p, const void *from)
{
    if (unlikely(hz3_guard_has(p))) {
        hz3_guard_free(p, "free");
        return;
    }
    struct hz3_call call = {"free", from};
    unsigned cls = hz3_block_class(p, &call);
    if (cls == HZ3_CLASS_NONE) {
        hz3_free_foreign(p, &call);
        return;
    }
    hz3_block_check_end(p, cls, &call);
    struct hz3_zone *zone = hz3_zone_of(p);
    if (unlikely(zone != NULL)) {
        hz3_zone_block_free(zone, p, cls);
        return;
    }
    if (cls == HZ3_CLASS_LARGE) {
        free_large(p);
        return;
    }
    hz3_mark_freed(p, cls);
    put_away(p, cls);
}

/* False: p has to be freed some other way, and nothing was changed. */
HZ3_INLINE bool free_by_exchange(void *p)
{
    const struct hz3_window *window = &hz3_windows[0];
    if (!hz3_window_has(window, p)) return false;
    unsigned cls = window->tags[hz3_granule_of(window, p)].cls;
    bool sound = cls - 1 < HZ3_CLASSES && hz3_looks_live(p, cls) && hz3_seal_look(p, cls) == HZ3_SEAL_HOLDS;
    return sound && !hz3_goes_home(window, p, cls) && hz3_exchange_free(p, cls);
}

HZ3_NOINLINE void hz3_free_checked(void *p, unsigned cls, const void *from)
{
    hz3_thread.by_loader = hz3_os_is_loader(from);
    if (cls != HZ3_CLASS_NONE)
        put_away(p, cls);
    else
        free_any(p, from);
    hz3_thread.by_loader = false;
}

HZ3_NOINLINE void hz3_free_slow(void *p)
{
    if (likely(free_by_exchange(p)) || !p) return;
    hz3_free_checked(p, HZ3_CLASS_NONE, __builtin_return_address(0));
}

HZ3_NOINLINE void hz3_free_home(void *p)
{
    const struct hz3_tag *tag = &hz3_windows[0].tags[hz3_granule_of(&hz3_windows[0], p)];
    unsigned cls = tag->cls, owner = hz3_get(tag->owner);
    bool sound = cls != HZ3_CLASS_NONE && hz3_looks_live(p, cls);
    if (unlikely(!sound)) {
        hz3_free_checked(p, HZ3_CLASS_NONE, __builtin_return_address(0));
        return;
    }
    hz3_mark_freed(p, cls);
    if (unlikely(!hz3_remote_free_quick(p, cls, owner))) hz3_free_checked(p, cls, __builtin_return_address(0));
}
