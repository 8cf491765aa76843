#include "front/threads.h"

#include "back/limits.h"
#include "base/layout.h"
#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/evict.h"
#include "front/handoff.h"
#include "front/heap.h"
#include "front/orphans.h"
#include "front/registry.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include "os/sandbox.h"
#include HZ3_SECURE_H

#include <limits.h>
#include <string.h>
#include <time.h>

enum {
    /* A thread leaves when its destructor runs for the last time but one.  So other destructors have a cache.  The last
     * time never comes for a thread that joins in the first destructor of all. */
    LAST_ENDING = PTHREAD_DESTRUCTOR_ITERATIONS - 1,
    BUILT_MUCH = 32, /* slow calls.  A thread of fewer has little to free, and should not have to end so often */
    BURST_MIN = 64,  /* so many threads are a burst */
    BURST_LEFT = 8,  /* it is over when this share of it is left, or less */
};

struct hz3_lock hz3_threads_lock;
HZ3_ATOMIC(uint32_t) hz3_threads_none;
static unsigned joined;             /* how many threads have joined; under hz3_threads_lock, as the two below */
static unsigned burst;              /* the most there were since one was over */
static struct hz3_cache_stats dead; /* the counters of threads that left */
static pthread_key_t exit_key;
static bool has_exit_key;

static void add_stats(struct hz3_cache_stats *sum, const struct hz3_cache_stats *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

/* Gives up what a cache has besides magazines of objects.  hz3_threads_lock is held, as for the three below. */
static void close_cache(struct hz3_cache *cache)
{
    if (cache->spare) hz3_magazine_put_bundle(cache->owner, cache->spare, cache->spares);
    cache->spare = NULL;
    add_stats(&dead, &cache->stats);
}

static void set_nobody_left(bool nobody)
{
    hz3_set(hz3_threads_none, nobody);
    if (nobody) hz3_os_wake(&hz3_threads_none);
}

/* For a thread that ended without its destructors: its memory must not be read, and what it had cached is lost. */
static void unregister_lost(struct hz3_registry_entry *entry)
{
    hz3_budget_forget(entry);
    hz3_set(hz3_heap_lost_thread, true);
    hz3_heap_leave(entry->heap);
    hz3_gate_clear_slot(entry->gate_slot);
    hz3_registry_remove(entry);
    if (!--joined) set_nobody_left(true);
}

/* Removes threads that are gone.  To be called before all threads are walked; hz3_threads_lock is held. */
void hz3_threads_reap_locked(void)
{
    for (struct hz3_registry_entry *entry = hz3_registry, *next; entry; entry = next) {
        next = entry->next;
        if (hz3_registry_is_gone(entry)) unregister_lost(entry);
    }
}

struct hz3_thread *hz3_threads_next(enum hz3_registry_walk walk)
{
    struct hz3_registry_entry *entry;
    while ((entry = hz3_registry_next[walk])) {
        hz3_registry_next[walk] = entry->next;
        if (!hz3_registry_is_gone(entry)) return entry->thread;
        unregister_lost(entry);
    }
    return NULL;
}

void hz3_threads_reap(void)
{
    if (!hz3_trylock(&hz3_threads_lock)) return;
    hz3_threads_reap_locked();
    hz3_unlock(&hz3_threads_lock);
}

/* Strikes a thread off whose magazines were left to others already. */
static void unregister(struct hz3_thread *thread)
{
    close_cache(&thread->cache);
    if (*thread->outbox) hz3_outbox_put(*thread->outbox);
    *thread->outbox = NULL;
    hz3_budget_forget(thread->entry);
    hz3_heap_leave(thread->heap);
    hz3_registry_remove(thread->entry);
    joined--;
}

/* Leaves the magazines to a successor; all earned room was given back before.  False: they have to go elsewhere. */
static bool leave_handoff(struct hz3_thread *self)
{
    hz3_budget_take_back(self); /* under the lock: hz3_budget_lend cannot lend again for this thread */
    add_stats(&dead, &self->cache.stats);
    self->cache.stats = (struct hz3_cache_stats){.swap = 0};
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) hz3_thread_count(self, cls);
    if (joined == 1 || hz3_pages_over_limit() || !hz3_handoff_leave(&self->cache)) return false;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) self->cache.top[cls] = self->cache.previous[cls] = HZ3_STUB_TOP;
    memset(self->cache.counted, 0, sizeof self->cache.counted);
    self->cache.spare = NULL;
    return true;
}

