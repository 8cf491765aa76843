/* What a thread holds: per class a loaded and a previous magazine (Bonwick & Adams), reached by one TLS word,
 * `top[class]`.  The fast paths (api/entry.c) are all that usually runs; the slow paths here swap the
 * two, then go down the stairs: owner stash (S44), transfer cache (S42), central, a run of the heap's, and, before a
 * new one, whatever waits for other owners.
 *
 * Capacity is earned: a class starts with small magazines (large ones with none) and doubles them when it misses, as
 * far as the thread's and the process's byte budgets go (docs/design.md); what has not missed for an epoch gives half
 * back.
 *
 * Talks to transfer cache, central and heap below.  Must not know of the API's error rules, nor of reclaim: a slow path
 * says when that is due, a thread's end what came of it, and the API sees to it. */
#ifndef HZ3_FRONT_THREAD_CACHE_H
#define HZ3_FRONT_THREAD_CACHE_H

#include "base/check.h"
#include "front/heap.h"
#include "middle/counters.h"
#include "middle/outbox.h"
#include "middle/transfer_cache.h"

enum hz3_thread_state {
    HZ3_THREAD_NEW,
    HZ3_THREAD_BUSY, /* joining or leaving: takes and retires object by object */
    HZ3_THREAD_JOINED,
    HZ3_THREAD_LEFT, /* its destructor has run: like BUSY, for whatever other destructors do */
};

struct hz3_cache_stats {
    /* Mallocs that found the bin empty, by what served them. */
    uint64_t swap, stash, transfer, kept, central_magazine, held, central, stolen, fresh;
    uint64_t overflow, retired; /* full magazines that went on whole, or into their runs */
};

struct hz3_thread {
    void **top[HZ3_BINS];      /* last filled word of the loaded magazine, or the stub's last */
    void **previous[HZ3_BINS]; /* the same of the other magazine */
    uint8_t capacity[HZ3_BINS];
    bool missed[HZ3_BINS];     /* since the thread's last epoch */
    bool freed_only[HZ3_BINS]; /* it overflowed, and no malloc missed since */
    uint8_t owner;             /* number of `heap` */
    uint8_t donor;             /* the class that gave room last */
    enum hz3_thread_state state;
    bool by_loader;          /* in a slow free of the dynamic loader's, which may hold locks of libc's */
    bool due;                /* it is time for reclaim/visit */
    HZ3_ATOMIC(bool) inside; /* in a slow path: a child forked meanwhile must not touch this cache */
    uint32_t epoch, slow_calls;
    uint32_t calls_before; /* slow_calls when hz3_cache_lend last looked, under hz3_threads_lock */
    struct hz3_heap *heap;
    struct hz3_outbox **outbox;    /* where this thread's is, for others: dead threads and statistics */
    struct hz3_counters *counters; /* the same */
    uint64_t *rmw;                 /* the same */
    struct hz3_magazine *spare;    /* empty ones, linked by word[1] */
    unsigned spares;
    size_t grown;                   /* bytes of new runs in pages that were not there, since reclaim looked */
    size_t reserved;                /* bytes of both budgets: capacity earned beyond the first */
    HZ3_ATOMIC(size_t) lent;        /* of these, by hz3_cache_lend; the thread takes it back */
    struct hz3_thread *next, *prev; /* all joined threads, under hz3_threads_lock */
    struct hz3_cache_stats stats;
};

extern HZ3_HIDDEN _Thread_local struct hz3_thread hz3_thread;
extern struct hz3_lock hz3_threads_lock;
extern HZ3_ATOMIC(uint32_t) hz3_threads_none; /* a bool: none of those that joined is left; who waits on it is woken */

/* cls: a real class.  malloc: the loaded magazine was empty; NULL if there is no memory.
 * free: it was full; p's state is dealt with. */
void *hz3_cache_malloc_slow(unsigned cls);
void hz3_cache_free_slow(void *p, unsigned cls);

HZ3_INLINE void *hz3_cache_malloc(unsigned cls)
{
    void **top = hz3_thread.top[cls];
    void *p = *top;
    if (unlikely(!p)) return hz3_cache_malloc_slow(cls);
    hz3_thread.top[cls] = top - 1;
    return p;
}

HZ3_INLINE void hz3_cache_free(void *p, unsigned cls)
{
    void **top = hz3_thread.top[cls] + 1;
    if (unlikely((uintptr_t)top % HZ3_MAGAZINE_BYTES == 0)) {
        hz3_cache_free_slow(p, cls);
        return;
    }
    *top = p;
    hz3_thread.top[cls] = top;
}

HZ3_INLINE bool hz3_is_stub(void **top)
{
    return top == HZ3_STUB_TOP;
}

HZ3_INLINE bool hz3_is_empty(void **top)
{
    return !*top;
}

/* For a joined thread's slow paths: an empty magazine from its spares or from all, or NULL; the way back; */
struct hz3_magazine *hz3_cache_get_magazine(struct hz3_thread *self, unsigned cls);
void hz3_cache_put_magazine(struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine);
/* and with as much room as the class has earned.  Without capacity it has no magazine, so this one has room. */
HZ3_INLINE void **hz3_cache_open(const struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine)
{
    hz3_assert(self->capacity[cls] > 0);
    return hz3_magazine_open(magazine, self->capacity[cls]);
}

/* Around what else a joined thread does to its cache in a slow path (front/remote_free).  False: this thread has no
 * cache, now or any more. */
bool hz3_cache_enter(void);
void hz3_cache_leave(void);
/* Between these: p joins this thread's magazines. */
void hz3_cache_adopt(void *p, unsigned cls);

/* thread_bytes: the most one thread earns; total_bytes: all of them together. */
void hz3_cache_budgets(size_t thread_bytes, size_t total_bytes);
/* at_end: what a thread's end runs, with any argument. */
void hz3_cache_start(void (*at_end)(void *));
/* By at_end: what this thread caches is left to others, or goes home.  What came of that: */
struct hz3_departure {
    bool left;      /* the rest is false unless the thread had joined */
    bool last;      /* no other is left */
    bool dispersed; /* of a crowd few are left: nobody may be there later to take what it leaves behind home */
};
struct hz3_departure hz3_cache_depart(void);
/* A new epoch, unless this thread has seen it: classes that nobody asked for since the last one give room back. */
void hz3_cache_pass_epoch(uint32_t epoch);
/* Threads without a slow call since the last time lend what they claim of the total, beyond what they hold. */
void hz3_cache_lend(void);
/* What ended threads left in every `step`th handoff from `first` on (front/handoff) goes home, unless it was left since
 * the last call and not `all` is to go. */
void hz3_cache_clear_handoffs(unsigned first, unsigned step, bool all);
/* Everything this thread caches goes to the transfer cache or to central. */
void hz3_cache_flush(void);
/* In a forked child: forgets the threads that are gone, and, if every structure is `whole`, takes over what they
 * had cached. */
void hz3_cache_after_fork(bool whole);

/* Sums over all threads, dead ones too; of live ones as they happen to be. */
void hz3_cache_stats_sum(struct hz3_cache_stats *sum);
size_t hz3_cache_objects(unsigned cls); /* in magazines and outboxes of live threads, and in handoffs */
/* HZ3_BOXES_ON: what this thread counted stays in the sum, though it be on no list. */
void hz3_cache_bury_counters(void);
void hz3_cache_counters_sum(struct hz3_counters *sum);
#endif
