#include "front/thread_cache.h"

#include "back/limits.h"
#include "base/check.h"
#include "base/sizeclass.h"
#include "front/refill.h"
#include "front/remote_free.h"
#include "front/handoff.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"

#include <pthread.h>

enum {
    SPARES_MAX = 8,
    FIRST_BYTES = 1024, /* of a class's first magazine, which small classes have for nothing; */
    FIRST_MIN = 2,      /* larger ones start with this many objects, out of the budgets */
    SLOW_CALLS_PER_VISIT = 16,
    SWAPS_PER_MISS = 8, /* a class that swaps often has too little room, as one that misses has */
    CROWD_MIN = 64,     /* this many threads are a crowd, */
    CROWD_LEFT = 8,     /* and it dispersed when so much of it is left */
};

_Thread_local struct hz3_thread hz3_thread = {
    .top = {[0 ... HZ3_BINS - 1] = HZ3_STUB_TOP},
    .previous = {[0 ... HZ3_BINS - 1] = HZ3_STUB_TOP},
};

struct hz3_lock hz3_threads_lock;
HZ3_ATOMIC(uint32_t) hz3_threads_none;
static struct hz3_thread *threads;
static unsigned joined;             /* threads now; under hz3_threads_lock, as the two below */
static unsigned crowd;              /* the most since a crowd dispersed */
static struct hz3_cache_stats dead; /* the counters of threads that left */
static struct hz3_counters dead_counters;
static size_t thread_budget;
static intptr_t total_budget;
/* Of it, what no thread has, and what is lent: the total less `reserved - lent` of all threads.  Below 0 after sleepers
 * took back what others have by then. */
static HZ3_ATOMIC(intptr_t) unclaimed;
static pthread_key_t exit_key;
static bool has_exit_key;

/* A fork by another thread copies this cache as it is: `inside` is seen before and until after what it guards. */
static void go_inside(struct hz3_thread *self)
{
    hz3_set(self->inside, true);
    hz3_fence(memory_order_release);
}

static void go_outside(struct hz3_thread *self)
{
    hz3_store(self->inside, false, memory_order_release);
}

/* ---- empty magazines ---- */

struct hz3_magazine *hz3_cache_get_magazine(struct hz3_thread *self, unsigned cls)
{
    if (!self->spare) {
        self->spare = hz3_magazine_get_bundle(cls);
        self->spares = self->spare ? self->spare->header.top : 0;
    }
    struct hz3_magazine *magazine = self->spare;
    if (!magazine) return NULL;
    self->spare = magazine->word[1];
    self->spares--;
    return magazine;
}

/* Half of the spares go to others. */
static void share_spares(struct hz3_thread *self, unsigned cls)
{
    struct hz3_magazine *bundle = self->spare, *last = bundle;
    for (int i = 1; i < SPARES_MAX / 2; i++) last = last->word[1];
    self->spare = last->word[1];
    self->spares -= SPARES_MAX / 2;
    last->word[1] = NULL;
    hz3_magazine_put_bundle(cls, bundle, SPARES_MAX / 2);
}

void hz3_cache_put_magazine(struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine)
{
    if (self->spares == SPARES_MAX) share_spares(self, cls);
    magazine->word[1] = self->spare;
    self->spare = magazine;
    self->spares++;
}

/* ---- capacity ---- */

static unsigned free_capacity(unsigned cls)
{
    return hz3_min(FIRST_BYTES / hz3_class_info[cls].size, hz3_class_info[cls].load);
}

HZ3_RACY static unsigned earned_capacity(const struct hz3_thread *thread, unsigned cls)
{
    return thread->capacity[cls] - free_capacity(cls);
}

/* Both magazines of the class may fill up. */
static size_t capacity_bytes(unsigned cls, unsigned slots)
{
    return 2 * (size_t)slots * hz3_class_size(cls);
}

static void give_up_capacity(struct hz3_thread *self, unsigned cls, unsigned slots)
{
    size_t bytes = capacity_bytes(cls, slots);
    self->capacity[cls] = (uint8_t)(self->capacity[cls] - slots);
    self->reserved -= bytes;
    hz3_add(unclaimed, (intptr_t)bytes);
}

