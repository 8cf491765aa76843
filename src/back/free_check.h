/* HZ3_FREE_CHECK: whether an object of a size class is live, by its state byte (back/page_map).  A large block has a
 * flag in its descriptor instead. */
#pragma once

#include "back/page_map.h"

#include <string.h>

/* Marks p as the start of a live object, before it is handed out.  The state is the address's low byte plus 1: never 0,
 * since p is aligned. */
HZ3_INLINE void *hz3_mark_live(void *p, unsigned cls)
{
    *hz3_state_of(p, cls) = (uint8_t)((uintptr_t)p + 1);
    return p;
}

/* Marks p as not live. (The state 0 belongs to no pointer.) */
HZ3_INLINE void hz3_mark_freed(const void *p, unsigned cls)
{
    *hz3_state_of(p, cls) = 0;
}

/* Whether p, any pointer into a granule of the class, is the start of a live object; builds without the check assume
 * it. (Compared as int: as bytes, the state 0 would belong to an address that ends in 0xff.) */
HZ3_INLINE bool hz3_is_live(const void *p, unsigned cls)
{
    return *hz3_state_of(p, cls) - 1 == (int)((uintptr_t)p % 256);
}

/* The state of an object that no malloc has returned since its run was made: no pointer into the bytes that it stands
 * for ends like that.  For states of 256 bytes there is no such value but 0, so such objects look freed. */
HZ3_INLINE uint8_t hz3_fresh_state(uintptr_t p, unsigned shift)
{
    return shift < 8 ? (uint8_t)((p & ~(((uintptr_t)1 << shift) - 1)) + 128) + 1 : 0;
}

/* Whether p, the start of an object that is not live, is known never to have been. */
HZ3_INLINE bool hz3_is_fresh(const void *p, unsigned cls)
{
    uint8_t fresh = hz3_fresh_state((uintptr_t)p, hz3_state_shift[cls]);
    return fresh && *hz3_state_of(p, cls) == fresh;
}

/* Marks all objects of a span that becomes a run of the class. */
HZ3_INLINE void hz3_mark_fresh(const struct hz3_span *span, unsigned cls)
{
    enum { REPEATS = 16 }; /* states, at least */
    unsigned shift = hz3_state_shift[cls];
    uint8_t pattern[REPEATS], *at = hz3_state_at(span->start, shift), *end = at + (hz3_span_bytes(span) >> shift);
    if (shift >= 8) return;
    for (unsigned i = 0; i < REPEATS; i++) pattern[i] = hz3_fresh_state((uintptr_t)i << shift, shift);
    for (; at < end; at += REPEATS) memcpy(at, pattern, REPEATS);
}

/* No object of the run is live any more. */
HZ3_INLINE void hz3_mark_all_freed(const struct hz3_span *run)
{
    memset(hz3_state_of((void *)run->start, run->cls), 0, hz3_span_bytes(run) >> hz3_state_shift[run->cls]);
}

/* Whether p is the start of a live object, as far as any build can tell. */
HZ3_INLINE bool hz3_looks_live(const void *p, unsigned cls)
{
    return hz3_is_live(p, cls);
}
