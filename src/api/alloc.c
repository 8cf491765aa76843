/* The rest of the allocating family.  Semantics follow glibc where programs rely on them. */
#include "api/entry.h"
#include "api/init.h"
#include "api/override.h"
#include "back/fork_reserve.h"
#include "back/limits.h"
#include "back/zone.h"
#include "base/sizeclass.h"
#include "front/thread.h"
#include "os/gate.h"
#include "os/libc.h"
#include "os/os.h"
#include "reclaim/visit.h"
#include "watch/guard.h"
#include "watch/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

HZ3_API void *hz3_calloc(size_t count, size_t size)
{
    size_t bytes;
    if (unlikely(__builtin_mul_overflow(count, size, &bytes))) return hz3_no_memory();
    if (bytes > HZ3_SMALL_MAX) return hz3_malloc_zeroed(bytes);
    void *p = hz3_malloc(bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

/* ---- realloc ---- */

static void *move(void *p, size_t old_usable, size_t size)
{
    int saved = errno;
    struct hz3_zone *zone = hz3_zone_of(p);
    void *to = zone ? hz3_heap_malloc(zone, size) : hz3_malloc(size);
    if (!to && size <= old_usable) {
        errno = saved; /* shrinking cannot fail */
        return hz3_guard_has(p) ? p : hz3_seal(p, zone ? hz3_zone_class(p) : hz3_class_at(p), size);
    }
    if (!to) return NULL;
    memcpy(to, p, hz3_min(old_usable, size));
    hz3_free(p);
    return to;
}

static void *realloc_large(void *p, size_t usable, size_t size)
{
    bool much = size > usable && hz3_pages_exceed_memory(size - usable); /* mremap is judged by what it adds, too */
    if (size <= HZ3_SMALL_MAX || much || !hz3_gate_enter()) return move(p, usable, size);
    hz3_fork_reserve_settle();
    bool in_zone = hz3_zone_of(p);
    uint32_t sample = hz3_large_take_sample(p);
    void *to = hz3_zone_large_realloc(p, hz3_sealed(size));
    if (to)
        hz3_seal(to, HZ3_CLASS_LARGE, size);
    else
        hz3_large_set_sample(p, sample);
    hz3_reclaim_tick(); /* shrinking may have freed much */
    hz3_gate_leave();
    if (!to) return move(p, usable, size);
    if (in_zone) return to; /* neither the thread nor the profile counts it */
    hz3_thread.freed += usable;
    hz3_thread.allocated += hz3_large_usable(to);
    hz3_profile_resized(p, to, sample, usable, size);
    return to;
}

HZ3_API void *hz3_realloc(void *p, size_t size)
{
    if (!p) return hz3_malloc(size);
    if (size > PTRDIFF_MAX) return hz3_no_memory();
    if (unlikely(hz3_guard_has(p))) {
        size_t usable = hz3_guard_size(p, "realloc");
        return size ? move(p, usable, size) : (hz3_free(p), NULL);
    }
    struct hz3_call call = {"realloc", __builtin_return_address(0)};
    unsigned cls = hz3_block_class(p, &call);
    if (!size) return hz3_free(p), NULL;
    if (unlikely(hz3_empty_has(p))) return move(p, 0, size);
    if (cls == HZ3_CLASS_NONE) return hz3_realloc_foreign(p, size, &call);
    hz3_block_check_end(p, cls, &call);
    size_t usable = hz3_seal_usable(p, cls), room = hz3_seal_usable_at_most(cls, usable);
    if (usable > HZ3_SMALL_MAX) return realloc_large(p, usable, size);
    bool fits = size <= room;
    /* Shrinking by less than half is not worth a move, nor is one into the same class. */
    if (fits && (size > room / 2 || hz3_class_of(size) == hz3_class_of(room))) return hz3_seal(p, cls, size);
    return move(p, usable, size);
}

static void *resize_array(void *(*resize)(void *, size_t), void *p, size_t count, size_t size)
{
    size_t bytes;
    return likely(!__builtin_mul_overflow(count, size, &bytes)) ? resize(p, bytes) : hz3_no_memory();
}

HZ3_API void *hz3_reallocarray(void *p, size_t count, size_t size)
{
    return resize_array(hz3_realloc, p, count, size);
}

/* Calls realloc by its name, as glibc does: programs with a malloc of their own (Firefox, Chromium) may lack this. */
static void *array_by_name(void *p, size_t count, size_t size)
{
    return resize_array(realloc, p, count, size);
}

/* ---- alignment ---- */

static void *aligned(size_t alignment, size_t size)
{
    if (unlikely(size > PTRDIFF_MAX || alignment > PTRDIFF_MAX)) return hz3_no_memory();
    return alignment <= HZ3_UNIT ? hz3_malloc(size) : hz3_malloc_aligned(size, alignment);
}

HZ3_API void *hz3_memalign(size_t alignment, size_t size)
{
    if (unlikely(alignment > ((size_t)PTRDIFF_MAX + 1))) {
        errno = EINVAL; /* as glibc: there is no power of two above it */
        return NULL;
    }
    size_t power = HZ3_UNIT;
    while (power < alignment) power *= 2;
    return aligned(power, size);
}

HZ3_API void *hz3_aligned_alloc(size_t alignment, size_t size)
{
    bool is_power = alignment && !(alignment & (alignment - 1));
    if (!is_power && hz3_libc_refuses_alignment(alignment)) {
        errno = EINVAL;
        return NULL;
    }
    return hz3_memalign(alignment, size);
}

HZ3_API int hz3_posix_memalign(void **out, size_t alignment, size_t size)
{
    if (alignment % sizeof(void *) || !alignment || (alignment & (alignment - 1))) return EINVAL;
    void *p = aligned(alignment, size);
    if (!p) return ENOMEM; /* errno is ENOMEM, too, as in other allocators */
    *out = p;
    return 0;
}

HZ3_API void *hz3_valloc(size_t size)
{
    hz3_ensure_started(); /* before it hz3_os.page is a guess */
    return aligned(hz3_os.page, size);
}

HZ3_API void *hz3_pvalloc(size_t size)
{
    hz3_ensure_started();
    if (size > PTRDIFF_MAX) return hz3_no_memory();
    return aligned(hz3_os.page, hz3_round_up(hz3_max(size, 1), hz3_os.page));
}

/* ---- release ---- */

HZ3_API void hz3_cfree(void *p)
{
    hz3_free(p);
}

HZ3_API void hz3_free_sized(void *p, size_t size)
{
    hz3_block_check_size(p, size, 1, __builtin_return_address(0));
    hz3_free(p);
}

HZ3_API void hz3_free_aligned_sized(void *p, size_t alignment, size_t size)
{
    hz3_block_check_size(p, size, alignment, __builtin_return_address(0));
    hz3_free(p);
}

HZ3_STANDARD_NAME(calloc, void *, (size_t, size_t), hz3_calloc)
HZ3_STANDARD_NAME(reallocarray, void *, (void *, size_t, size_t), array_by_name)
HZ3_STANDARD_NAME(realloc, void *, (void *, size_t), hz3_realloc)
HZ3_STANDARD_NAME(memalign, void *, (size_t, size_t), hz3_memalign)
HZ3_STANDARD_NAME(aligned_alloc, void *, (size_t, size_t), hz3_aligned_alloc)
HZ3_STANDARD_NAME(posix_memalign, int, (void **, size_t, size_t), hz3_posix_memalign)
HZ3_STANDARD_NAME(valloc, void *, (size_t), hz3_valloc)
HZ3_STANDARD_NAME(pvalloc, void *, (size_t), hz3_pvalloc)
HZ3_STANDARD_NAME(cfree, void, (void *), hz3_cfree)
HZ3_STANDARD_NAME(free_sized, void, (void *, size_t), hz3_free_sized)
HZ3_STANDARD_NAME(free_aligned_sized, void, (void *, size_t, size_t), hz3_free_aligned_sized)