HZ3_RACY static size_t objects_in_magazines(const struct hz3_thread *thread, unsigned cls)
{
    return hz3_magazine_objects(thread->top[cls]) + hz3_magazine_objects(thread->previous[cls]);
}

/* Bytes that are earned, and that no object uses. */
HZ3_RACY static size_t unused_bytes(const struct hz3_thread *thread)
{
    size_t used = 0, reserved = thread->reserved;
    for (unsigned cls = 1; reserved && cls <= HZ3_CLASSES; cls++)
        if (earned_capacity(thread, cls)) used += objects_in_magazines(thread, cls) * hz3_class_size(cls);
    return reserved - hz3_min(used, reserved);
}

/* Before a sleeper comes here again it takes back what is lent; until then it may fill its magazines, which is seen the
 * next time. */
HZ3_RACY void hz3_cache_lend(void)
{
    if (!hz3_trylock(&hz3_threads_lock)) return;
    for (struct hz3_thread *thread = threads; thread; thread = thread->next) {
        uint32_t calls = thread->slow_calls;
        bool sleeps = calls == thread->calls_before;
        thread->calls_before = calls;
        size_t before = hz3_get(thread->lent), now = sleeps ? unused_bytes(thread) : before;
        if (now != before && hz3_cas(thread->lent, &before, now, memory_order_relaxed, memory_order_relaxed))
            hz3_add(unclaimed, (intptr_t)(now - before));
    }
    hz3_unlock(&hz3_threads_lock);
}

static void take_back(struct hz3_thread *thread)
{
    if (hz3_get(thread->lent)) hz3_sub(unclaimed, (intptr_t)hz3_exchange(thread->lent, 0, memory_order_relaxed));
}

/* ---- magazines leave ---- */

/* The heap to which all of the magazine belongs; HZ3_NO_OWNER: it is the thread's own, or there are several. */
static int owner_of(const struct hz3_thread *self, const struct hz3_magazine *magazine)
{
    if (!HZ3_STASH_PUSHES) return HZ3_NO_OWNER;
    unsigned i = magazine->header.floor + 1u, owner = hz3_owner_at(magazine->word[i]);
    if (owner == self->owner) return HZ3_NO_OWNER;
    while (i < magazine->header.top && hz3_owner_at(magazine->word[i + 1]) == owner) i++;
    return i == magazine->header.top ? (int)owner : HZ3_NO_OWNER;
}

/* Leaves a magazine that is no longer wanted here to others; it may be the stub, empty or anything. */
static void discharge(struct hz3_thread *self, unsigned cls, void **top)
{
    if (hz3_is_stub(top)) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    unsigned count = hz3_magazine_count(magazine);
    int owner = count ? owner_of(self, magazine) : HZ3_NO_OWNER;
    /* An emptier one would give the next thread little. */
    if (count && 2 * count >= self->capacity[cls] && !hz3_pages_pressed() && hz3_remote_send(owner, cls, magazine)) {
        self->stats.overflow++;
        return;
    }
    if (count) hz3_central_retire(cls, &magazine->word[magazine->header.floor + 1], count);
    self->stats.retired += count > 0;
    hz3_cache_put_magazine(self, cls, magazine);
}

/* Takes what is not of the thread's own heap out of a magazine; returns the top of what is left. */
static void **take_foreign(const struct hz3_thread *self, void **top, void **foreign, unsigned *count)
{
    struct hz3_magazine *magazine = hz3_magazine_of(top);
    void **left = &magazine->word[magazine->header.floor];
    *count = 0;
    for (void **from = left + 1; from <= top; from++) {
        if (hz3_owner_at(*from) == self->owner)
            *++left = *from;
        else
            foreign[(*count)++] = *from;
    }
    return left;
}

/* Sends home what is not the thread's own, by way of the outbox; returns the top of what is left. */
static void **send_others_home(struct hz3_thread *self, struct hz3_outbox *outbox, unsigned cls, void **top)
{
    void *foreign[HZ3_MAGAZINE_LAST];
    unsigned count;
    void **left = take_foreign(self, top, foreign, &count);
    for (unsigned i = 0; i < count; i++) hz3_remote_put(outbox, foreign[i], cls, hz3_owner_at(foreign[i]));
    return left;
}

