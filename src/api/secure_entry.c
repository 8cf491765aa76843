/* In the place of entry.c, in lane secure: malloc and free with seals and quarantine. */
#include "api/entry.h"
#include "api/override.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/remote_free.h"
#include "os/gate.h"
#include "secure/quarantine.h"

HZ3_API void *hz3_malloc(size_t size)
{
    if (unlikely(size - 1 >= HZ3_SEALED_SMALL_MAX)) return size ? hz3_malloc_large(size) : hz3_malloc_aligned(0, 1);
    unsigned cls = hz3_class_table_of_malloc[hz3_units_of(hz3_sealed(size))];
    void **top = hz3_thread.cache.top[cls], *p = *top;
    if (unlikely(!p)) return hz3_malloc_aligned(size, 1);
    hz3_thread.cache.top[cls] = top - 1;
    return hz3_hand_out(p, cls, size);
}

/* The thread's first free. */
static HZ3_NOINLINE void free_first(void *p, unsigned cls, const void *from)
{
    bool waits = false;
    hz3_thread.by_loader = hz3_os_is_loader(from);
    if (hz3_gate_enter()) {
        if (hz3_cache_enter()) {
            waits = hz3_outbox_get() != NULL;
            if (waits) hz3_quarantine_pass(hz3_outbox, p);
            hz3_cache_leave();
        }
        hz3_gate_leave();
    }
    if (!waits) hz3_free_checked(p, cls, from);
    hz3_thread.by_loader = false;
}

/* Puts p to where malloc takes objects from. */
HZ3_INLINE void release(void *p, const void *from)
{
    const struct hz3_window *window = hz3_window_of(p);
    unsigned cls = window->tags[hz3_granule_of(window, p)].cls;
    void **top = hz3_thread.cache.top[cls] + 1;
    if (unlikely(hz3_goes_home(window, p, cls))) {
        if (unlikely(!hz3_remote_free_quick(p, cls, hz3_owner_at(p)))) hz3_free_checked(p, cls, from);
    } else if (unlikely((uintptr_t)top % HZ3_MAGAZINE_BYTES == 0)) {
        hz3_free_checked(p, cls, from);
    } else {
        *top = p;
        HZ3_FORGET_ORIGIN(p);
        hz3_thread.cache.top[cls] = top;
    }
}

HZ3_API void hz3_free(void *p)
{
    const void *from = __builtin_return_address(0);
    unsigned cls = hz3_class_at(p);
    if (unlikely(cls - 1 >= HZ3_CLASSES || !hz3_is_live(p, cls))) return hz3_free_slow(p);
    if (unlikely(!hz3_seal_holds_small(p, cls))) return hz3_free_slow(p); /* which reports it */
    hz3_mark_freed(p, cls);
    hz3_seal_wipe(p, cls);
    if (unlikely(!hz3_outbox)) return free_first(p, cls, from);
    void *out = hz3_quarantine_pass(hz3_outbox, p);
    if (likely(out != NULL)) release(out, from);
}

/* Some programs ask for the size of every block that they get or free. */
HZ3_API size_t hz3_malloc_usable_size(const void *p)
{
    const void *from = __builtin_return_address(0);
    unsigned cls = hz3_class_at(p);
    if (unlikely(cls - 1 >= HZ3_CLASSES || !hz3_is_live(p, cls))) return hz3_usable_slow(p, from);
    if (unlikely(!hz3_seal_holds_small(p, cls))) return hz3_usable_slow(p, from); /* which says so */
    return hz3_seal_size_small(p, cls);
}

HZ3_ENTRY_NAMES
