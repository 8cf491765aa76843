/* Verdicts on pointers that come in, and what the next allocator does with its own (HZ3_FOREIGN_FREE=libc). */
#define _GNU_SOURCE
#include "api/entry.h"
#include "api/init.h"
#include "api/options.h"
#include "back/run.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "watch/guard.h"

#include <dlfcn.h>

static bool is_live(const void *p, unsigned cls)
{
    return cls == HZ3_CLASS_LARGE ? hz3_large_is_block(p) && hz3_large_is_live(p) : hz3_is_live(p, cls);
}

/* The kind of misuse of p, which lies in a granule of the class and is not live.  (Small objects are known to be live
 * or not only with the free check.)  Where no live object is, one started at p before the run was made, or it ended. */
static enum hz3_misuse_kind kind_of(const void *p, unsigned cls)
{
    if (cls == HZ3_CLASS_LARGE) return hz3_large_is_live(p) ? HZ3_INTERIOR : HZ3_FREED;
    const struct hz3_span *run = hz3_run_of(p);
    if (hz3_run_is_object(run, p) && !hz3_is_fresh(p, cls)) return HZ3_FREED;
    if (hz3_run_is_slot(run, p)) return HZ3_NEVER_ALLOCATED;
    return hz3_is_live(hz3_run_slot(run, p), cls) ? HZ3_INTERIOR : HZ3_FREED;
}

/* Ends the process unless p, which is not in a granule of hz3's, is the next allocator's or a live block of 0 bytes. */
static void check_elsewhere(const void *p, const struct hz3_call *call)
{
    static const enum hz3_misuse_kind kinds[] = {
        [HZ3_EMPTY_FREED] = HZ3_FREED,
        [HZ3_EMPTY_INTERIOR] = HZ3_INTERIOR,
        [HZ3_EMPTY_NEVER] = HZ3_NEVER_ALLOCATED,
    };
    enum hz3_empty_state empty = hz3_empty_look(p);
    if (empty == HZ3_EMPTY_LIVE) return;
    if (empty != HZ3_EMPTY_ELSEWHERE) hz3_misuse_by(call, kinds[empty], p, HZ3_CLASS_NONE);
    /* A granule that is free now held something that was freed. */
    if (hz3_map_was_used(p)) hz3_misuse_by(call, hz3_large_covers(p) ? HZ3_INTERIOR : HZ3_FREED, p, HZ3_CLASS_NONE);
    if (hz3_options.FOREIGN_FREE == HZ3_FOREIGN_ABORT) hz3_misuse_by(call, HZ3_FOREIGN, p, HZ3_CLASS_NONE);
}

unsigned hz3_block_class(const void *p, const struct hz3_call *call)
{
    hz3_ensure_started();
    unsigned cls = hz3_class_at(p);
    if (unlikely(cls == HZ3_CLASS_NONE) && hz3_zone_of(p)) cls = hz3_zone_class(p);
    if (unlikely(cls == HZ3_CLASS_NONE))
        check_elsewhere(p, call);
    else if (unlikely(!is_live(p, cls)))
        hz3_misuse_by(call, kind_of(p, cls), p, cls);
    return cls;
}

void hz3_block_check_end(const void *p, unsigned cls, const struct hz3_call *call)
{
    enum hz3_seal_fault fault = hz3_seal_look(p, cls);
    if (unlikely(fault != HZ3_SEAL_HOLDS))
        hz3_misuse_by(call, fault == HZ3_SEAL_END ? HZ3_OVERRUN : HZ3_UNDERRUN, p, cls);
}

HZ3_COLD void hz3_block_has_other_size(const void *p, const void *from)
{
    hz3_misuse_by(&(struct hz3_call){"free", from}, HZ3_OTHER_SIZE, p, HZ3_CLASS_NONE);
}

/* ---- the next allocator's blocks ---- */

static HZ3_ATOMIC(void *) free_next, realloc_next, size_next;

static void *found(HZ3_ATOMIC(void *) * next, const char *name)
{
    if (unlikely(!hz3_get(*next))) hz3_set(*next, dlsym(RTLD_NEXT, name));
    return hz3_get(*next);
}

void hz3_foreign_start(void)
{
    found(&free_next, "free");
    found(&realloc_next, "realloc");
    found(&size_next, "malloc_usable_size");
}

void hz3_free_foreign(void *p, const struct hz3_call *call)
{
    if (unlikely(hz3_empty_free(p))) return;
    void (*next)(void *) = (void (*)(void *))found(&free_next, "free");
    if (!next) hz3_misuse_by(call, HZ3_FOREIGN, p, HZ3_CLASS_NONE);
    next(p);
}

void *hz3_realloc_foreign(void *p, size_t size, const struct hz3_call *call)
{
    void *(*next)(void *, size_t) = (void *(*)(void *, size_t))found(&realloc_next, "realloc");
    if (!next) hz3_misuse_by(call, HZ3_FOREIGN, p, HZ3_CLASS_NONE);
    return next(p, size);
}

static size_t usable_foreign(const void *p)
{
    if (unlikely(hz3_empty_has(p))) return 0;
    size_t (*next)(const void *) = (size_t (*)(const void *))found(&size_next, "malloc_usable_size");
    return next ? next(p) : 0;
}

HZ3_NOINLINE size_t hz3_usable_slow(const void *p, const void *from)
{
    const struct hz3_call call = {"malloc_usable_size", from};
    if (!p) return 0;
    if (unlikely(hz3_guard_has(p))) return hz3_guard_size(p, call.name);
    unsigned cls = hz3_block_class(p, &call);
    if (cls == HZ3_CLASS_NONE) return usable_foreign(p);
    hz3_block_check_end(p, cls, &call);
    return hz3_seal_usable(p, cls);
}