/* The same for a magazine that has to make room; it may be the stub. */
static void overflow(struct hz3_thread *self, unsigned cls, void **top)
{
    struct hz3_outbox *outbox = HZ3_OVERFLOW_SORT && !hz3_is_stub(top) ? hz3_outbox_get() : NULL;
    if (outbox && owner_of(self, hz3_magazine_close(top)) == HZ3_NO_OWNER)
        top = send_others_home(self, outbox, cls, top);
    discharge(self, cls, top);
}

static void discharge_class(struct hz3_thread *self, unsigned cls)
{
    void **loaded = self->top[cls], **previous = self->previous[cls];
    self->top[cls] = self->previous[cls] = HZ3_STUB_TOP;
    discharge(self, cls, loaded);
    discharge(self, cls, previous);
}

/* The class gives room for `slots` back with its previous magazine, and with the loaded one if that holds too much
 * then.
 */
static void shrink(struct hz3_thread *self, unsigned cls, unsigned slots)
{
    void **previous = self->previous[cls];
    self->previous[cls] = HZ3_STUB_TOP;
    discharge(self, cls, previous);
    size_t left = self->capacity[cls] - slots;
    if (!left || hz3_magazine_objects(self->top[cls]) > left) discharge_class(self, cls);
    if (slots) give_up_capacity(self, cls, slots);
}

/* The next class in turn gives half of what it earned, if that is more than `least` bytes.  The slow path of `cls` is
 * under way: it gives room, and no magazine. */
static void shrink_next(struct hz3_thread *self, unsigned cls, size_t least)
{
    unsigned next = self->donor = (uint8_t)(self->donor % HZ3_CLASSES + 1);
    unsigned half = earned_capacity(self, next) / 2;
    if (capacity_bytes(next, half) <= least) return;
    if (next == cls)
        give_up_capacity(self, cls, half);
    else
        shrink(self, next, half);
}

/* The class missed: its room doubles.  Nobody takes more than a quarter of what is left for all, as in shared packet
 * buffers (Choudhury & Hahne 1998, dynamic thresholds): few may have much, and there is some for whoever comes next.
 * Who has twice as much, since others came after him, gives some back. */
static void earn_capacity(struct hz3_thread *self, unsigned cls)
{
    unsigned now = self->capacity[cls];
    unsigned more = hz3_min(hz3_max(2 * now, FIRST_MIN), hz3_class_info[cls].load) - now;
    intptr_t left = hz3_get(unclaimed);
    size_t bytes = capacity_bytes(cls, more), share = hz3_min(thread_budget, (size_t)hz3_max(left, 0) / 4);
    self->missed[cls] = true;
    if (self->reserved / 2 > share) {
        shrink_next(self, cls, 0);
    } else if (more && self->reserved + bytes > share) {
        shrink_next(self, cls, capacity_bytes(cls, now));
    } else if (more && hz3_cas(unclaimed, &left, left - (intptr_t)bytes, memory_order_relaxed, memory_order_relaxed)) {
        self->reserved += bytes;
        self->capacity[cls] = (uint8_t)(now + more);
    }
}

/* What waits, what was drained too much, what was taken for next time. */
static void flush_outbox(struct hz3_outbox *outbox)
{
    hz3_remote_flush(outbox, UINT32_MAX);
    hz3_owner_stash_flush_spill(outbox);
    for (unsigned cls = 1; cls < HZ3_OUTBOX_CENTRAL; cls++) {
        struct hz3_magazine *magazine = outbox->central[cls];
        outbox->central[cls] = NULL;
        if (magazine) hz3_central_take_apart(cls, magazine);
    }
}

static void discharge_all(struct hz3_thread *cache)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) discharge_class(cache, cls);
}

static void flush(struct hz3_thread *thread)
{
    if (*thread->outbox) flush_outbox(*thread->outbox); /* first, since what is refused is adopted */
    discharge_all(thread);
}

void hz3_cache_flush(void)
{
    struct hz3_thread *self = &hz3_thread;
    if (self->state != HZ3_THREAD_JOINED) return;
    go_inside(self);
    flush(self);
    go_outside(self);
}