static void take_handoff(struct hz3_thread *self, struct hz3_heap *heap)
{
    if (!hz3_handoff_take(&self->cache, hz3_heap_number(heap)))
        for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
            self->cache.capacity[cls] = (uint8_t)hz3_budget_start_capacity(cls);
    self->state = HZ3_THREAD_BUSY;
    self->heap = heap;
    self->cache.owner = (uint8_t)hz3_heap_number(heap);
    hz3_set(hz3_heap_highest, hz3_max(hz3_get(hz3_heap_highest), (unsigned)self->cache.owner));
}

void hz3_cache_clear_handoffs(unsigned first, unsigned step, bool all)
{
    for (unsigned i = first; i < HZ3_HANDOFFS; i += step) {
        hz3_lock(&hz3_threads_lock);
        struct hz3_cache *cache = hz3_handoff_claim(i, all);
        hz3_unlock(&hz3_threads_lock);
        if (!cache) continue;
        hz3_evict_classes(cache);
        hz3_lock(&hz3_threads_lock);
        close_cache(cache);
        hz3_handoff_vacate(i);
        hz3_unlock(&hz3_threads_lock);
    }
    for (unsigned cls = first; cls <= HZ3_CLASSES; cls += step) hz3_orphans_trim(cls, all);
}

/* True: the thread's destructor will run again. */
static bool stays(struct hz3_thread *self)
{
    bool early = self->slow_calls >= BUILT_MUCH && ++self->ending < LAST_ENDING;
    return early && pthread_setspecific(exit_key, self) == 0;
}

struct hz3_thread_end hz3_threads_leave(void)
{
    struct hz3_thread *self = &hz3_thread;
    struct hz3_thread_end end = {.left = self->state == HZ3_THREAD_JOINED && !stays(self)};
    if (!end.left) return end;
    hz3_gate_enter_at_last();
    hz3_thread_go_inside(self);
    hz3_budget_settle(self);
    hz3_thread_go_outside(self);
    hz3_lock(&hz3_threads_lock);
    bool handed_over = leave_handoff(self);
    hz3_unlock(&hz3_threads_lock);
    if (!handed_over) hz3_cache_flush();
    hz3_transfer_settle();
    self->state = HZ3_THREAD_BUSY;
    hz3_lock(&hz3_threads_lock);
    hz3_registry_close(self->entry);
    unregister(self);
    end.burst_over = burst >= BURST_MIN && joined * BURST_LEFT <= burst;
    end.last = !joined;
    if (end.burst_over) burst = joined;
    if (end.last) set_nobody_left(true);
    hz3_unlock(&hz3_threads_lock);
    self->state = HZ3_THREAD_LEFT;
    hz3_gate_leave();
    hz3_gate_give_up_slot();
    return end;
}

