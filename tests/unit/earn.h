/* Rounds of mallocs and frees that earn a class all the room it may have. */
#ifndef HZ3_UNIT_EARN_H
#define HZ3_UNIT_EARN_H

#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/threads.h"

/* A budget that nothing reaches.  Sums of a few do not overflow. */
#define PLENTY (SIZE_MAX / 4)

/* Returns the capacity after rounds that earn all there is. */
static inline unsigned earn(unsigned cls)
{
    void *objects[300];
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 300; i++) objects[i] = hz3_cache_malloc(cls);
        for (int i = 0; i < 300; i++) hz3_cache_free(objects[i], cls);
    }
    return hz3_thread.cache.capacity[cls];
}

static inline unsigned capacity_earned(unsigned cls)
{
    unsigned capacity = earn(cls);
    assert_true(hz3_cache_objects(cls) <= (2u + hz3_thread.cache.store[cls]) * hz3_class_info[cls].load);
    return capacity;
}
#endif
