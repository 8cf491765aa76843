#include "front/threads.h"

#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/evict.h"
#include "front/handoff.h"
#include "front/heap.h"
#include "front/outgoing.h"
#include "front/roll.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include HZ3_QUARANTINE_H

#include <time.h>

enum {
    CROWD_MIN = 64, /* so many threads are a crowd */
    CROWD_LEFT = 8, /* it has dispersed when this share of it is left, or less */
};

struct hz3_lock hz3_threads_lock;
HZ3_ATOMIC(uint32_t) hz3_threads_none;
static unsigned joined;             /* how many threads have joined; under hz3_threads_lock, as the two below */
static unsigned crowd;              /* the most there were since a crowd dispersed */
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
static void strike_off_lost(struct hz3_roll_entry *entry)
{
    hz3_heap_leave(entry->heap);
    hz3_gate_clear_slot(entry->gate_slot);
    hz3_roll_strike(entry);
    joined--;
}

/* Removes threads that are gone.  To be called before all threads are walked; hz3_threads_lock is held. */
static void call_roll(void)
{
    unsigned before = joined;
    for (struct hz3_roll_entry *entry = hz3_roll, *next; entry; entry = next) {
        next = entry->next;
        if (hz3_roll_is_gone(entry)) strike_off_lost(entry);
    }
    if (joined != before && !joined) set_nobody_left(true);
}

void hz3_threads_call_roll(void)
{
    if (!hz3_trylock(&hz3_threads_lock)) return;
    call_roll();
    hz3_unlock(&hz3_threads_lock);
}

/* Strikes a thread off whose magazines were left to others already. */
static void strike_off(struct hz3_thread *thread)
{
    close_cache(&thread->cache);
    if (*thread->outbox) hz3_outbox_put(*thread->outbox);
    *thread->outbox = NULL;
    hz3_budget_forget(thread);
    hz3_heap_leave(thread->heap);
    hz3_roll_strike(thread->entry);
    joined--;
}

/* Leaves the magazines to a successor; all earned room was given back before.  False: they have to go elsewhere. */
static bool leave_handoff(struct hz3_thread *self)
{
    hz3_budget_take_back(self); /* under the lock: hz3_budget_lend cannot lend again for this thread */
    add_stats(&dead, &self->cache.stats);
    self->cache.stats = (struct hz3_cache_stats){.swap = 0};
    if (joined == 1 || hz3_pages_pressed() || !hz3_handoff_leave(&self->cache)) return false;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) self->cache.top[cls] = self->cache.previous[cls] = HZ3_STUB_TOP;
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
}

struct hz3_departure hz3_cache_depart(void)
{
    struct hz3_thread *self = &hz3_thread;
    struct hz3_departure departure = {.left = self->state == HZ3_THREAD_JOINED};
    if (!departure.left) return departure;
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
    hz3_roll_close(self->entry);
    strike_off(self);
    departure.dispersed = crowd >= CROWD_MIN && joined * CROWD_LEFT <= crowd;
    departure.last = !joined;
    if (departure.dispersed) crowd = joined;
    if (departure.last) set_nobody_left(true);
    hz3_unlock(&hz3_threads_lock);
    self->state = HZ3_THREAD_LEFT;
    hz3_gate_leave();
    hz3_gate_give_up_slot();
    return departure;
}

HZ3_COLD void hz3_threads_join(struct hz3_thread *self)
{
    self->state = HZ3_THREAD_BUSY;
    /* pthread_setspecific may allocate, which BUSY serves.  Without a destructor nothing may be cached. */
    if (!has_exit_key || pthread_setspecific(exit_key, self) != 0) {
        self->state = HZ3_THREAD_LEFT;
        return;
    }
    self->entry = hz3_roll_open();
    if (!self->entry) {
        self->state = HZ3_THREAD_NEW; /* there may be memory the next time */
        return;
    }
    struct hz3_heap *heap = hz3_heap_join();
    hz3_lock(&hz3_threads_lock);
    struct hz3_roll_entry *lost = hz3_roll_find(self);
    if (lost) strike_off_lost(lost);
    take_handoff(self, heap);
    self->self = pthread_self();
    self->outbox = &hz3_outbox;
    hz3_roll_enter(self->entry, self, heap);
    if (joined++ == 0) set_nobody_left(false);
    crowd = hz3_max(crowd, joined);
    hz3_unlock(&hz3_threads_lock);
    self->entry->gate_slot = hz3_gate_claim_slot();
    self->state = HZ3_THREAD_JOINED;
}

void hz3_cache_start(void (*at_end)(void *))
{
    hz3_roll_start();
    has_exit_key = pthread_key_create(&exit_key, at_end) == 0;
}

