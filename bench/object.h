/* Objects with their size and a seal at the start, and a byte of the seal at the end.  The seal depends on the
 * address, and is broken when the object is freed.  So it shows if a block is handed out twice, overlaps another, or
 * was written to by the allocator. */
#ifndef BENCH_OBJECT_H
#define BENCH_OBJECT_H

#include "bench.h"

struct object {
    uint64_t size, seal;
    void *body[]; /* for the program: size - OBJECT_MIN bytes */
};

#define OBJECT_MIN (sizeof(struct object) + 1)

static inline uint64_t object_seal_of(const void *address, uint64_t size)
{
    return ((uint64_t)(uintptr_t)address ^ size << 48) * 0x9e3779b97f4a7c15u;
}

static inline void object_seal(struct object *o, uint64_t size)
{
    *o = (struct object){.size = size, .seal = object_seal_of(o, size)};
    ((unsigned char *)o)[size - 1] = (unsigned char)(o->seal >> 56);
}

/* Checks that o starts with the seal of this address and, if its end is within `length` bytes, ends with it. */
static inline void object_check_moved(const struct object *o, const void *address, uint64_t length)
{
    bool good = o->seal == object_seal_of(address, o->size);
    if (good && o->size <= length) good = ((const unsigned char *)o)[o->size - 1] == (unsigned char)(o->seal >> 56);
    if (!good) bench_die("bench: an object was lost: %p is not what it was", (const void *)o);
}

static inline void object_check(const struct object *o)
{
    object_check_moved(o, o, UINT64_MAX);
}

static inline struct object *object_make(uint64_t size)
{
    struct object *o = bench_malloc(size);
    object_seal(o, size);
    return o;
}

static inline void object_free(struct object *o)
{
    object_check(o);
    o->seal = 0;
    bench_free(o);
}

static inline void object_check_sizes(uint64_t min, uint64_t max)
{
    if (min < OBJECT_MIN || min > max) bench_refuse("sizes must be %zu <= min <= max", OBJECT_MIN);
}

#endif
