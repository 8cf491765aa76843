/* HZ3_SECURE: a live object ends with a seal, a free one is zero.
 *
 *      | what was asked for | canary: 8 bytes | (anything) | seal: 8 bytes |
 *                           ^size                          ^end of the slot - 8
 *
 * The canary comes from a secret of the process and from the object's address.  Each byte of it is odd, so that the end
 * of a string, one byte too far, changes it.  The seal is the canary once more, and says in its last two bytes how long
 * the room between `size` and itself is.  If that is less than 8 bytes, the canary ends where the seal starts.  A large
 * block has no seal, since its descriptor has the size.  (Canaries of heap blocks: Robertson et al., LISA 2003.)
 *
 * What is freed is zeroed, and must still be zero when it is handed out.  Of an object above HZ3_PREPARED bytes malloc
 * looks at the first HZ3_GLIMPSE: its other pages may never have been touched.  The quarantine looks at all of it. */
#pragma once

#include "back/large.h"
#include "base/sizeclass.h"
#include HZ3_FREE_CHECK_H

#include <string.h>

enum {
    HZ3_SEAL_BYTES = 8,
    HZ3_SEALED_SMALL_MAX = HZ3_SMALL_MAX - HZ3_SEAL_BYTES, /* the largest request that a size class has room for */
    HZ3_GLIMPSE = 1024,
    HZ3_PREPARED = 4096, /* larger objects may be in pages that were never used (wiped_fresh.c) */
    HZ3_LITTLE_ENDIAN = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
};

extern HZ3_HIDDEN uint64_t hz3_seal_secret[2];
void hz3_seal_start(void);
HZ3_NORETURN void hz3_seal_overwritten(const void *p);
/* The messages about blocks that the sweep or the check at exit found. */
#define HZ3_SEAL_OVERRUN_LATE     "block written beyond its end, found later"
#define HZ3_SEAL_OVERWRITTEN_LATE "freed object overwritten, found later"

/* ---- live objects ---- */

HZ3_INLINE uint64_t hz3_seal_canary(const void *p)
{
    uint64_t x = ((uintptr_t)p ^ hz3_seal_secret[0]) * hz3_seal_secret[1];
    return (x ^ x >> 32) | 0x0101010101010101u;
}

/* The word at p + at, which need not be aligned. */
HZ3_INLINE uint64_t hz3_seal_load(const void *p, size_t at)
{
    uint64_t word;
    memcpy(&word, (const char *)p + at, sizeof(word));
    return word;
}

HZ3_INLINE void hz3_seal_store(void *p, size_t at, uint64_t word)
{
    memcpy((char *)p + at, &word, sizeof(word));
}

/* The first `room` bytes of the word, or all 8 if room is larger, or 0: then the word is the seal. */
HZ3_INLINE uint64_t hz3_seal_before(uint64_t word, size_t room)
{
    unsigned beyond = 8 * (unsigned)(-hz3_min(room, (size_t)8) & 7);
    return HZ3_LITTLE_ENDIAN ? word << beyond : word >> beyond;
}

/* Both stores for all sizes: that is faster than a branch.  The seal overwrites the end of a canary without room. */
HZ3_INLINE void hz3_seal_put_small(void *p, unsigned cls, size_t size)
{
    size_t end = hz3_class_size(cls) - HZ3_SEAL_BYTES;
    uint64_t canary = hz3_seal_canary(p);
    hz3_seal_store(p, size, canary);
    hz3_seal_store(p, end, canary ^ (uint64_t)(end - size) << (HZ3_LITTLE_ENDIAN ? 48 : 0));
}

/* The length of the room, if the object's seal holds. */
HZ3_INLINE size_t hz3_seal_room(uint64_t seal, uint64_t canary)
{
    return (uint16_t)((seal ^ canary) >> (HZ3_LITTLE_ENDIAN ? 48 : 0));
}

HZ3_INLINE bool hz3_seal_holds_small(const void *p, unsigned cls)
{
    size_t end = hz3_class_size(cls) - HZ3_SEAL_BYTES;
    uint64_t canary = hz3_seal_canary(p), seal = hz3_seal_load(p, end);
    size_t room = hz3_seal_room(seal, canary);
    if (unlikely(room > end)) return false;
    uint64_t changed = hz3_seal_before(hz3_seal_load(p, end - room) ^ canary, room);
    return !(hz3_seal_before(seal ^ canary, 6) | changed);
}

/* Whether the seal of p holds, as long as p is live; another thread may hand p out or free it meanwhile. */
bool hz3_seal_holds_if_live(const void *p, unsigned cls);

/* False: a live object of p's run lies right before p, and its last 8 bytes do not look like a seal; another thread may
 * be handing it out or freeing it.  p is live, so its run stays. */
