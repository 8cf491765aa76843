/* Magazines and objects leave a thread: home to their owner, to the transfer cache, to central, or into their runs. */
#pragma once

#include "front/thread.h"

/* Leaves a magazine to others that the thread no longer wants; it may be the stub, or empty. */
void hz3_evict_magazine(struct hz3_cache *cache, unsigned cls, void **top);
/* The previous magazine and those stored behind it, until `most` are left. */
HZ3_INLINE void hz3_evict_previous(struct hz3_cache *cache, unsigned cls, unsigned most)
{
    while (!hz3_is_stub(cache->previous[cls]) && cache->stored[cls] >= most)
        hz3_evict_magazine(cache, cls, hz3_cache_take_previous(cache, cls));
}
/* All magazines of a class; of all classes. */
void hz3_evict_class(struct hz3_cache *cache, unsigned cls);
void hz3_evict_classes(struct hz3_cache *cache);
/* All that is in an outbox, which may be NULL; how many objects of the class that is. */
void hz3_evict_outbox(struct hz3_outbox *outbox);
size_t hz3_evict_waiting(const struct hz3_outbox *outbox, unsigned cls);
/* All that the thread has. */
void hz3_evict_all(struct hz3_thread *thread);
/* Retires objects of other heaps: else neighbours in a cache line would belong to two threads from then on.  A magazine
 * whose objects are all one heap's is left as it is, since it will go there whole.  Returns the top of what is left. */
void **hz3_evict_foreign(const struct hz3_cache *cache, unsigned cls, void **top);

/* Everything this thread caches goes to the transfer cache or to central. */
void hz3_cache_flush(void);
/* Whether that may leave a run without a live object, because of what is in this thread's magazines, or ends the
 * quarantine of an object. */
bool hz3_cache_flush_may_help(void);
