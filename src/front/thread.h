/* What hz3 keeps for a thread, in thread-local storage: for each class a loaded and a previous magazine (Bonwick &
 * Adams), and how much they may hold. */
#pragma once

#include "base/check.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/outbox.h"

#include <pthread.h>

enum hz3_thread_state {
    HZ3_THREAD_NEW,
    HZ3_THREAD_BUSY, /* it is joining or leaving: takes and retires object by object */
    HZ3_THREAD_JOINED,
    HZ3_THREAD_LEFT, /* hz3's destructor has run: like BUSY, for calls by other destructors */
};

struct hz3_cache_stats {
    /* Mallocs that found the loaded magazine empty, by what served them. */
    uint64_t swap, stash, transfer, held, central, stolen, fresh;
    uint64_t overflow, retired; /* full magazines that went on whole, or into their runs */
};

/* A thread's magazines and what goes with them.  A thread that ends leaves all of this to its successor. */
struct hz3_cache {
    void **top[HZ3_CLASS_VALUES];      /* last filled word of the loaded magazine, or the stub's last */
    void **previous[HZ3_CLASS_VALUES]; /* the same of the other magazine */
    uint8_t capacity[HZ3_CLASS_VALUES];
    int8_t counted[HZ3_CLASS_VALUES];  /* objects of the loaded magazine that the thread's bytes are counted up to */
    bool missed[HZ3_CLASS_VALUES];     /* the class missed since `epoch` began */
    bool freed_only[HZ3_CLASS_VALUES]; /* the class overflowed, and no malloc missed since */
    bool overflowed[HZ3_CLASS_VALUES]; /* of the class's misses and overflows the last was an overflow */
    uint8_t store[HZ3_CLASS_VALUES];   /* how many magazines the class may store: earned, as its capacity is */
    uint8_t stored[HZ3_CLASS_VALUES];  /* magazines behind the previous one, closed and not empty, linked in a chain */
    uint16_t route[HZ3_CLASS_VALUES];  /* where the class's last full magazine went: its owner + 2; 0: not known */
    uint8_t loads, sends;              /* exchanges with what threads share, wrapping (front/exchange) */
    uint8_t unstored;                  /* magazines loaded of those stored, wrapping */
    uint8_t owner;                     /* number of the thread's heap */
    uint8_t donor;                     /* the class that gave room last */
    uint32_t epoch;                    /* the last epoch that the thread has seen */
    unsigned spares;                   /* how many spares there are */
    struct hz3_magazine *spare;        /* the first of them; linked by word[1] */
    size_t grown;                      /* fresh bytes of new runs since this thread last ran growth reclaim */
    struct hz3_cache_stats stats;
};

/* What hz3 keeps for a thread.  Other threads use only the cache and the fields that say so. */
struct hz3_thread {
    struct hz3_cache cache;
    enum hz3_thread_state state;
    bool by_loader;                 /* the dynamic loader called free, and may hold locks of libc */
    bool due;                       /* it is time to call reclaim/visit */
    uint8_t ending;                 /* how often the destructor of its end has run */
    HZ3_ATOMIC(bool) was_elsewhere; /* it made a slow call on another stack than its own, as coroutines do */
    bool has_to_answer;             /* since a fork it does not hold its entry in the list of threads */
    HZ3_ATOMIC(bool) inside;        /* its magazines may be half changed: a child forked now must not touch them */
    HZ3_ATOMIC(uint32_t) visited;   /* a bool: another thread is emptying its magazines (front/sleepers) */
    uint32_t slow_calls;
    uint32_t calls_before; /* slow_calls when hz3_cache_lend last looked, under hz3_threads_lock */
    uint8_t asleep;        /* for how many looks; HZ3_ASLEEP_EMPTIED: it was emptied since; under the same lock */
    struct hz3_heap *heap;
    pthread_t self;
    int tid;                    /* the system's number of it */
    struct hz3_outbox **outbox; /* lets other threads find this thread's outbox: statistics, and a forked child */
    int64_t unsampled;          /* units that it may allocate before it asks watch/sample; below 0: it asks */
    size_t allocated, freed;    /* bytes, ever, but for what the loaded magazines changed since they were counted */
    size_t reserved;            /* bytes that its classes earned; they count in both budgets */
    HZ3_ATOMIC(size_t) lent;    /* the part of these that hz3_cache_lend lent; the thread takes it back */
    struct hz3_registry_entry *entry; /* its entry in the list of threads (front/registry), while it has joined */
};

