/* malloc and free: both fast paths on one screen.  And malloc_usable_size. */
#include "api/entry.h"
#include "api/override.h"
#include "base/sizeclass.h"
#include "front/remote_free.h"
#include "front/thread.h"

/* Budget: 13 instructions on a hit without HZ3_FREE_CHECK; no lock prefix, no call. */
HZ3_CACHE_ALIGNED HZ3_API void *hz3_malloc(size_t size)
{
    if (unlikely(size > HZ3_SMALL_MAX)) return hz3_malloc_large(size);
    size_t units = hz3_units_of(size);
    unsigned cls = hz3_class_table_of_malloc[units];
    void *p = *hz3_thread.cache.top[cls];
    if (unlikely(!p)) return hz3_malloc_slow(units);
    HZ3_FORGET_MEMORY(p);
    hz3_thread.cache.top[cls]--;
    return hz3_mark_live(p, cls);
}

/* Budget: 16 instructions on a hit without HZ3_FREE_CHECK, HZ3_ADOPT_MIN included; no lock prefix, no call. */
HZ3_CACHE_ALIGNED HZ3_API void hz3_free(void *p)
{
    const struct hz3_window *window = &hz3_windows[0];
    if (unlikely(!hz3_window_has(window, p))) return hz3_free_slow(p);
    unsigned cls = window->tags[hz3_granule_of(window, p)].cls;
    if (unlikely(hz3_goes_home(window, p, cls))) return hz3_free_home(p);
    void **top = hz3_thread.cache.top[cls] + 1;
    if (unlikely((uintptr_t)top % HZ3_MAGAZINE_BYTES == 0)) return hz3_free_slow(p);
    if (unlikely(!hz3_is_live(p, cls))) return hz3_free_slow(p);
    hz3_mark_freed(p, cls);
    *top = p;
    hz3_thread.cache.top[cls]++; /* one read-modify-write, since the store above may have changed anything */
}

/* Some programs ask for the size of every block that they get or free. */
HZ3_API size_t hz3_malloc_usable_size(const void *p)
{
    unsigned cls = hz3_class_at(p);
    bool quick = cls - 1 < HZ3_CLASSES && hz3_is_live(p, cls);
    return likely(quick) ? hz3_class_size(cls) : hz3_usable_slow(p, __builtin_return_address(0));
}

HZ3_ENTRY_NAMES