HZ3_INLINE bool hz3_seal_front_looks_good(const void *p, unsigned cls)
{
    const char *before = (const char *)p - hz3_class_size(cls);
    bool crosses = ((uintptr_t)p ^ (uintptr_t)before) >> HZ3_GRANULE_SHIFT;
    if (unlikely(crosses) && (uintptr_t)before < hz3_run_of(p)->start) return true;
    size_t end = hz3_class_size(cls) - HZ3_SEAL_BYTES;
    uint64_t canary = hz3_seal_canary(before), seal = hz3_seal_load(before, end), live = hz3_is_live(before, cls);
    uint64_t broken = hz3_seal_before(seal ^ canary, 6) | (hz3_seal_room(seal, canary) > end);
    HZ3_FORGET_ORIGIN(live); /* no branch on it: which neighbours are live cannot be predicted */
    return !(broken & -live);
}

/* The requested size, if the seal holds. */
HZ3_INLINE size_t hz3_seal_size_small(const void *p, unsigned cls)
{
    size_t end = hz3_class_size(cls) - HZ3_SEAL_BYTES;
    return end - hz3_seal_room(hz3_seal_load(p, end), hz3_seal_canary(p));
}

/* ---- free objects ---- */

typedef uint64_t hz3_seal_vector __attribute__((vector_size(16)));
enum { HZ3_VECTOR = sizeof(hz3_seal_vector), HZ3_VECTORS = 4 * HZ3_VECTOR };

/* The i-th vector from the end of the bytes; the first one if there are fewer. */
HZ3_INLINE hz3_seal_vector *hz3_seal_last(const void *p, size_t bytes, size_t i)
{
    return (hz3_seal_vector *)((uintptr_t)p + (bytes > i * HZ3_VECTOR ? bytes - i * HZ3_VECTOR : 0));
}

/* For objects of up to HZ3_GLIMPSE bytes.  Four vectors at a time, then the last four.  Smaller objects take the same
 * code, which is faster than a branch. */
HZ3_INLINE void hz3_seal_wipe_little(void *p, size_t bytes)
{
    const hz3_seal_vector zero = {0};
    hz3_seal_vector *at = (hz3_seal_vector *)p;
    for (size_t left = bytes; left > HZ3_VECTORS; left -= HZ3_VECTORS, at += 4) at[0] = at[1] = at[2] = at[3] = zero;
    *hz3_seal_last(p, bytes, 4) = *hz3_seal_last(p, bytes, 3) = zero;
    *hz3_seal_last(p, bytes, 2) = *hz3_seal_last(p, bytes, 1) = zero;
}

HZ3_INLINE bool hz3_seal_little_is_wiped(const void *p, size_t bytes)
{
    const hz3_seal_vector *at = (const hz3_seal_vector *)p;
    hz3_seal_vector found = *hz3_seal_last(p, bytes, 4) | *hz3_seal_last(p, bytes, 3);
    found |= *hz3_seal_last(p, bytes, 2) | *hz3_seal_last(p, bytes, 1);
    for (size_t left = bytes; left > HZ3_VECTORS; left -= HZ3_VECTORS, at += 4) found |= at[0] | at[1] | at[2] | at[3];
    return !(found[0] | found[1]);
}

/* For all objects.  bytes: a multiple of 16. */
void hz3_seal_wipe(void *p, unsigned cls);
void hz3_seal_wipe_pages(void *p, size_t bytes); /* leaves those that were never touched so */
bool hz3_seal_is_wiped(const void *p, size_t bytes);

/* ---- both ---- */

/* The bytes that a request takes, its seal included. */
HZ3_INLINE size_t hz3_sealed(size_t size)
{
    return size + HZ3_SEAL_BYTES;
}

/* p, of a size class or LARGE, is handed out for so many bytes, or is from now on.  Returns p. */
void *hz3_seal(void *p, unsigned cls, size_t size);

/* Seals an object of a size class that was free.  Ends the process if it is no longer wiped. */
void hz3_seal_first(void *p, unsigned cls, size_t size);

/* Which canary of the live block p was overwritten: */
enum hz3_seal_fault {
    HZ3_SEAL_HOLDS,
    HZ3_SEAL_END,   /* its canary */
    HZ3_SEAL_FRONT, /* that of the live object before it in the run: that one wrote beyond its end, or p before its
                       start */
};
enum hz3_seal_fault hz3_seal_look(const void *p, unsigned cls);

/* False: the live block p was requested with another size, or does not start at a multiple of the alignment. */
bool hz3_seal_fits(const void *p, size_t size, size_t alignment);

/* Makes as much of the large block p usable as of an object of the class, for which it is handed out.  (With seals,
 * only what the program asked for is.)  Returns by how many bytes that is less. */
HZ3_INLINE size_t hz3_seal_like_small(void *p, unsigned cls)
{
    (void)p, (void)cls;
    return 0;
}

/* The usable bytes of the live block p, whose seal holds. */
size_t hz3_seal_usable(const void *p, unsigned cls);

/* The bytes that could be usable without a move. */
HZ3_INLINE size_t hz3_seal_usable_at_most(unsigned cls, size_t usable)
{
    return cls == HZ3_CLASS_LARGE ? usable : hz3_class_size(cls) - HZ3_SEAL_BYTES;
}