extern HZ3_HIDDEN _Thread_local struct hz3_thread hz3_thread;

HZ3_INLINE bool hz3_is_stub(void **top)
{
    return top == HZ3_STUB_TOP;
}

HZ3_INLINE bool hz3_is_empty(void **top)
{
    return !*top;
}

/* Empties a magazine, and gives it as much room as the class has.  (A class without capacity has no magazine.) */
HZ3_INLINE void **hz3_cache_open(const struct hz3_cache *cache, unsigned cls, struct hz3_magazine *magazine)
{
    hz3_assert(cache->capacity[cls] > 0);
    return hz3_magazine_open(magazine, cache->capacity[cls]);
}

/* Whether the magazine has as much room as its class has earned. */
HZ3_INLINE bool hz3_cache_is_roomy(const struct hz3_cache *cache, unsigned cls, void **top)
{
    return hz3_magazine_of(top)->header.floor <= HZ3_MAGAZINE_LAST - cache->capacity[cls];
}

/* This many swaps count as one miss: they too show that the class has too little room. */
enum { HZ3_SWAPS_PER_MISS = 8 };

/* Capacity that is free of charge: 1 KiB of objects for each class (front/budget). */
enum { HZ3_CACHE_FREE_BYTES = 1024 };
HZ3_INLINE unsigned hz3_cache_free_capacity(unsigned cls)
{
    return hz3_min(HZ3_CACHE_FREE_BYTES / hz3_class_info[cls].size, hz3_class_info[cls].load);
}

/* The top of the magazine stored behind this one; its thread may be changing them. */
HZ3_RACY static inline void **hz3_cache_behind(void **top)
{
    struct hz3_magazine *magazine = hz3_magazine_below(hz3_magazine_of(top));
    return magazine ? &magazine->word[magazine->header.top] : HZ3_STUB_TOP;
}

/* How many objects the magazines of a class hold. */
HZ3_RACY static inline size_t hz3_cache_count(const struct hz3_cache *cache, unsigned cls)
{
    void **previous = cache->previous[cls];
    size_t objects = hz3_magazine_objects(cache->top[cls]) + hz3_magazine_objects(previous);
    for (unsigned i = cache->stored[cls]; i > 0; i--)
        objects += hz3_magazine_objects(previous = hz3_cache_behind(previous));
    return objects;
}

/* The magazine stored behind the previous one, which leaves, takes its place.  There is one. */
HZ3_INLINE struct hz3_magazine *hz3_cache_take_stored(struct hz3_cache *cache, unsigned cls, void **previous)
{
    struct hz3_magazine *next = hz3_magazine_at(hz3_get(hz3_magazine_of(previous)->header.next));
    cache->previous[cls] = &next->word[next->header.top];
    cache->stored[cls]--;
    return next;
}

/* The previous magazine is stored behind `top`, which is about to take its place.  Neither is empty. */
HZ3_INLINE void hz3_cache_store(struct hz3_cache *cache, unsigned cls, void **previous, void **top)
{
    struct hz3_magazine *behind = hz3_magazine_close(previous);
    hz3_set(hz3_magazine_of(top)->header.next, hz3_magazine_number(behind));
    cache->stored[cls]++;
}

/* The previous magazine, or the stub, leaves the cache; one that is stored takes its place. */
HZ3_INLINE void **hz3_cache_take_previous(struct hz3_cache *cache, unsigned cls)
{
    void **previous = cache->previous[cls];
    if (cache->stored[cls])
        hz3_cache_take_stored(cache, cls, previous);
    else
        cache->previous[cls] = HZ3_STUB_TOP;
    return previous;
}

/* A magazine that is not empty becomes the previous one; the one that was, not empty either, is stored. */
HZ3_INLINE void hz3_cache_put_previous(struct hz3_cache *cache, unsigned cls, void **top)
{
    void **previous = cache->previous[cls];
    if (!hz3_is_stub(previous)) hz3_cache_store(cache, cls, previous, top);
    cache->previous[cls] = top;
}

/* Counts what mallocs and frees did to the loaded magazine; call before it changes in any other way. */
HZ3_INLINE void hz3_thread_count(struct hz3_thread *self, unsigned cls)
{
    int objects = (int)hz3_magazine_objects(self->cache.top[cls]), more = objects - self->cache.counted[cls];
    *(more > 0 ? &self->freed : &self->allocated) += (size_t)(more > 0 ? more : -more) * hz3_class_size(cls);
    self->cache.counted[cls] = (int8_t)objects;
}