HZ3_COLD void hz3_threads_join(struct hz3_thread *self)
{
    self->state = HZ3_THREAD_BUSY;
    /* pthread_setspecific may allocate, which BUSY serves.  Without a destructor nothing may be cached. */
    if (!has_exit_key || pthread_setspecific(exit_key, self) != 0) {
        self->state = HZ3_THREAD_LEFT;
        return;
    }
    self->entry = hz3_registry_open();
    if (!self->entry) {
        self->state = HZ3_THREAD_NEW; /* there may be memory the next time */
        return;
    }
    hz3_sandbox_join(false);
    clockid_t clock;
    struct hz3_heap *heap = hz3_heap_join();
    hz3_lock(&hz3_threads_lock);
    take_handoff(self, heap);
    self->self = pthread_self();
    /* Linux makes the number of a thread's clock of the thread's number, which no system call would tell. */
    self->tid = pthread_getcpuclockid(self->self, &clock) == 0 ? (int)~(clock >> 3) : 0;
    self->outbox = &hz3_outbox;
    struct hz3_registry_entry *lost = hz3_registry_add(self->entry, self, heap);
    if (joined++ == 0) set_nobody_left(false);
    if (lost) unregister_lost(lost);
    hz3_set(hz3_threads_several, joined > 1);
    burst = hz3_max(burst, joined);
    hz3_unlock(&hz3_threads_lock);
    self->entry->gate_slot = hz3_gate_claim_slot();
    self->state = HZ3_THREAD_JOINED;
}

void hz3_cache_start(void (*at_end)(void *))
{
    has_exit_key = pthread_key_create(&exit_key, at_end) == 0;
}

/* Forgets all threads but this one.  Writes nothing that a gone thread had, since each page would be copied. */
static void forget_others(struct hz3_thread *self, bool whole)
{
    struct hz3_registry_entry *own = NULL;
    hz3_threads_reap_locked();
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next) {
        struct hz3_thread *gone = entry->thread;
        if (gone == self) {
            own = entry;
            continue;
        }
        if (whole && HZ3_STORES_IN_ORDER && !hz3_get(gone->inside)) hz3_orphans_note(gone);
        add_stats(&dead, &gone->cache.stats);
    }
    hz3_orphans_noted();
    hz3_registry_keep(own);
    joined = own != NULL;
    burst = joined;
}

void hz3_cache_after_fork(bool whole)
{
    struct hz3_thread *self = &hz3_thread;
    enum hz3_thread_state state = self->state;
    if (state == HZ3_THREAD_JOINED) self->tid = hz3_os.pid;
    self->state = HZ3_THREAD_BUSY; /* its own magazines may be half changed */
    hz3_thread_lose_visitor(self);
    if (hz3_registry && (hz3_registry->next || hz3_registry->thread != self)) forget_others(self, whole);
    hz3_handoff_after_fork(whole);
    hz3_owner_stash_after_fork();
    self->state = state;
    self->has_to_answer = state == HZ3_THREAD_JOINED; /* not now: a child of few calls ends as its only thread */
    /* Counts anew: other threads may have been about to join, or to change their part of the budget. */
    bool counts = state == HZ3_THREAD_JOINED;
    for (unsigned i = 0; i < (whole ? hz3_get(hz3_heap_highest) + 1 : hz3_heap_count); i++) {
        uint32_t threads = counts && self->heap == &hz3_heaps[i];
        if (hz3_get(hz3_heaps[i].threads) != threads) hz3_set(hz3_heaps[i].threads, threads);
    }
    hz3_budget_after_fork(self, counts);
}

void hz3_threads_answer(struct hz3_thread *self)
{
    self->has_to_answer = false;
    if (self->state == HZ3_THREAD_JOINED) hz3_registry_hold(self->entry);
}

/* ---- observation ---- */

HZ3_RACY static bool holds(void **top, const void *p)
{
    size_t objects = hz3_magazine_objects(top);
    for (size_t i = 0; i < objects; i++)
        if (top[-(ptrdiff_t)i] == p) return true;
    return false;
}

HZ3_RACY int hz3_threads_find(const void *p, unsigned cls)
{
    int found = 0;
    if (!hz3_trylock(&hz3_threads_lock)) return 0;
    hz3_threads_reap_locked();
    for (struct hz3_registry_entry *entry = hz3_registry; entry && !found; entry = entry->next) {
        const struct hz3_thread *thread = entry->thread;
        bool here = holds(thread->cache.top[cls], p) || hz3_quarantine_has(*thread->outbox, p);
        void **previous = thread->cache.previous[cls];
        for (unsigned i = 0; i <= thread->cache.stored[cls] && !here; i++, previous = hz3_cache_behind(previous))
            here = holds(previous, p);
        if (here) found = thread->tid;
    }
    hz3_unlock(&hz3_threads_lock);
    return found;
}