/* Classes that nobody asked for give back their previous magazine and half of what they earned. */
static void rest(struct hz3_thread *self)
{
    if (hz3_outbox) flush_outbox(hz3_outbox);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        bool missed = self->missed[cls];
        self->missed[cls] = false;
        unsigned earned = earned_capacity(self, cls);
        if (missed || (!earned && hz3_is_stub(self->top[cls]))) continue;
        shrink(self, cls, (earned + 1) / 2);
    }
}

void hz3_cache_pass_epoch(uint32_t epoch)
{
    struct hz3_thread *self = &hz3_thread;
    if (likely(epoch == self->epoch) || self->state != HZ3_THREAD_JOINED) return;
    self->epoch = epoch;
    go_inside(self);
    rest(self);
    go_outside(self);
}

/* ---- threads come and go ---- */

static void add_stats(struct hz3_cache_stats *sum, const struct hz3_cache_stats *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

HZ3_RACY static void add_counters(struct hz3_counters *sum, const struct hz3_thread *thread)
{
    if (!HZ3_BOXES_ON) return;
    if (HZ3_ATOMIC_STATS) thread->counters->rmw = *thread->rmw;
    hz3_counters_add(sum, thread->counters);
}

/* hz3_threads_lock is held. */
static void bury_counters(struct hz3_counters *counters, uint64_t *rmw)
{
    if (HZ3_ATOMIC_STATS) counters->rmw = *rmw, *rmw = 0;
    hz3_counters_add(&dead_counters, counters);
    *counters = (struct hz3_counters){.pushed = 0};
}

void hz3_cache_bury_counters(void)
{
    hz3_lock(&hz3_threads_lock);
    bury_counters(&hz3_counters, &hz3_rmw_count);
    hz3_unlock(&hz3_threads_lock);
}

/* What a cache has beside its magazines, which are away.  hz3_threads_lock is held, as for the three below. */
static void close_cache(struct hz3_thread *cache)
{
    if (cache->spare) hz3_magazine_put_bundle(cache->owner, cache->spare, cache->spares);
    cache->spare = NULL;
    add_stats(&dead, &cache->stats);
}

/* Takes a thread, whose magazines are away, off the books. */
static void strike_off(struct hz3_thread *thread)
{
    close_cache(thread);
    if (*thread->outbox) hz3_outbox_put(*thread->outbox);
    *thread->outbox = NULL;
    take_back(thread);
    hz3_add(unclaimed, (intptr_t)thread->reserved);
    hz3_heap_leave(thread->heap);
    *(thread->prev ? &thread->prev->next : &threads) = thread->next;
    if (thread->next) thread->next->prev = thread->prev;
    if (HZ3_BOXES_ON) bury_counters(thread->counters, thread->rmw);
    joined--;
}

/* Leaves the magazines, of classes without earned room, to a successor.  False: they have to go home. */
static bool leave_handoff(struct hz3_thread *self)
{
    take_back(self); /* nobody lends for it from here on */
    add_stats(&dead, &self->stats);
    self->stats = (struct hz3_cache_stats){.swap = 0};
    if (joined == 1 || hz3_pages_pressed() || !hz3_handoff_leave(self)) return false;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) self->top[cls] = self->previous[cls] = HZ3_STUB_TOP;
    self->spare = NULL;
    return true;
}

static void take_handoff(struct hz3_thread *self, struct hz3_heap *heap)
{
    if (!hz3_handoff_take(self, hz3_heap_number(heap)))
        for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) self->capacity[cls] = (uint8_t)free_capacity(cls);
    self->state = HZ3_THREAD_BUSY;
    self->heap = heap;
    self->owner = (uint8_t)hz3_heap_number(heap);
    hz3_set(hz3_heap_highest, hz3_max(hz3_get(hz3_heap_highest), (unsigned)self->owner));
}