/* The same for an empty magazine, and for a full one that is not the stub; the caller recounts. */
HZ3_INLINE void hz3_thread_count_empty(struct hz3_thread *self, unsigned cls)
{
    int less = self->cache.counted[cls];
    if (unlikely(less < 0))
        self->freed += (size_t)-less * hz3_class_size(cls);
    else
        self->allocated += (unsigned)less * hz3_class_size(cls);
}

HZ3_INLINE void hz3_thread_count_full(struct hz3_thread *self, unsigned cls, void **top)
{
    unsigned objects = HZ3_MAGAZINE_LAST - hz3_magazine_of(top)->header.floor;
    self->freed += (objects - (unsigned)self->cache.counted[cls]) * hz3_class_size(cls);
}

/* Call after the loaded magazine has changed in another way than by malloc or free. */
HZ3_INLINE void hz3_cache_recount(struct hz3_cache *cache, unsigned cls)
{
    cache->counted[cls] = (int8_t)hz3_magazine_objects(cache->top[cls]);
}

/* Count objects that this thread allocated or freed without a magazine. */
HZ3_INLINE void hz3_thread_allocated(unsigned cls)
{
    hz3_thread.allocated += hz3_class_size(cls);
}

HZ3_INLINE void hz3_thread_freed(unsigned cls, size_t objects)
{
    hz3_thread.freed += objects * hz3_class_size(cls);
}

/* Frees an object straight into its run. */
HZ3_INLINE void hz3_thread_retire(void *p, unsigned cls)
{
    hz3_central_retire(cls, &p, 1);
    hz3_thread_freed(cls, 1);
}

enum { HZ3_ASLEEP_EMPTIED = UINT8_MAX };
void hz3_thread_wait_for_visitor(struct hz3_thread *self);
/* In a forked child, where no visitor goes on with what it has begun. */
void hz3_thread_lose_visitor(struct hz3_thread *self);

/* Call around all uses of the magazines in a slow path.  A fork by another thread copies the cache as it is, so
 * `inside` must be visible before the first change and until after the last. */
HZ3_INLINE void hz3_thread_go_inside(struct hz3_thread *self)
{
    hz3_set(self->inside, true);
    hz3_fence(memory_order_release);
    hz3_compiler_fence(); /* a visitor makes this a full fence */
    if (unlikely(hz3_load(self->visited, memory_order_acquire))) hz3_thread_wait_for_visitor(self);
}

/* The same without waiting.  False: a visitor is there, and the thread is not inside. */
HZ3_INLINE bool hz3_thread_go_inside_at_once(struct hz3_thread *self)
{
    hz3_set(self->inside, true);
    hz3_fence(memory_order_release);
    hz3_compiler_fence();
    bool alone = !hz3_load(self->visited, memory_order_acquire);
    if (unlikely(!alone)) hz3_store(self->inside, false, memory_order_release);
    return alone;
}

HZ3_INLINE void hz3_thread_go_outside(struct hz3_thread *self)
{
    hz3_store(self->inside, false, memory_order_release);
}

/* ---- spares: empty magazines that a thread keeps, so that most slow paths do not use the shared stacks ---- */

enum { HZ3_SPARES_MAX = 16 };
/* Makes a bundle, or NULL, the spares of a thread that has none. */
void hz3_spares_take(struct hz3_cache *cache, struct hz3_magazine *bundle);
void hz3_spares_fetch(struct hz3_cache *cache, unsigned cls);
void hz3_spares_share(struct hz3_cache *cache, unsigned cls);

/* Takes an empty magazine from the thread's spares, or from the shared stacks.  NULL: no memory. */
HZ3_INLINE struct hz3_magazine *hz3_spares_get(struct hz3_cache *cache, unsigned cls)
{
    if (!cache->spare) hz3_spares_fetch(cache, cls);
    struct hz3_magazine *magazine = cache->spare;
    if (!magazine) return NULL;
    cache->spare = magazine->word[1];
    cache->spares--;
    return magazine;
}

/* Keeps an empty magazine as a spare; shares spares if there are too many. */
HZ3_INLINE void hz3_spares_put(struct hz3_cache *cache, unsigned cls, struct hz3_magazine *magazine)
{
    if (cache->spares == HZ3_SPARES_MAX) hz3_spares_share(cache, cls);
    magazine->word[1] = cache->spare;
    cache->spare = magazine;
    cache->spares++;
}
