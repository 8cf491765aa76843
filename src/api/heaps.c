/* The program's own heaps: hz3_heap_t is a zone. */
#include "api/entry.h"
#include "back/limits.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "os/gate.h"
#include "reclaim/search.h"
#include "reclaim/visit.h"

#include <errno.h>
#include <string.h>

#define CALL(name) (&(const struct hz3_call){name, __builtin_return_address(0)})

/* Without the free check a destroyed heap and a block of malloc's look the same. */
static void check_heap(const struct hz3_zone *zone, const struct hz3_call *call)
{
    if (likely(zone->self == zone)) return;
    hz3_block_class(zone, call); /* returns for a block only */
    hz3_misuse_by(call, hz3_state_tables ? HZ3_NO_HEAP : HZ3_FREED, zone, HZ3_CLASS_NONE);
}

HZ3_API hz3_heap_t *hz3_heap_new(void)
{
    struct hz3_zone *zone = hz3_malloc(sizeof *zone);
    if (!zone) return NULL;
    hz3_gate_enter_at_last();
    hz3_zone_start(zone);
    hz3_gate_leave();
    return zone;
}

HZ3_API void hz3_heap_destroy(hz3_heap_t *heap)
{
    if (!heap) return;
    check_heap(heap, CALL("hz3_heap_destroy"));
    hz3_gate_enter_at_last();
    hz3_zone_end(heap);
    hz3_reclaim_tick();
    hz3_gate_leave();
    hz3_free(heap);
}

/* ---- allocation ---- */

/* cls 0: a large block. */
static void *take(struct hz3_zone *zone, unsigned cls, size_t size, size_t alignment)
{
    size_t grown = 0;
    void *p = cls ? hz3_zone_take(zone, cls, &grown) : hz3_zone_large_alloc(zone, hz3_sealed(size), alignment);
    if (p && !cls) grown = hz3_large_fresh(p);
    if (grown) hz3_reclaim_grew(grown);
    return p;
}

/* A thread that a fork turns away waits, as there is no zone without a lock. */
static void *alloc(struct hz3_zone *zone, size_t size, size_t alignment, bool zero, const struct hz3_call *call)
{
    check_heap(zone, call);
    if (size > HZ3_LARGE_MAX || alignment > HZ3_LARGE_MAX) return hz3_no_memory();
    unsigned cls = hz3_class_aligned(hz3_sealed(size), alignment);
    if (!cls && hz3_pages_exceed_memory(size)) return hz3_no_memory();
    hz3_gate_enter_at_last();
    if (!cls) hz3_reclaim_tick();
    void *p = take(zone, cls, size, alignment);
    if (unlikely(!p) && hz3_reclaim_search(size + alignment) && !(p = take(zone, cls, size, alignment)))
        hz3_reclaim_search_failed();
    hz3_gate_leave();
    if (unlikely(!p)) return hz3_no_memory();
    if (!cls) {
        if (zero) hz3_large_zero(p, hz3_sealed(size));
        return hz3_seal(p, HZ3_CLASS_LARGE, size);
    }
    hz3_hand_out(p, cls, size);
    return zero ? memset(p, 0, size) : p;
}

HZ3_API void *hz3_heap_malloc(hz3_heap_t *heap, size_t size)
{
    return alloc(heap, size, 1, false, CALL("hz3_heap_malloc"));
}

HZ3_API void *hz3_heap_calloc(hz3_heap_t *heap, size_t count, size_t size)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(count, size, &bytes))) return hz3_no_memory();
    return alloc(heap, bytes, 1, true, CALL("hz3_heap_calloc"));
}

HZ3_API void *hz3_heap_aligned_alloc(hz3_heap_t *heap, size_t alignment, size_t size)
{
    if (!alignment || alignment & (alignment - 1)) {
        errno = EINVAL;
        return NULL;
    }
    return alloc(heap, size, alignment, false, CALL("hz3_heap_aligned_alloc"));
}

/* ---- pointers that come in ---- */

/* The class of the heap's block p.  Ends the process on any other pointer. */
static unsigned class_in(const struct hz3_zone *zone, const void *p, const struct hz3_call *call)
{
    check_heap(zone, call);
    unsigned cls = hz3_block_class(p, call);
    if (unlikely(hz3_zone_of(p) != zone)) hz3_misuse_by(call, HZ3_OTHER_HEAP, p, HZ3_CLASS_NONE);
    hz3_block_check_end(p, cls, call);
    return cls;
}

void hz3_zone_block_free(struct hz3_zone *zone, void *p, unsigned cls)
{
    if (cls != HZ3_CLASS_LARGE) {
        hz3_mark_freed(p, cls);
        hz3_seal_wipe(p, cls);
    }
    hz3_gate_enter_at_last();
    hz3_zone_free(zone, p, cls);
    if (cls == HZ3_CLASS_LARGE) hz3_reclaim_tick();
    hz3_gate_leave();
}

HZ3_API void hz3_heap_free(hz3_heap_t *heap, void *p)
{
    if (p) hz3_zone_block_free(heap, p, class_in(heap, p, CALL("hz3_heap_free")));
}

HZ3_API void *hz3_heap_realloc(hz3_heap_t *heap, void *p, size_t size)
{
    if (!p) return alloc(heap, size, 1, false, CALL("hz3_heap_realloc"));
    class_in(heap, p, CALL("hz3_heap_realloc"));
    return hz3_realloc(p, size); /* which stays in the heap */
}

HZ3_API size_t hz3_heap_malloc_usable_size(hz3_heap_t *heap, const void *p)
{
    return p ? hz3_seal_usable(p, class_in(heap, p, CALL("hz3_heap_malloc_usable_size"))) : 0;
}
