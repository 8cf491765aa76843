#include "front/thread_cache.h"

#include "back/pages.h"
#include "base/check.h"
#include "base/sizeclass.h"
#include "front/collector.h"

#include <pthread.h>

enum {
    SPARES_MAX = 8,
    FIRST_BYTES = 1024, /* of a class's first magazine, which small classes have for nothing; */
    FIRST_MIN = 2,      /* larger ones start with this many objects, out of the budgets */
    SLOW_CALLS_PER_TICK = 16,
    CROWD_MIN = 64, /* when this many threads or more shrink to an eighth, */
    CROWD_LEFT = 8, /* what they leave behind goes home at once: nobody may be there to do it later */
};

_Thread_local struct hz3_thread hz3_thread = {
    .top = {[0 ... HZ3_BINS - 1] = HZ3_STUB_TOP},
    .previous = {[0 ... HZ3_BINS - 1] = HZ3_STUB_TOP},
};

struct hz3_lock hz3_threads_lock;
static struct hz3_thread *threads;
static _Atomic unsigned joined;     /* threads now: written under hz3_threads_lock, as the two below */
static unsigned crowd;              /* the most since a crowd dispersed */
static struct hz3_cache_stats dead; /* the counters of threads that left */
static size_t thread_budget, total_budget;
static _Atomic size_t total_reserved;
static pthread_key_t exit_key;
static bool has_exit_key;

static bool is_stub(void **top)
{
    return top == HZ3_STUB_TOP;
}

static bool is_empty(void **top)
{
    return !*top;
}

/* A fork by another thread copies this cache as it is: `inside` is seen before and until after what it guards. */
static void go_inside(struct hz3_thread *self)
{
    hz3_set(self->inside, true);
    atomic_thread_fence(memory_order_release);
}

static void go_outside(struct hz3_thread *self)
{
    atomic_store_explicit(&self->inside, false, memory_order_release);
}

/* ---- empty magazines ---- */

static struct hz3_magazine *get_magazine(struct hz3_thread *self, unsigned cls)
{
    struct hz3_magazine *magazine = self->spare;
    if (!magazine) return hz3_magazine_get(cls);
    self->spare = magazine->word[1];
    self->spares--;
    return magazine;
}

static void put_magazine(struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine)
{
    if (self->spares == SPARES_MAX) {
        hz3_magazine_put(cls, magazine);
        return;
    }
    magazine->word[1] = self->spare;
    self->spare = magazine;
    self->spares++;
}

/* ---- capacity ---- */

static unsigned free_capacity(unsigned cls)
{
    return hz3_min(FIRST_BYTES / hz3_class_info[cls].size, hz3_class_info[cls].load);
}

/* Both magazines of the class may fill up. */
static size_t capacity_bytes(unsigned cls, unsigned slots)
{
    return 2 * (size_t)slots * hz3_class_size(cls);
}

static void earn_capacity(struct hz3_thread *self, unsigned cls)
{
    unsigned now = self->capacity[cls];
    unsigned more = hz3_min(hz3_max(2 * now, FIRST_MIN), hz3_class_info[cls].load) - now;
    size_t bytes = capacity_bytes(cls, more);
    self->missed[cls] = true;
    /* A fair share, so that those who came first do not leave nothing for the others. */
    size_t share = hz3_min(thread_budget, total_budget / hz3_get(joined));
    if (!more || self->reserved + bytes > share) return;
    if (hz3_add(total_reserved, bytes) + bytes > total_budget) {
        hz3_sub(total_reserved, bytes);
        return;
    }
    self->reserved += bytes;
    self->capacity[cls] = (uint8_t)(now + more);
}

static void give_up_capacity(struct hz3_thread *self, unsigned cls, unsigned slots)
{
    size_t bytes = capacity_bytes(cls, slots);
    self->capacity[cls] = (uint8_t)(self->capacity[cls] - slots);
    self->reserved -= bytes;
    hz3_sub(total_reserved, bytes);
}

/* ---- magazines leave ---- */

/* Leaves a magazine that is no longer wanted here to others; it may be the stub, empty or anything. */
static void discharge(struct hz3_thread *self, unsigned cls, void **top)
{
    if (is_stub(top)) return;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    unsigned count = hz3_magazine_count(magazine);
    if (count && 2 * count >= self->capacity[cls] && !hz3_pages_pressed() && hz3_transfer_push(cls, magazine)) {
        self->stats.overflow++;
        return;
    }
    if (count) {
        hz3_central_retire_magazine(cls, magazine);
        self->stats.retired++;
    }
    put_magazine(self, cls, magazine);
}

static void discharge_class(struct hz3_thread *self, unsigned cls)
{
    void **loaded = self->top[cls], **previous = self->previous[cls];
    self->top[cls] = self->previous[cls] = HZ3_STUB_TOP;
    discharge(self, cls, loaded);
    discharge(self, cls, previous);
}

