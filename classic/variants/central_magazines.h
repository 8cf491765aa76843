/* Central keeps whole magazines, which serve before its runs: under a lock for each class, or without one (work order
 * S142).  A pop takes one of them. */
#pragma once

#include "base/layout.h"
#include "middle/magazine.h"

extern struct hz3_central_magazines {
    struct hz3_stack stack; /* HZ3_S142_CENTRAL_LOCKFREE, else the rest */
    struct hz3_lock lock;
    struct hz3_magazine *first;
    HZ3_ATOMIC(uint32_t) count; /* written under the lock */
} HZ3_CACHE_ALIGNED hz3_central_magazines[HZ3_CLASS_VALUES];

/* Leaves a magazine here; false: there is no room. */
bool hz3_central_put_magazine(unsigned cls, struct hz3_magazine *magazine);
struct hz3_magazine *hz3_central_get_magazine(unsigned cls); /* or NULL */
/* Takes apart half of the class's magazines, or all. */
void hz3_central_trim(unsigned cls, bool all);
size_t hz3_central_cached(unsigned cls); /* objects in them */
size_t hz3_central_waiting(void);        /* bytes of all classes, magazines counted as full */
/* For fork. */
void hz3_central_each_magazines_lock(void (*visit)(struct hz3_lock *lock));