void hz3_cache_clear_handoffs(unsigned first, unsigned step, bool all)
{
    for (unsigned i = first; i < HZ3_HANDOFFS; i += step) {
        hz3_lock(&hz3_threads_lock);
        struct hz3_thread *cache = hz3_handoff_claim(i, all);
        hz3_unlock(&hz3_threads_lock);
        if (!cache) continue;
        discharge_all(cache);
        hz3_lock(&hz3_threads_lock);
        close_cache(cache);
        hz3_handoff_vacate(i);
        hz3_unlock(&hz3_threads_lock);
    }
}

/* Retires what is not of the thread's own heap, or else neighbours in a cache line would be two threads' from then on;
 * a magazine that is all of one heap's will go there whole.  Returns the top of what is left. */
static void **unmix(const struct hz3_thread *self, unsigned cls, void **top)
{
    void *foreign[HZ3_MAGAZINE_LAST];
    unsigned count;
    if (hz3_is_empty(top) || owner_of(self, hz3_magazine_close(top)) != HZ3_NO_OWNER) return top;
    void **left = take_foreign(self, top, foreign, &count);
    if (count) hz3_central_retire(cls, foreign, count);
    return left;
}

/* The thread gives back all that it earned, and what its magazines hold beyond the rest. */
static void settle(struct hz3_thread *self)
{
    if (hz3_outbox) flush_outbox(hz3_outbox);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        unsigned earned = earned_capacity(self, cls);
        if (earned) {
            self->top[cls] = unmix(self, cls, self->top[cls]);
            self->previous[cls] = unmix(self, cls, self->previous[cls]);
        }
        if (earned || !hz3_is_stub(self->top[cls])) shrink(self, cls, earned);
    }
    hz3_assert(!self->reserved);
}

static void set_nobody_left(bool nobody)
{
    hz3_set(hz3_threads_none, nobody);
    if (nobody) hz3_os_wake(&hz3_threads_none);
}

struct hz3_departure hz3_cache_depart(void)
{
    struct hz3_thread *self = &hz3_thread;
    struct hz3_departure departure = {.left = self->state == HZ3_THREAD_JOINED};
    if (!departure.left) return departure;
    go_inside(self);
    settle(self);
    go_outside(self);
    hz3_lock(&hz3_threads_lock);
    bool handed_over = leave_handoff(self);
    hz3_unlock(&hz3_threads_lock);
    if (!handed_over) hz3_cache_flush();
    hz3_transfer_settle();
    self->state = HZ3_THREAD_BUSY;
    hz3_lock(&hz3_threads_lock);
    strike_off(self);
    departure.dispersed = crowd >= CROWD_MIN && joined * CROWD_LEFT <= crowd;
    departure.last = !joined;
    if (departure.dispersed) crowd = joined;
    if (departure.last) set_nobody_left(true);
    hz3_unlock(&hz3_threads_lock);
    self->state = HZ3_THREAD_LEFT;
    return departure;
}

static HZ3_COLD void join(struct hz3_thread *self)
{
    self->state = HZ3_THREAD_BUSY;
    /* Setting it may allocate, which BUSY serves.  Without a destructor nothing may be cached. */
    if (!has_exit_key || pthread_setspecific(exit_key, self) != 0) {
        self->state = HZ3_THREAD_LEFT;
        return;
    }
    struct hz3_heap *heap = hz3_heap_join();
    hz3_lock(&hz3_threads_lock);
    take_handoff(self, heap);
    self->outbox = &hz3_outbox;
    if (HZ3_BOXES_ON) self->counters = &hz3_counters;
    if (HZ3_ATOMIC_STATS) self->rmw = &hz3_rmw_count;
    self->next = threads;
    self->prev = NULL;
    if (threads) threads->prev = self;
    threads = self;
    if (joined++ == 0) set_nobody_left(false);
    crowd = hz3_max(crowd, joined);
    hz3_unlock(&hz3_threads_lock);
    self->state = HZ3_THREAD_JOINED;
}

void hz3_cache_start(void (*at_end)(void *))
{
    has_exit_key = pthread_key_create(&exit_key, at_end) == 0;
}

void hz3_cache_budgets(size_t thread_bytes, size_t total_bytes)
{
    thread_budget = thread_bytes;
    intptr_t before = total_budget; /* set for the second time, some of it is claimed */
    total_budget = (intptr_t)hz3_min(total_bytes, (size_t)INTPTR_MAX / 2);
    hz3_add(unclaimed, total_budget - before);
}

