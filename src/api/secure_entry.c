/* In the place of entry.c, in lane secure: malloc and free with seals and quarantine. */
#include "api/entry.h"
#include "api/override.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/exchange.h"
#include "front/remote_free.h"
#include "os/gate.h"
#include "secure/quarantine.h"
#include "secure/sweep.h"

enum {
    LITTLE = HZ3_GLIMPSE - HZ3_SEAL_BYTES, /* a larger request takes a slow path: most of its time is for wiping */
    FREES_PER_LOOK = 1024,
};

static HZ3_NOINLINE void *malloc_other(size_t size)
{
    return size > HZ3_SEALED_SMALL_MAX ? hz3_malloc_large(size) : hz3_malloc_aligned(size, 1);
}

static HZ3_NOINLINE void *malloc_after_exchange(unsigned cls, size_t size)
{
    void *p = hz3_exchange_malloc(cls);
    return likely(p) ? hz3_hand_out(p, cls, size) : hz3_malloc_aligned(size, 1);
}

HZ3_API void *hz3_malloc(size_t size)
{
    if (unlikely(size - 1 >= LITTLE)) return malloc_other(size);
    unsigned cls = hz3_class_table_of_malloc[hz3_units_of(hz3_sealed(size))];
    void **top = hz3_thread.cache.top[cls], *p = *top;
    if (unlikely(!p)) return malloc_after_exchange(cls, size);
    hz3_thread.cache.top[cls] = top - 1;
    __builtin_prefetch(top[-1], 1); /* the next malloc looks at all of it */
    if (unlikely(!hz3_seal_little_is_wiped(p, hz3_class_size(cls)))) hz3_seal_overwritten(p);
    hz3_seal_put_small(p, cls, size);
    return hz3_mark_live(p, cls);
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
    if (unlikely(hz3_class_size(cls) > HZ3_PREPARED)) hz3_quarantine_look(p, cls);
    void **top = hz3_thread.cache.top[cls] + 1;
    if (unlikely(hz3_goes_home(window, p, cls))) {
        if (unlikely(!hz3_remote_free_quick(p, cls, hz3_owner_at(p)))) hz3_free_checked(p, cls, from);
    } else if (unlikely((uintptr_t)top % HZ3_MAGAZINE_BYTES == 0)) {
        if (hz3_thread.due || !hz3_exchange_free(p, cls)) hz3_free_checked(p, cls, from);
    } else {
        *top = p;
        HZ3_FORGET_ORIGIN(p);
        hz3_thread.cache.top[cls] = top;
    }
}

/* p, wiped and marked as free, begins to wait. */
HZ3_INLINE void let_wait(void *p, unsigned cls, const void *from)
{
    if (unlikely(!hz3_outbox)) return free_first(p, cls, from);
    if (unlikely(hz3_outbox->waited % FREES_PER_LOOK == FREES_PER_LOOK - 1)) hz3_sweep_beside(p);
    void *out = hz3_quarantine_pass(hz3_outbox, p);
    if (likely(out != NULL)) release(out, from);
}

/* Frees a larger object, or one with a seal that is broken, or seems to be. */
static HZ3_NOINLINE void free_other(void *p, unsigned cls, const void *from)
{
    const struct hz3_call call = {"free", from};
    hz3_block_check_end(p, cls, &call);
    hz3_mark_freed(p, cls);
    hz3_seal_wipe(p, cls);
    let_wait(p, cls, from);
}

HZ3_API void hz3_free(void *p)
{
    const void *from = __builtin_return_address(0);
    unsigned cls = hz3_class_at(p);
    if (unlikely(cls - 1 >= HZ3_CLASSES || !hz3_is_live(p, cls))) return hz3_free_slow(p);
    size_t bytes = hz3_class_size(cls);
    bool sound = bytes <= HZ3_GLIMPSE && hz3_seal_holds_small(p, cls) && hz3_seal_front_looks_good(p, cls);
    if (unlikely(!sound)) return free_other(p, cls, from);
    hz3_mark_freed(p, cls);
    hz3_seal_wipe_little(p, bytes);
    let_wait(p, cls, from);
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
