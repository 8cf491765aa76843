#include "secure/seal.h"

#include "base/check.h"
#include "os/thread_random.h"
#include "secure/empty.h"

uint64_t hz3_seal_secret[2];

void hz3_seal_start(void)
{
    hz3_seal_secret[0] = hz3_random_mix(hz3_os.random + 1);
    hz3_seal_secret[1] = hz3_random_mix(hz3_os.random + 2) | 1;
}

/* While a live object's seal changes it is marked as free, since other threads look at seals of live objects. */
void *hz3_seal(void *p, unsigned cls, size_t size)
{
    if (cls == HZ3_CLASS_LARGE) {
        hz3_seal_store(p, size, hz3_seal_canary(p));
        hz3_large_set_usable(p, size);
        return p;
    }
    hz3_mark_freed(p, cls);
    hz3_seal_put_small(p, cls, size);
    return hz3_mark_live(p, cls);
}

/* A free marks the object as free first and wipes it then, a malloc seals it first and marks it then.  So a live
 * object's seal is broken only to a look in between, and again only if 64 frees came between the looks. */
HZ3_COLD bool hz3_seal_holds_if_live(const void *p, unsigned cls)
{
    enum { LOOKS = 1000 }; /* so many for processors that write in another order */
    for (int i = 0; i < LOOKS; i++) {
        hz3_fence(memory_order_seq_cst);
        if (!hz3_is_live(p, cls) || hz3_seal_holds_small(p, cls)) return true;
    }
    return false;
}

enum hz3_seal_fault hz3_seal_look(const void *p, unsigned cls)
{
    if (cls == HZ3_CLASS_LARGE)
        return hz3_seal_load(p, hz3_large_usable(p)) == hz3_seal_canary(p) ? HZ3_SEAL_HOLDS : HZ3_SEAL_END;
    if (!hz3_seal_holds_small(p, cls)) return HZ3_SEAL_END;
    const void *before = (const char *)p - hz3_class_size(cls);
    bool front_holds = hz3_seal_front_looks_good(p, cls) || hz3_seal_holds_if_live(before, cls);
    return front_holds ? HZ3_SEAL_HOLDS : HZ3_SEAL_FRONT;
}

size_t hz3_seal_usable(const void *p, unsigned cls)
{
    return cls == HZ3_CLASS_LARGE ? hz3_large_usable(p) : hz3_seal_size_small(p, cls);
}

bool hz3_seal_fits(const void *p, size_t size, size_t alignment)
{
    unsigned cls = hz3_class_at(p);
    bool small = cls - 1 < HZ3_CLASSES;
    bool live = small ? hz3_is_live(p, cls) : cls == HZ3_CLASS_LARGE && hz3_large_is_block(p) && hz3_large_is_live(p);
    if (cls == HZ3_CLASS_NONE && hz3_empty_look(p) == HZ3_EMPTY_LIVE) return !size;
    if (!live || hz3_seal_look(p, cls) != HZ3_SEAL_HOLDS) return true; /* free says what else is wrong */
    return hz3_seal_usable(p, cls) == size && (uintptr_t)p % hz3_max(alignment, 1) == 0;
}

/* Reading a page that was never touched costs no memory. */
void hz3_seal_wipe_pages(void *p, size_t bytes)
{
    enum { PIECE = 4096 };
    for (size_t at = 0, piece; at < bytes; at += piece) {
        piece = hz3_min(bytes - at, (size_t)PIECE);
        char *from = (char *)p + at;
        if (!hz3_seal_is_wiped(from, piece)) memset(from, 0, piece);
    }
}

void hz3_seal_wipe(void *p, unsigned cls)
{
    size_t bytes = hz3_class_size(cls);
    if (bytes > HZ3_PREPARED)
        hz3_seal_wipe_pages(p, bytes);
    else
        memset(p, 0, bytes);
}

bool hz3_seal_is_wiped(const void *p, size_t bytes)
{
    const hz3_seal_vector *at = (const hz3_seal_vector *)p, *end = at + bytes / HZ3_VECTOR;
    for (; end - at >= 4; at += 4) {
        hz3_seal_vector found = at[0] | at[1] | at[2] | at[3];
        if (found[0] | found[1]) return false;
    }
    for (; at < end; at++)
        if ((*at)[0] | (*at)[1]) return false;
    return true;
}

void hz3_seal_overwritten(const void *p)
{
    hz3_misuse("freed object overwritten, found by malloc", p);
}

/* In a page that was never used the first read costs a fault, and the first write another one.  So this writes first to
 * all pages that will be read: 0 over 0. */
static void touch(void *p)
{
    for (size_t at = 0; at < HZ3_GLIMPSE; at += HZ3_GLIMPSE - sizeof(uint64_t)) {
        uint64_t zero = 0;
        hz3_cas(*(HZ3_ATOMIC(uint64_t) *)((uintptr_t)p + at), &zero, 0, memory_order_relaxed, memory_order_relaxed);
    }
}

void hz3_seal_first(void *p, unsigned cls, size_t size)
{
    size_t bytes = hz3_class_size(cls);
    if (bytes > HZ3_PREPARED) touch(p);
    if (!hz3_seal_is_wiped(p, bytes > HZ3_PREPARED ? HZ3_GLIMPSE : bytes)) hz3_seal_overwritten(p);
    hz3_seal_put_small(p, cls, size);
}
