/* A bounded queue of pointers from one thread to another, in memory from bench_map.  NULL cannot be sent.
 *
 * Each side keeps a copy of the other's position, and reads the shared word only when the copy says full (or
 * empty).  So the queue costs much less than the allocator's calls. */
#ifndef BENCH_RING_H
#define BENCH_RING_H

#include "bench.h"

struct ring {
    _Alignas(BENCH_CACHE_LINE) _Atomic uint64_t sent;  /* written by the sender; sent - taken <= slots */
    uint64_t taken_seen;                               /* sender's copy of taken */
    uint64_t sent_to;                                  /* sent, modulo slots */
    _Alignas(BENCH_CACHE_LINE) _Atomic uint64_t taken; /* written by the receiver */
    uint64_t sent_seen;                                /* receiver's copy of sent */
    uint64_t taken_from;                               /* taken, modulo slots */
    _Alignas(BENCH_CACHE_LINE) void **slot;            /* const; `slots` of them */
    uint64_t slots;                                    /* const */
};

/* Makes count rings of `slots` slots each, at least one. */
static inline struct ring *ring_map(uint64_t count, uint64_t slots)
{
    struct ring *rings = bench_map(count * sizeof *rings);
    void **slot = bench_map(count * slots * sizeof *slot);
    for (uint64_t i = 0; i < count; i++) {
        rings[i].slot = slot + i * slots;
        rings[i].slots = slots;
    }
    return rings;
}

/* The slot at a side's position, which it then advances. */
static inline void **ring_next(struct ring *r, uint64_t *at)
{
    void **slot = &r->slot[*at];
    if (++*at == r->slots) *at = 0;
    return slot;
}

/* Returns false if the ring is full. */
static inline bool ring_send(struct ring *r, void *p)
{
    uint64_t sent = atomic_load_explicit(&r->sent, memory_order_relaxed);
    if (sent - r->taken_seen == r->slots) {
        r->taken_seen = atomic_load_explicit(&r->taken, memory_order_acquire);
        if (sent - r->taken_seen == r->slots) return false;
    }
    *ring_next(r, &r->sent_to) = p;
    atomic_store_explicit(&r->sent, sent + 1, memory_order_release);
    return true;
}

/* Returns NULL if the ring is empty. */
static inline void *ring_take(struct ring *r)
{
    uint64_t taken = atomic_load_explicit(&r->taken, memory_order_relaxed);
    if (taken == r->sent_seen) {
        r->sent_seen = atomic_load_explicit(&r->sent, memory_order_acquire);
        if (taken == r->sent_seen) return NULL;
    }
    void *p = *ring_next(r, &r->taken_from);
    atomic_store_explicit(&r->taken, taken + 1, memory_order_release);
    return p;
}

/* The number of pointers in it, or somewhat fewer, as both sides go on meanwhile.  Any thread may ask. */
static inline uint64_t ring_waiting(const struct ring *r)
{
    uint64_t sent = atomic_load_explicit(&r->sent, memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&r->taken, memory_order_relaxed);
    return sent > taken ? sent - taken : 0;
}

#endif