void hz3_cache_after_fork(bool whole)
{
    struct hz3_thread *self = &hz3_thread;
    enum hz3_thread_state state = self->state;
    self->state = HZ3_THREAD_BUSY; /* its own magazines may be half changed */
    call_roll();
    for (struct hz3_roll_entry *entry = hz3_roll, *next; entry; entry = next) {
        struct hz3_thread *gone = entry->thread;
        next = entry->next;
        if (gone == self) continue;
        if (whole && HZ3_STORES_IN_ORDER && !hz3_get(gone->inside)) {
            hz3_evict_all(gone);
        } else {
            gone->cache.spare = NULL;
            *gone->outbox = NULL;
        }
        strike_off(gone);
    }
    hz3_handoff_after_fork(whole);
    self->state = state;
    if (state == HZ3_THREAD_JOINED) hz3_roll_after_fork(self->entry);
    crowd = joined;
    /* Counts anew: other threads may have been about to join, or to change their part of the budget. */
    bool counts = state == HZ3_THREAD_JOINED;
    for (unsigned i = 0; i < hz3_heap_count; i++) hz3_set(hz3_heaps[i].threads, counts && self->heap == &hz3_heaps[i]);
    hz3_budget_after_fork(self, counts);
}

void hz3_cache_lend(void)
{
    if (!hz3_trylock(&hz3_threads_lock)) return;
    call_roll();
    for (struct hz3_roll_entry *entry = hz3_roll; entry; entry = entry->next) hz3_budget_lend(entry->thread);
    hz3_unlock(&hz3_threads_lock);
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
    clockid_t clock;
    int found = 0;
    if (!hz3_trylock(&hz3_threads_lock)) return 0;
    call_roll();
    for (struct hz3_roll_entry *entry = hz3_roll; entry && !found; entry = entry->next) {
        const struct hz3_thread *thread = entry->thread;
        bool here = holds(thread->cache.top[cls], p) || holds(thread->cache.previous[cls], p) ||
                    hz3_quarantine_has(*thread->outbox, p);
        /* Linux makes the number of a thread's clock of the thread's number, which no system call would tell. */
        if (here && pthread_getcpuclockid(thread->self, &clock) == 0) found = (int)~(clock >> 3);
    }
    hz3_unlock(&hz3_threads_lock);
    return found;
}

HZ3_RACY void hz3_cache_stats_sum(struct hz3_cache_stats *sum)
{
    hz3_lock(&hz3_threads_lock);
    call_roll();
    *sum = dead;
    for (struct hz3_roll_entry *entry = hz3_roll; entry; entry = entry->next)
        add_stats(sum, &entry->thread->cache.stats);
    hz3_unlock(&hz3_threads_lock);
}

HZ3_RACY static void count_outbox(const struct hz3_outbox *outbox, unsigned cls, struct hz3_cached *cached)
{
    if (!outbox) return;
    cached->outgoing += hz3_outgoing_objects(outbox, cls);
    cached->thread += hz3_quarantine_objects(outbox, cls);
}

HZ3_RACY static void count_magazines(const struct hz3_cache *cache, unsigned cls, struct hz3_cached *cached)
{
    size_t objects = hz3_cache_count(cache, cls);
    cached->thread += objects;
    cached->earned += objects - hz3_min(objects, 2 * (size_t)hz3_cache_free_capacity(cls));
}

HZ3_RACY struct hz3_cached hz3_cache_look(unsigned cls)
{
    struct hz3_cached cached = {0};
    hz3_lock(&hz3_threads_lock);
    call_roll();
    for (struct hz3_roll_entry *entry = hz3_roll; entry; entry = entry->next) {
        count_magazines(&entry->thread->cache, cls, &cached);
        count_outbox(*entry->thread->outbox, cls, &cached);
    }
    for (unsigned i = 0; i < HZ3_HANDOFFS; i++) {
        const struct hz3_cache *left = hz3_handoff_look(i);
        if (left) count_magazines(left, cls, &cached);
    }
    hz3_unlock(&hz3_threads_lock);
    return cached;
}

size_t hz3_cache_bytes(void)
{
    const struct hz3_cache *cache = &hz3_thread.cache;
    bool has_magazines = hz3_thread.state == HZ3_THREAD_JOINED;
    size_t bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct hz3_cached here = {0};
        if (has_magazines) count_magazines(cache, cls, &here);
        if (hz3_outbox) count_outbox(hz3_outbox, cls, &here);
        bytes += (here.thread + here.outgoing) * hz3_class_size(cls);
    }
    return bytes;
}

const struct hz3_place hz3_threads_places[] = {
    HZ3_PLACE("threads", hz3_roll),
    HZ3_FIELD("entry.next", struct hz3_roll_entry, next),
    HZ3_FIELD("entry.thread", struct hz3_roll_entry, thread),
    HZ3_NUMBER("entry.size", sizeof(struct hz3_roll_entry)),
    HZ3_PLACE("joined", joined),
    HZ3_NUMBER("cache.free_bytes", HZ3_CACHE_FREE_BYTES),
    HZ3_PLACE("dead", dead),
    HZ3_NUMBER("thread.size", sizeof(struct hz3_thread)),
    HZ3_FIELD("thread.cache", struct hz3_thread, cache),
    HZ3_FIELD("thread.outbox", struct hz3_thread, outbox),
    HZ3_FIELD("cache.top", struct hz3_cache, top),
    HZ3_FIELD("cache.previous", struct hz3_cache, previous),
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