HZ3_RACY unsigned hz3_cache_stats_sum(struct hz3_cache_stats *sum)
{
    hz3_lock(&hz3_threads_lock);
    hz3_threads_reap_locked();
    *sum = dead;
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next)
        add_stats(sum, &entry->thread->cache.stats);
    unsigned threads = joined;
    hz3_unlock(&hz3_threads_lock);
    return threads;
}

/* Both may be NULL. */
HZ3_RACY static size_t count(const struct hz3_cache *cache, const struct hz3_outbox *outbox, unsigned cls)
{
    return (cache ? hz3_cache_count(cache, cls) : 0) + hz3_evict_waiting(outbox, cls);
}

HZ3_RACY size_t hz3_cache_objects(unsigned cls)
{
    hz3_lock(&hz3_threads_lock);
    hz3_threads_reap_locked();
    size_t objects = hz3_orphans_objects(cls);
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next)
        objects += count(&entry->thread->cache, *entry->thread->outbox, cls);
    for (unsigned i = 0; i < HZ3_HANDOFFS; i++) objects += count(hz3_handoff_look(i), NULL, cls);
    hz3_unlock(&hz3_threads_lock);
    return objects;
}

size_t hz3_cache_bytes(void)
{
    const struct hz3_cache *cache = hz3_thread.state == HZ3_THREAD_JOINED ? &hz3_thread.cache : NULL;
    size_t bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) bytes += count(cache, hz3_outbox, cls) * hz3_class_size(cls);
    return bytes;
}

const struct hz3_place hz3_threads_places[] = {
    HZ3_PLACE("threads", hz3_registry),
    HZ3_FIELD("entry.next", struct hz3_registry_entry, next),
    HZ3_FIELD("entry.thread", struct hz3_registry_entry, thread),
    HZ3_NUMBER("entry.size", sizeof(struct hz3_registry_entry)),
    HZ3_PLACE("joined", joined),
    HZ3_NUMBER("cache.free_bytes", HZ3_CACHE_FREE_BYTES),
    HZ3_PLACE("dead", dead),
    HZ3_NUMBER("thread.size", sizeof(struct hz3_thread)),
    HZ3_FIELD("thread.cache", struct hz3_thread, cache),
    HZ3_FIELD("thread.outbox", struct hz3_thread, outbox),
    HZ3_FIELD("thread.tid", struct hz3_thread, tid),
    HZ3_FIELD("thread.allocated", struct hz3_thread, allocated),
    HZ3_FIELD("thread.freed", struct hz3_thread, freed),
    HZ3_FIELD("cache.counted", struct hz3_cache, counted),
    HZ3_FIELD("cache.top", struct hz3_cache, top),
    HZ3_FIELD("cache.previous", struct hz3_cache, previous),
    HZ3_FIELD("cache.stored", struct hz3_cache, stored),
    HZ3_FIELD("cache.stats", struct hz3_cache, stats),
    HZ3_FIELD("stats.swap", struct hz3_cache_stats, swap),
    HZ3_FIELD("stats.stash", struct hz3_cache_stats, stash),
    HZ3_FIELD("stats.transfer", struct hz3_cache_stats, transfer),
    HZ3_FIELD("stats.held", struct hz3_cache_stats, held),
    HZ3_FIELD("stats.central", struct hz3_cache_stats, central),
    HZ3_FIELD("stats.stolen", struct hz3_cache_stats, stolen),
    HZ3_FIELD("stats.fresh", struct hz3_cache_stats, fresh),
    HZ3_FIELD("stats.overflow", struct hz3_cache_stats, overflow),
    HZ3_FIELD("stats.retired", struct hz3_cache_stats, retired),
    HZ3_PLACES_END,
};
