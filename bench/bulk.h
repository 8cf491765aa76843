/* A list of many touched objects that can be filled, shuffled, and freed in its order. */
#ifndef BENCH_BULK_H
#define BENCH_BULK_H

#include "bench.h"

struct bulk_object {
    void *p;
    uint64_t size;
};

struct bulk {
    struct bulk_object *object; /* from bench_map, so in no figure */
    uint64_t count, room, bytes;
};

static inline void bulk_map(struct bulk *b, uint64_t room)
{
    *b = (struct bulk){.object = bench_map(room * sizeof *b->object), .room = room};
}

/* Room for objects of random sizes, min to max, of `bytes` in all: twice the expected number. */
static inline uint64_t bulk_room(uint64_t bytes, uint64_t min, uint64_t max)
{
    return bytes / (min + max) * 4 + 1;
}

/* Adds objects of random size while any further one would still fit into `bytes`. */
static inline void bulk_fill(struct bulk *b, uint64_t bytes, uint64_t min, uint64_t max, uint64_t *random)
{
    if (max > bytes) bench_refuse("mib must have room for an object of %llu bytes", (unsigned long long)max);
    for (uint64_t filled = 0; filled + max <= bytes;) {
        if (b->count == b->room) bench_die("bench: more objects than room for their addresses");
        uint64_t size = bench_random_size((uint32_t)bench_random(random), min, max);
        b->object[b->count++] = (struct bulk_object){bench_alloc(size, BENCH_TOUCH_ALL), size};
        b->bytes += size;
        filled += size;
    }
}

/* Puts the objects from `first` on into random order. */
static inline void bulk_shuffle(struct bulk *b, uint64_t first, uint64_t *random)
{
    for (uint64_t left = b->count - first; left > 1; left--) {
        struct bulk_object *last = &b->object[first + left - 1];
        struct bulk_object *other = &b->object[first + bench_scale((uint32_t)bench_random(random), left)];
        struct bulk_object swapped = *last;
        *last = *other;
        *other = swapped;
    }
}

/* Frees the last objects until `keep` are left. */
static inline void bulk_trim(struct bulk *b, uint64_t keep)
{
    while (b->count > keep) {
        struct bulk_object *o = &b->object[--b->count];
        b->bytes -= o->size;
        bench_release(o->p, o->size, BENCH_TOUCH_ALL);
    }
}

#endif