void hz3_cache_after_fork(bool whole)
{
    struct hz3_thread *self = &hz3_thread, *next;
    enum hz3_thread_state state = self->state;
    self->state = HZ3_THREAD_BUSY; /* its own magazines may be half changed: what is refused is not adopted */
    for (struct hz3_thread *gone = threads; gone; gone = next) {
        next = gone->next;
        if (gone == self) continue;
        if (whole && HZ3_STORES_IN_ORDER && !hz3_get(gone->inside)) {
            flush(gone);
        } else {
            gone->spare = NULL;
            *gone->outbox = NULL;
        }
        strike_off(gone);
    }
    hz3_handoff_after_fork(whole);
    self->state = state;
    crowd = joined;
    /* Others may have been about to join, or to change their part of the budget. */
    bool counts = state == HZ3_THREAD_JOINED;
    for (unsigned i = 0; i < hz3_heap_count; i++) hz3_set(hz3_heaps[i].threads, counts && self->heap == &hz3_heaps[i]);
    hz3_set(self->lent, 0);
    hz3_set(unclaimed, total_budget - (counts ? (intptr_t)self->reserved : 0));
}

/* ---- the slow paths ---- */

/* What every slow path does first.  False: this thread has no cache, now or any more.  What it is not to join for is a
 * free of the loader's, which may be the end of a thread that is past its destructors: nothing would make it leave. */
static bool enter(struct hz3_thread *self, bool may_join)
{
    if (unlikely(self->state != HZ3_THREAD_JOINED)) {
        if (self->state == HZ3_THREAD_NEW && may_join) join(self);
        /* Most of what a thread had may be freed after it left, by other destructors, and nobody else may come by. */
        if (self->state != HZ3_THREAD_JOINED && self->state != HZ3_THREAD_LEFT) return false;
    }
    take_back(self);
    if (++self->slow_calls % SLOW_CALLS_PER_VISIT == 0) self->due = true;
    return self->state == HZ3_THREAD_JOINED;
}

static void *take_one(struct hz3_thread *self, unsigned cls)
{
    void *p;
    enum hz3_refill_source source;
    struct hz3_heap *heap = self->heap ? self->heap : &hz3_heaps[0];
    return hz3_central_refill(heap, cls, &p, 1, true, &source) ? p : NULL;
}

static void *pop(struct hz3_thread *self, unsigned cls)
{
    void *p = *self->top[cls];
    self->top[cls]--;
    return p;
}

/* Loads the previous magazine, which is not empty, in place of the loaded one, which is.  If it is smaller than what
 * the class has earned since, its objects move instead, to where there is room for more: malloc and free by turns will
 * not come here again so soon. */
static void swap(struct hz3_thread *self, unsigned cls)
{
    void **empty = self->top[cls], **full = self->previous[cls];
    unsigned count = hz3_magazine_count(hz3_magazine_close(full));
    hz3_assert(!hz3_is_stub(empty));
    if (count < self->capacity[cls]) {
        void **room = hz3_cache_open(self, cls, hz3_magazine_of(empty)) + 1;
        full -= count;
        for (unsigned i = 0; i < count; i++) room[i] = full[i + 1];
        empty = full;
        full = room + count - 1;
    }
    self->top[cls] = full;
    self->previous[cls] = empty;
}

static void *malloc_inside(struct hz3_thread *self, unsigned cls)
{
    if (!hz3_is_empty(self->top[cls])) return pop(self, cls); /* joining may have allocated and freed */
    self->freed_only[cls] = false;
    if (!hz3_is_empty(self->previous[cls])) {
        if (++self->stats.swap % SWAPS_PER_MISS == 0) earn_capacity(self, cls);
        swap(self, cls);
        return pop(self, cls);
    }
    earn_capacity(self, cls);
    if (!self->capacity[cls]) return take_one(self, cls);
    return hz3_refill(self, cls) ? pop(self, cls) : take_one(self, cls);
}

