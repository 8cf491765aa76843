/* A zone: what programs know as hz3_heap_t.  Its objects lie in runs of its own; its runs and large blocks go back
 * together.  Any thread may use it.  Its lock guards all of it, and is taken before the large cache's.  The tags of its
 * granules have neither class nor heap, so no magazine ever holds one of its objects.  Must not know of threads, heaps
 * or seals. */
#pragma once

#include "back/page_map.h"
#include "os/lock.h"

struct hz3_zone {
    struct hz3_zone *self; /* NULL once it has ended, until its memory has another use */
    struct hz3_lock lock;
    /* Under lock: of each class the runs with room; as LARGE the runs without, and large blocks. */
    struct hz3_span *lists[HZ3_CLASS_VALUES];
    HZ3_ATOMIC(size_t) live;      /* bytes of live objects, without large blocks; written under lock */
    HZ3_ATOMIC(size_t) held;      /* bytes of runs and large blocks; written under lock */
    struct hz3_zone *next, *prev; /* under the lock of the list of zones */
};

/* All functions are called inside the gate, with no lock held. */
void hz3_zone_start(struct hz3_zone *zone);
/* Frees all that it holds.  No other thread may use it. */
void hz3_zone_end(struct hz3_zone *zone);

/* Takes an object of a size class, not marked as live; or NULL.  *grown: set to the bytes of fresh pages, if it took
 * some. */
void *hz3_zone_take(struct hz3_zone *zone, unsigned cls, size_t *grown);
/* As hz3_large_alloc. */
void *hz3_zone_large_alloc(struct hz3_zone *zone, size_t size, size_t alignment);
/* Frees a live large block of the zone, or an object that is marked as freed. */
void hz3_zone_free(struct hz3_zone *zone, void *p, unsigned cls);
/* hz3_large_realloc of any large block; that of a zone stays in its zone. */
void *hz3_zone_large_realloc(void *p, size_t size);

/* The zone in whose run, or at the start of whose large block, p lies; or NULL. */
struct hz3_zone *hz3_zone_of(const void *p);
/* The class of p, which lies in a zone: that of the run, or LARGE. */
unsigned hz3_zone_class(const void *p);

/* Of all zones.  Waits for no zone's lock. */
struct hz3_zone_bytes {
    size_t live, held;
};
struct hz3_zone_bytes hz3_zones_count(void);

void hz3_zones_each_lock(void (*visit)(struct hz3_lock *lock)); /* for fork */
