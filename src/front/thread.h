/* What hz3 keeps of a thread, reached by one TLS word: per class a loaded and a previous magazine (Bonwick & Adams),
 * and what these may hold. */
#ifndef HZ3_FRONT_THREAD_H
#define HZ3_FRONT_THREAD_H

#include "base/check.h"
#include "middle/central.h"
#include "variants/counters.h"
#include "middle/outbox.h"

#include <pthread.h>

enum hz3_thread_state {
    HZ3_THREAD_NEW,
    HZ3_THREAD_BUSY, /* joining or leaving: takes and retires object by object */
    HZ3_THREAD_JOINED,
    HZ3_THREAD_LEFT, /* its destructor has run: like BUSY, for whatever other destructors do */
};

struct hz3_cache_stats {
    /* Mallocs that found the loaded magazine empty, by what served them. */
    uint64_t swap, stash, transfer, kept, central_magazine, held, central, stolen, fresh;
    uint64_t overflow, retired; /* full magazines that went on whole, or into their runs */
};

/* The magazines of a thread, and what goes with them: all that a thread that ends leaves to its successor. */
struct hz3_cache {
    void **top[HZ3_CLASS_VALUES];      /* last filled word of the loaded magazine, or the stub's last */
    void **previous[HZ3_CLASS_VALUES]; /* the same of the other magazine */
    uint8_t capacity[HZ3_CLASS_VALUES];
    bool missed[HZ3_CLASS_VALUES];     /* since `epoch` began */
    bool freed_only[HZ3_CLASS_VALUES]; /* it overflowed, and no malloc missed since */
    uint8_t owner;                     /* number of the heap they are carved from */
    uint8_t donor;                     /* the class that gave room last */
    uint32_t epoch;                    /* of reclaim's, when they were last looked through */
    unsigned spares;
    struct hz3_magazine *spare; /* empty ones, linked by word[1] */
    size_t grown;               /* bytes of new runs in pages that were not there, since reclaim looked */
    struct hz3_cache_stats stats;
};

/* The rest is the thread's alone. */
struct hz3_thread {
    struct hz3_cache cache;
    enum hz3_thread_state state;
    bool by_loader;          /* in a slow free of the dynamic loader's, which may hold locks of libc's */
    bool due;                /* it is time for reclaim/visit */
    HZ3_ATOMIC(bool) inside; /* its magazines may be half changed: a child forked meanwhile must not touch them */
    uint32_t slow_calls;
    uint32_t calls_before; /* slow_calls when hz3_cache_lend last looked, under hz3_threads_lock */
    struct hz3_heap *heap;
    pthread_t self;
    struct hz3_outbox **outbox;   /* where this thread's is, for others: dead threads and statistics */
    struct hz3_counting counting; /* the same, where a box counts */
    size_t reserved;              /* bytes of both budgets: capacity earned beyond the first */
    HZ3_ATOMIC(size_t) lent;      /* of these, by hz3_cache_lend; the thread takes it back */
    struct hz3_roll_entry *entry; /* while it has joined: what the list of threads has of it (front/roll) */
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

/* An empty magazine with as much room as the class has earned.  Without capacity the class has no magazine, so this one
 * has room. */
HZ3_INLINE void **hz3_cache_open(const struct hz3_cache *cache, unsigned cls, struct hz3_magazine *magazine)
{
    hz3_assert(cache->capacity[cls] > 0);
    return hz3_magazine_open(magazine, cache->capacity[cls]);
}

/* In both magazines of a class. */
HZ3_RACY static inline size_t hz3_cache_count(const struct hz3_cache *cache, unsigned cls)
{
    return hz3_magazine_objects(cache->top[cls]) + hz3_magazine_objects(cache->previous[cls]);
}

/* Around whatever changes the magazines in a slow path.  A fork by another thread copies the cache as it is: `inside`
 * is seen before and until after what it guards. */
HZ3_INLINE void hz3_thread_go_inside(struct hz3_thread *self)
{
    hz3_set(self->inside, true);
    hz3_fence(memory_order_release);
}

HZ3_INLINE void hz3_thread_go_outside(struct hz3_thread *self)
{
    hz3_store(self->inside, false, memory_order_release);
}
#endif