/* Puts an empty magazine in the place of the loaded one, which is full.  False: there is none to be had. */
static bool load_empty(struct hz3_thread *self, unsigned cls)
{
    void **loaded = self->top[cls], **previous = self->previous[cls];
    if (!hz3_is_stub(previous) && hz3_is_empty(previous)) {
        self->previous[cls] = loaded;
        self->top[cls] = hz3_cache_open(self, cls, hz3_magazine_of(previous));
        return true;
    }
    earn_capacity(self, cls);
    struct hz3_magazine *empty = self->capacity[cls] ? hz3_cache_get_magazine(self, cls) : NULL;
    if (!empty) return false;
    /* Who only frees keeps no full magazine: others have a use for it. */
    bool keep = !self->freed_only[cls];
    self->freed_only[cls] |= !hz3_is_stub(previous);
    self->previous[cls] = keep ? loaded : HZ3_STUB_TOP;
    self->top[cls] = hz3_cache_open(self, cls, empty);
    overflow(self, cls, previous);
    if (!keep) overflow(self, cls, loaded);
    return true;
}

static void free_inside(struct hz3_thread *self, void *p, unsigned cls)
{
    /* Joining may have made room. */
    if (hz3_is_full(self->top[cls]) && !load_empty(self, cls))
        hz3_central_retire(cls, &p, 1);
    else
        *++self->top[cls] = p;
}

void hz3_cache_adopt(void *p, unsigned cls)
{
    /* Where magazines are sorted it would be sent home, and refused, again. */
    if (hz3_thread.state == HZ3_THREAD_JOINED && !HZ3_OVERFLOW_SORT)
        free_inside(&hz3_thread, p, cls);
    else
        hz3_central_retire(cls, &p, 1);
}

bool hz3_cache_enter(void)
{
    if (!enter(&hz3_thread, !hz3_thread.by_loader)) return false;
    go_inside(&hz3_thread);
    return true;
}

void hz3_cache_leave(void)
{
    go_outside(&hz3_thread);
}

HZ3_NOINLINE void *hz3_cache_malloc_slow(unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    if (!enter(self, true)) return take_one(self, cls);
    go_inside(self);
    void *p = malloc_inside(self, cls);
    go_outside(self);
    return p;
}

HZ3_NOINLINE void hz3_cache_free_slow(void *p, unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    if (!enter(self, !self->by_loader)) {
        hz3_central_retire(cls, &p, 1);
        return;
    }
    go_inside(self);
    free_inside(self, p, cls);
    go_outside(self);
}

/* ---- observation ---- */

HZ3_RACY void hz3_cache_stats_sum(struct hz3_cache_stats *sum)
{
    hz3_lock(&hz3_threads_lock);
    *sum = dead;
    for (struct hz3_thread *thread = threads; thread; thread = thread->next) add_stats(sum, &thread->stats);
    hz3_unlock(&hz3_threads_lock);
}

HZ3_RACY static size_t outbox_objects(const struct hz3_outbox *outbox, unsigned cls)
{
    if (!outbox) return 0;
    size_t objects = hz3_remote_objects(outbox, cls) + hz3_owner_stash_spilled(outbox, cls);
    if (cls < HZ3_OUTBOX_CENTRAL && outbox->central[cls]) objects += hz3_magazine_count(outbox->central[cls]);
    return objects;
}

HZ3_RACY size_t hz3_cache_objects(unsigned cls)
{
    size_t objects = 0;
    hz3_lock(&hz3_threads_lock);
    for (struct hz3_thread *thread = threads; thread; thread = thread->next)
        objects += objects_in_magazines(thread, cls) + outbox_objects(*thread->outbox, cls);
    for (unsigned i = 0; i < HZ3_HANDOFFS; i++) {
        const struct hz3_thread *left = hz3_handoff_look(i);
        if (left) objects += objects_in_magazines(left, cls);
    }
    hz3_unlock(&hz3_threads_lock);
    return objects;
}

void hz3_cache_counters_sum(struct hz3_counters *sum)
{
    hz3_lock(&hz3_threads_lock);
    *sum = dead_counters;
    for (struct hz3_thread *thread = threads; thread; thread = thread->next) add_counters(sum, thread);
    hz3_unlock(&hz3_threads_lock);
}