void hz3_cache_flush(void)
{
    struct hz3_thread *self = &hz3_thread;
    if (self->state != HZ3_THREAD_JOINED) return;
    go_inside(self);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) discharge_class(self, cls);
    go_outside(self);
}

/* Classes that nobody asked for since the last epoch give back their previous magazine and half of what they earned. */
static void pass_epoch(struct hz3_thread *self)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        bool missed = self->missed[cls];
        self->missed[cls] = false;
        if (missed || is_stub(self->top[cls])) continue;
        void **previous = self->previous[cls];
        self->previous[cls] = HZ3_STUB_TOP;
        discharge(self, cls, previous);
        unsigned earned = self->capacity[cls] - free_capacity(cls);
        give_up_capacity(self, cls, (earned + 1) / 2);
        if (!self->capacity[cls]) discharge_class(self, cls);
    }
}

/* ---- threads come and go ---- */

static void add_stats(struct hz3_cache_stats *sum, const struct hz3_cache_stats *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++) to[i] += from[i];
}

/* Takes a thread, whose magazines are away, off the books.  hz3_threads_lock is held. */
static void strike_off(struct hz3_thread *thread)
{
    while (thread->spare) hz3_magazine_put(0, get_magazine(thread, 0));
    hz3_sub(total_reserved, thread->reserved);
    hz3_heap_leave(thread->heap);
    *(thread->prev ? &thread->prev->next : &threads) = thread->next;
    if (thread->next) thread->next->prev = thread->prev;
    add_stats(&dead, &thread->stats);
    joined--;
}

static void leave(void *unused)
{
    (void)unused;
    struct hz3_thread *self = &hz3_thread;
    if (self->state != HZ3_THREAD_JOINED) return;
    hz3_cache_flush();
    self->state = HZ3_THREAD_BUSY;
    hz3_lock(&hz3_threads_lock);
    strike_off(self);
    bool dispersed = crowd >= CROWD_MIN && joined * CROWD_LEFT <= crowd;
    if (dispersed) crowd = joined;
    hz3_unlock(&hz3_threads_lock);
    self->state = HZ3_THREAD_LEFT;
    if (dispersed) hz3_collector_run(true);
    hz3_collector_tick();
}

static HZ3_COLD void join(struct hz3_thread *self)
{
    self->state = HZ3_THREAD_BUSY;
    /* Setting it may allocate, which BUSY serves.  Without a destructor nothing may be cached. */
    if (!has_exit_key || pthread_setspecific(exit_key, self) != 0) {
        self->state = HZ3_THREAD_LEFT;
        return;
    }
    self->heap = hz3_heap_join();
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) self->capacity[cls] = (uint8_t)free_capacity(cls);
    hz3_lock(&hz3_threads_lock);
    self->next = threads;
    if (threads) threads->prev = self;
    threads = self;
    joined++;
    crowd = hz3_max(crowd, joined);
    hz3_unlock(&hz3_threads_lock);
    self->state = HZ3_THREAD_JOINED;
}

void hz3_cache_start(void)
{
    has_exit_key = pthread_key_create(&exit_key, leave) == 0;
}

void hz3_cache_budgets(size_t thread_bytes, size_t total_bytes)
{
    thread_budget = thread_bytes;
    total_budget = total_bytes;
}

void hz3_cache_after_fork(bool whole)
{
    struct hz3_thread *self = &hz3_thread, *next;
    for (struct hz3_thread *gone = threads; gone; gone = next) {
        next = gone->next;
        if (gone == self) continue;
        if (whole && !hz3_get(gone->inside))
            for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) discharge_class(gone, cls);
        else
            gone->spare = NULL;
        strike_off(gone);
    }
    crowd = joined;
}

/* ---- the slow paths ---- */

/* What every slow path does first.  False: this thread has no cache, now or any more. */
static bool enter(struct hz3_thread *self)
{
    if (unlikely(self->state != HZ3_THREAD_JOINED)) {
        if (self->state != HZ3_THREAD_NEW) return false;
        join(self);
        if (self->state != HZ3_THREAD_JOINED) return false;
    }
    if (++self->slow_calls % SLOW_CALLS_PER_TICK == 0) {
        uint32_t epoch = hz3_collector_tick();
        if (unlikely(epoch != self->epoch)) {
            self->epoch = epoch;
            go_inside(self);
            pass_epoch(self);
            go_outside(self);
        }
    }
    return true;
}

static void *take_one(struct hz3_thread *self, unsigned cls)
{
    void *p;
    enum hz3_refill_source source;
    struct hz3_heap *heap = self->heap ? self->heap : &hz3_heaps[0];
    return hz3_central_refill(heap, cls, &p, 1, &source) ? p : NULL;
}

