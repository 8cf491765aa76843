#include "front/budget.h"

#include "base/sizeclass.h"
#include "front/evict.h"
#include "front/outgoing.h"

enum {
    STORE_MAX = 8, /* magazines that a class stores */
    FIRST_MIN = 2, /* objects in a larger class's first magazine, which counts */
};

#define STORE_BYTES HZ3_KIB(32) /* in the magazines that a class stores */

HZ3_TOGETHER HZ3_CACHE_ALIGNED HZ3_ATOMIC(intptr_t) hz3_budget_unclaimed;
static size_t thread_budget;
intptr_t hz3_budget_total;

void hz3_cache_budgets(size_t thread_bytes, size_t total_bytes)
{
    thread_budget = thread_bytes;
    intptr_t before = hz3_budget_total; /* when it is set a second time some of it may be claimed already */
    hz3_budget_total = (intptr_t)hz3_min(total_bytes, (size_t)INTPTR_MAX / 2);
    hz3_add(hz3_budget_unclaimed, hz3_budget_total - before);
}

HZ3_RACY static unsigned earned_capacity(const struct hz3_thread *thread, unsigned cls)
{
    unsigned capacity = thread->cache.capacity[cls];
    return capacity - hz3_min(capacity, hz3_cache_free_capacity(cls));
}

/* Room for so many objects counts twice, since both magazines of the class may be full. */
static size_t capacity_bytes(unsigned cls, unsigned slots)
{
    return 2 * (size_t)slots * hz3_class_size(cls);
}

static size_t store_bytes(unsigned cls, unsigned magazines)
{
    return (size_t)magazines * hz3_class_info[cls].load * hz3_class_size(cls);
}

static void give_up(struct hz3_thread *self, size_t bytes)
{
    self->reserved -= bytes;
    hz3_budget_give(self->entry, (intptr_t)bytes);
}

/* The store goes first: a class has one only with all its room. */
static void give_up_capacity(struct hz3_thread *self, unsigned cls, unsigned slots)
{
    give_up(self, capacity_bytes(cls, slots) + store_bytes(cls, self->cache.store[cls]));
    self->cache.capacity[cls] = (uint8_t)(self->cache.capacity[cls] - slots);
    self->cache.store[cls] = 0;
}

/* Bytes that the thread earned and does not use. */
HZ3_RACY static size_t unused_bytes(const struct hz3_thread *thread)
{
    size_t used = 0, reserved = thread->reserved;
    for (unsigned cls = 1; reserved && cls <= HZ3_CLASSES; cls++)
        if (earned_capacity(thread, cls) || thread->cache.store[cls])
            used += hz3_cache_count(&thread->cache, cls) * hz3_class_size(cls);
    return reserved - hz3_min(used, reserved);
}

/* More than emptying it leaves: it was awake since, without a slow call. */
HZ3_RACY static bool holds_again(const struct hz3_thread *thread)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
        if (hz3_cache_count(&thread->cache, cls) > 1) return true;
    return false;
}

HZ3_RACY void hz3_budget_lend(struct hz3_thread *thread)
{
    uint32_t calls = thread->slow_calls;
    bool sleeps = calls == thread->calls_before;
    thread->calls_before = calls;
    if (!sleeps || (thread->asleep == HZ3_ASLEEP_EMPTIED && holds_again(thread)))
        thread->asleep = 0;
    else if (thread->asleep < HZ3_ASLEEP_EMPTIED - 1)
        thread->asleep++;
    size_t before = hz3_get(thread->lent), now = before;
    if (thread->asleep == HZ3_ASLEEP_EMPTIED)
        now = thread->reserved; /* all but an object of each class */
    else if (sleeps)
        now = unused_bytes(thread);
    if (now != before && hz3_cas(thread->lent, &before, now, memory_order_relaxed, memory_order_relaxed))
        hz3_budget_give(thread->entry, (intptr_t)(now - before));
}

/* The class gives back room for `slots` objects, all magazines but the loaded one, and that if it holds too much. */
static void shrink(struct hz3_thread *self, unsigned cls, unsigned slots)
{
    hz3_evict_previous(&self->cache, cls, 0);
    size_t left = hz3_max(self->cache.capacity[cls] - slots, hz3_cache_free_capacity(cls));
    if (!left || hz3_magazine_objects(self->cache.top[cls]) > left) hz3_evict_class(&self->cache, cls);
    if (slots || self->cache.store[cls]) give_up_capacity(self, cls, slots);
}

/* The next class in turn gives back half of what it earned, if that is more than `least` bytes.  If that is `cls`,
 * whose slow path is running, it gives back room but no magazine. */