static void *pop(struct hz3_thread *self, unsigned cls)
{
    void *p = *self->top[cls];
    self->top[cls]--;
    return p;
}

/* Makes `magazine`, from the transfer cache, the loaded one and the empty loaded one the previous. */
static void load(struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine)
{
    void **previous = self->previous[cls];
    self->previous[cls] = self->top[cls];
    self->top[cls] = &magazine->word[magazine->header.top];
    if (!is_stub(previous)) put_magazine(self, cls, hz3_magazine_of(previous));
}

/* Without capacity a class has no magazine, so what is opened here has room. */
static void **open_magazine(struct hz3_thread *self, unsigned cls, struct hz3_magazine *magazine)
{
    hz3_assert(self->capacity[cls] > 0);
    return hz3_magazine_open(magazine, self->capacity[cls]);
}

/* Fills the loaded magazine, which is empty, from central; the lowest address comes out first. */
static bool refill(struct hz3_thread *self, unsigned cls)
{
    void *objects[HZ3_MAGAZINE_LAST];
    enum hz3_refill_source source;
    struct hz3_magazine *magazine = is_stub(self->top[cls]) ? get_magazine(self, cls) : hz3_magazine_of(self->top[cls]);
    if (!magazine) return false;
    unsigned want = self->capacity[cls], got = hz3_central_refill(self->heap, cls, objects, want, &source);
    void **top = open_magazine(self, cls, magazine);
    for (unsigned i = got; i--;) *++top = objects[i];
    self->top[cls] = top;
    self->stats.held += source == HZ3_REFILL_HELD;
    self->stats.central += source == HZ3_REFILL_CENTRAL;
    self->stats.fresh += source == HZ3_REFILL_FRESH;
    return got;
}

static void *malloc_inside(struct hz3_thread *self, unsigned cls)
{
    if (!is_empty(self->top[cls])) return pop(self, cls); /* enter() may have allocated and freed */
    if (!is_empty(self->previous[cls])) {
        self->stats.swap++;
        void **loaded = self->top[cls];
        self->top[cls] = self->previous[cls];
        self->previous[cls] = loaded;
        return pop(self, cls);
    }
    earn_capacity(self, cls);
    if (!self->capacity[cls]) return take_one(self, cls);
    struct hz3_magazine *magazine = hz3_transfer_pop(cls);
    if (magazine) {
        self->stats.transfer++;
        load(self, cls, magazine);
        return pop(self, cls);
    }
    return refill(self, cls) ? pop(self, cls) : take_one(self, cls);
}

/* Puts an empty magazine in the place of the loaded one, which is full.  False: there is none to be had. */
static bool load_empty(struct hz3_thread *self, unsigned cls)
{
    void **previous = self->previous[cls];
    struct hz3_magazine *magazine = hz3_magazine_of(previous);
    if (is_stub(previous) || !is_empty(previous)) {
        earn_capacity(self, cls);
        if (!self->capacity[cls] || !(magazine = get_magazine(self, cls))) return false;
        discharge(self, cls, previous);
    }
    self->previous[cls] = self->top[cls];
    self->top[cls] = open_magazine(self, cls, magazine);
    return true;
}

static bool is_full(void **top)
{
    return (uintptr_t)(top + 1) % HZ3_MAGAZINE_BYTES == 0;
}

static void free_inside(struct hz3_thread *self, void *p, unsigned cls)
{
    if (!is_full(self->top[cls]) || load_empty(self, cls)) /* enter() may have made room */
        *++self->top[cls] = p;
    else
        hz3_central_retire(cls, &p, 1);
}

HZ3_NOINLINE void *hz3_cache_malloc_slow(unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    if (!enter(self)) return take_one(self, cls);
    go_inside(self);
    void *p = malloc_inside(self, cls);
    go_outside(self);
    return p;
}

HZ3_NOINLINE void hz3_cache_free_slow(void *p, unsigned cls)
{
    struct hz3_thread *self = &hz3_thread;
    if (!enter(self)) {
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

HZ3_RACY static size_t magazine_objects(void **top)
{
    const struct hz3_magazine *magazine = hz3_magazine_of(top);
    void *const *floor = &magazine->word[magazine->header.floor];
    return is_stub(top) || top < floor ? 0 : (size_t)(top - floor); /* below: it is just being changed */
}

HZ3_RACY size_t hz3_cache_bytes(void)
{
    size_t bytes = 0;
    hz3_lock(&hz3_threads_lock);
    for (struct hz3_thread *thread = threads; thread; thread = thread->next)
        for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
            bytes +=
                hz3_class_size(cls) * (magazine_objects(thread->top[cls]) + magazine_objects(thread->previous[cls]));
    hz3_unlock(&hz3_threads_lock);
    return bytes;
}