static void shrink_next(struct hz3_thread *self, unsigned cls, size_t least)
{
    unsigned next = self->cache.donor = (uint8_t)(self->cache.donor % HZ3_CLASSES + 1);
    unsigned half = earned_capacity(self, next) / 2;
    if (capacity_bytes(next, half) + store_bytes(next, self->cache.store[next]) <= least) return;
    if (next == cls)
        give_up_capacity(self, cls, half);
    else
        shrink(self, next, half);
}

/* What one thread may claim. */
static size_t share_of(intptr_t left)
{
    return hz3_min(thread_budget, (size_t)hz3_max(left, 0) / 4);
}

static bool claim(struct hz3_thread *self, intptr_t left, size_t bytes)
{
    if (!hz3_cas(hz3_budget_unclaimed, &left, left - (intptr_t)bytes, memory_order_relaxed, memory_order_relaxed))
        return false;
    self->reserved += bytes;
    hz3_add(self->entry->claimed, (intptr_t)bytes);
    return true;
}

void hz3_budget_earn(struct hz3_thread *self, unsigned cls, bool turned)
{
    unsigned now = self->cache.capacity[cls], free = hz3_cache_free_capacity(cls);
    unsigned more = hz3_min(hz3_max(2 * now, FIRST_MIN), hz3_class_info[cls].load) - now;
    intptr_t left = hz3_get(hz3_budget_unclaimed);
    size_t bytes = capacity_bytes(cls, more), share = share_of(left);
    bool worth = turned || hz3_class_size(cls) < hz3_os.page || hz3_get(hz3_threads_several);
    self->cache.missed[cls] = true;
    if (now < free) {
        self->cache.capacity[cls] = (uint8_t)hz3_min(2 * now, free);
    } else if (self->reserved / 2 > share) {
        shrink_next(self, cls, 0);
    } else if (!more || !worth) {
        return;
    } else if (self->reserved + bytes > share) {
        shrink_next(self, cls, capacity_bytes(cls, now));
    } else if (claim(self, left, bytes)) {
        self->cache.capacity[cls] = (uint8_t)(now + more);
    }
}

void hz3_budget_earn_store(struct hz3_thread *self, unsigned cls)
{
    unsigned now = self->cache.store[cls], most = hz3_min((unsigned)(STORE_BYTES / store_bytes(cls, 1)), STORE_MAX);
    if (self->cache.capacity[cls] < hz3_class_info[cls].load || now >= most) return;
    unsigned more = hz3_min(hz3_max(now, 1u), most - now);
    intptr_t left = hz3_get(hz3_budget_unclaimed);
    if (self->reserved + store_bytes(cls, more) <= share_of(left) && claim(self, left, store_bytes(cls, more)))
        self->cache.store[cls] = (uint8_t)(now + more);
}

static void rest(struct hz3_thread *self)
{
    if (hz3_outbox) hz3_outgoing_flush(hz3_outbox);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        bool missed = self->cache.missed[cls];
        self->cache.missed[cls] = false;
        unsigned earned = earned_capacity(self, cls);
        if (missed || (!earned && !self->cache.store[cls] && hz3_is_stub(self->cache.top[cls]))) continue;
        shrink(self, cls, (earned + 1) / 2);
    }
}

void hz3_cache_pass_epoch(uint32_t epoch)
{
    struct hz3_thread *self = &hz3_thread;
    if (likely(epoch == self->cache.epoch) || self->state != HZ3_THREAD_JOINED) return;
    self->cache.epoch = epoch;
    hz3_thread_go_inside(self);
    rest(self);
    hz3_thread_go_outside(self);
}

void hz3_budget_settle(struct hz3_thread *self)
{
    hz3_evict_outbox(hz3_outbox);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        unsigned earned = earned_capacity(self, cls);
        if (earned) {
            hz3_thread_count(self, cls);
            self->cache.top[cls] = hz3_evict_foreign(&self->cache, cls, self->cache.top[cls]);
            hz3_cache_recount(&self->cache, cls);
            hz3_evict_previous(&self->cache, cls, 1);
            self->cache.previous[cls] = hz3_evict_foreign(&self->cache, cls, self->cache.previous[cls]);
        }
        if (earned || self->cache.store[cls] || !hz3_is_stub(self->cache.top[cls])) shrink(self, cls, earned);
    }
    hz3_assert(!self->reserved);
}

void hz3_budget_after_fork(struct hz3_thread *self, bool counts)
{
    intptr_t claimed = counts ? (intptr_t)self->reserved : 0, unclaimed = hz3_budget_total - claimed;
    hz3_set(self->lent, 0);
    if (counts && hz3_get(self->entry->claimed) != claimed) hz3_set(self->entry->claimed, claimed);
    if (hz3_get(hz3_budget_unclaimed) != unclaimed) hz3_set(hz3_budget_unclaimed, unclaimed);
}
