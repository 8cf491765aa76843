#include "middle/central.h"

#include "back/gauges.h"
#include "back/huge_pages.h"
#include "back/pages.h"
#include "back/purge.h"
#include "back/run.h"
#include "base/check.h"
#include "base/layout.h"
#include "base/sizeclass.h"

enum { BUCKETS = 8, UNLISTED = BUCKETS };

static struct central {
    struct hz3_lock lock;
    struct hz3_span *listed[BUCKETS]; /* runs with room that nobody holds, by live * BUCKETS / objects */
    struct hz3_span *oldest, *newest; /* runs by the time of the first retire since their last purge */
    ptrdiff_t idle_change;            /* to be added to HZ3_GAUGE_IDLE before the lock is released */
    bool emptied;                     /* a run went back since the lock was taken */
    HZ3_ATOMIC(uint64_t) retired;     /* objects, ever; written under lock */
} HZ3_CACHE_ALIGNED centrals[HZ3_CLASS_VALUES];

struct hz3_heap hz3_heaps[HZ3_NUM_SHARDS] __attribute__((aligned(4096))); /* the first are written everywhere */
unsigned hz3_heap_count = 1;
HZ3_ATOMIC(bool) hz3_heap_lost_thread;
HZ3_ATOMIC(unsigned) hz3_heap_highest;

/* Returns whether a run went back.  Then hz3_pages_enforce_limits is to follow, which takes long, without a lock. */
static bool unlock(struct central *central)
{
    bool emptied = central->emptied;
    central->emptied = false;
    if (central->idle_change) hz3_gauge_add(HZ3_GAUGE_IDLE, (size_t)central->idle_change);
    central->idle_change = 0;
    hz3_unlock(&central->lock);
    return emptied;
}

static void unlist(struct central *central, struct hz3_span *run)
{
    if (run->bucket == UNLISTED) return;
    *(run->in_central.prev ? &run->in_central.prev->in_central.next : &central->listed[run->bucket]) =
        run->in_central.next;
    if (run->in_central.next) run->in_central.next->in_central.prev = run->in_central.prev;
    run->bucket = UNLISTED;
}

static void list(struct central *central, struct hz3_span *run, unsigned bucket)
{
    if (run->bucket == bucket) return;
    unlist(central, run);
    struct hz3_span **head = &central->listed[bucket];
    run->bucket = (uint8_t)bucket;
    run->in_central.prev = NULL;
    run->in_central.next = *head;
    if (*head) (*head)->in_central.prev = run;
    *head = run;
}

/* Sets how many free objects of the run wait for a purge. */
static void set_idle(struct central *central, struct hz3_span *run, unsigned idle)
{
    central->idle_change += ((ptrdiff_t)idle - (ptrdiff_t)run->idle) * (ptrdiff_t)hz3_class_size(run->cls);
    run->idle = idle;
}

/* The number of retired objects in the run; may be too small while its heap takes some. */
static unsigned free_objects(const struct hz3_span *run)
{
    unsigned bump = hz3_get(run->bump), live = hz3_get(run->live);
    return bump - hz3_min(bump, live);
}

/* Puts the run on the age list, if it is not there already. */
static void age_append(struct central *central, struct hz3_span *run)
{
    if (run->in_central.aging) return;
    run->in_central.aging = true;
    run->in_central.since = (uint32_t)hz3_os_now_ms();
    run->in_central.newer = NULL;
    run->in_central.older = central->newest;
    *(central->newest ? &central->newest->in_central.newer : &central->oldest) = run;
    central->newest = run;
}

static void age_remove(struct central *central, struct hz3_span *run)
{
    set_idle(central, run, 0);
    if (!run->in_central.aging) return;
    run->in_central.aging = false;
    *(run->in_central.older ? &run->in_central.older->in_central.newer : &central->oldest) = run->in_central.newer;
    *(run->in_central.newer ? &run->in_central.newer->in_central.older : &central->newest) = run->in_central.older;
}

/* Files a run that nobody holds: to the page pool if it is empty, else into the list for its fullness, if any. */
static void file(struct central *central, struct hz3_span *run)
{
    unsigned live = hz3_get(run->live), objects = hz3_class_info[run->cls].objects;
    hz3_assert(live <= objects);
    if (live == 0) {
        unlist(central, run);
        age_remove(central, run);
        hz3_run_free(run);
        central->emptied = true;
    } else if (live == objects) {
        unlist(central, run);
    } else {
        list(central, run, live * BUCKETS / objects);
    }
}

/* Makes the heap the owner of a run that nobody holds; objects handed out of it count as live there. */
static void give(struct hz3_span *run, struct hz3_heap *heap)
{
    size_t live = hz3_get(run->live) * hz3_class_size(run->cls);
    if (run->owner == hz3_heap_number(heap)) return;
    hz3_sub(hz3_heaps[run->owner].live, live);
    hz3_add(heap->live, live);
    hz3_run_give(run, hz3_heap_number(heap));
}

static struct hz3_span *pick(struct central *central, struct hz3_heap *heap)
{
    for (int bucket = BUCKETS - 1; bucket >= 0; bucket--) {
        struct hz3_span *run = central->listed[bucket];
        if (!run) continue;
        unlist(central, run);
        run->held = HZ3_HELD_BY_HEAP;
        give(run, heap);
        return run;
    }
    return NULL;
}

static void let_go(struct central *central, struct hz3_span *run)
{
    run->held = HZ3_HELD_BY_NOBODY;
    set_idle(central, run, free_objects(run));
    if (run->idle) age_append(central, run);
    file(central, run);
}

static struct hz3_span *fresh_run(unsigned cls, struct hz3_heap *heap)
{
    struct hz3_span *run = hz3_run_new(cls, hz3_heap_number(heap));
    if (run) {
        run->idle = 0;
        run->held = HZ3_HELD_BY_HEAP;
        run->in_central.aging = false;
        run->bucket = UNLISTED;
    }
    return run;
}

unsigned hz3_central_refill(struct hz3_heap *heap, unsigned cls, void **objects, unsigned want, bool fresh,
                            enum hz3_refill_source *source)
{
    struct central *central = &centrals[cls];
    *source = HZ3_REFILL_HELD;
    hz3_lock(&heap->lock);
    struct hz3_span *run = heap->held[cls];
    unsigned got = run ? hz3_run_take(run, objects, want) : 0;
    bool emptied = false;
    if (!got) {
        hz3_lock(&central->lock);
        if (run) let_go(central, run);
        run = pick(central, heap);
        emptied = unlock(central);
        *source = HZ3_REFILL_CENTRAL;
        if (!run) {
            run = fresh ? fresh_run(cls, heap) : NULL;
            *source = !run ? HZ3_REFILL_NONE : run->zeroed ? HZ3_REFILL_GROWN : HZ3_REFILL_FRESH;
        }
        heap->held[cls] = run;
        if (run) got = hz3_run_take(run, objects, want);
    }
    hz3_set(heap->taken[cls], hz3_get(heap->taken[cls]) + got);
    hz3_add(heap->live, got * hz3_class_size(cls));
    hz3_unlock(&heap->lock);
    if (unlikely(emptied)) hz3_pages_enforce_limits();
    return got;
}

/* Prefetches what a retire of the objects will write: of neighbours once.  Where the first and the last are neighbours
 * the others mostly are, too. */
static void expect_retire(unsigned cls, void *const *objects, unsigned n)
{
    uintptr_t last = 0;
    if (n && ((uintptr_t)objects[0] ^ (uintptr_t)objects[n - 1]) < HZ3_GRANULE) n = 1;
    for (unsigned i = 0; i < n; last = (uintptr_t)objects[i++] >> HZ3_GRANULE_SHIFT)
        if ((uintptr_t)objects[i] >> HZ3_GRANULE_SHIFT != last) hz3_run_expect_retire(objects[i], cls);
}

void hz3_central_retire(unsigned cls, void **objects, unsigned n)
{
    struct central *central = &centrals[cls];
    unsigned owner = 0;
    size_t bytes = 0; /* still to be taken off the live bytes of `owner` */
    expect_retire(cls, objects, n);
    hz3_lock(&central->lock);
    for (unsigned i = 0; i < n;) {
        struct hz3_span *run = hz3_run_of(objects[i]);
        unsigned retired = hz3_run_retire(run, objects + i, n - i, run->held);
        i += retired;
        if (bytes && run->owner != owner) {
            hz3_sub(hz3_heaps[owner].live, bytes);
            bytes = 0;
        }
        owner = run->owner;
        bytes += retired * hz3_class_size(cls);
        if (run->held == HZ3_HELD_BY_HEAP) set_idle(central, run, free_objects(run));
        if (run->held) continue;
        set_idle(central, run, run->idle + retired);
        age_append(central, run);
        file(central, run);
    }
    hz3_sub(hz3_heaps[owner].live, bytes);
    hz3_set(central->retired, hz3_get(central->retired) + n);
    if (unlock(central)) hz3_pages_enforce_limits();
}

void hz3_central_take_apart(unsigned cls, struct hz3_magazine *magazine)
{
    hz3_central_retire(cls, &magazine->word[magazine->header.floor + 1], hz3_magazine_count(magazine));
    hz3_magazine_put(cls, magazine);
}

/* ---- for reclaim ---- */

void hz3_central_release_heap(struct hz3_heap *heap)
{
    bool emptied = false;
    hz3_lock(&heap->lock);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        struct hz3_span *run = heap->held[cls];
        if (!run) continue;
        hz3_lock(&centrals[cls].lock);
        if (free_objects(run)) {
            let_go(&centrals[cls], run);
            heap->held[cls] = NULL;
        } else {
            set_idle(&centrals[cls], run, 0); /* all that was retired was taken again */
        }
        emptied |= unlock(&centrals[cls]);
    }
    hz3_unlock(&heap->lock);
    if (emptied) hz3_pages_enforce_limits();
}

/* The class's run that has been idle for longest, and for `age` at least; or NULL.  The caller holds it from now on.
 * *idle: how many of its objects wait for a purge. */
static struct hz3_span *claim_idle(struct central *central, uint32_t now, uint32_t age, unsigned *idle)
{
    struct hz3_span *run, *claimed = NULL;
    hz3_lock(&central->lock);
    while (!claimed && (run = central->oldest) && hz3_ms_passed(run->in_central.since, age, now)) {
        *idle = run->idle;
        age_remove(central, run);
        if (run->held) continue; /* it comes back to the list when its holder lets go */
        unlist(central, run);
        run->held = HZ3_HELD_BY_PURGER;
        claimed = run;
    }
    unlock(central);
    return claimed;
}

size_t hz3_central_purge_some(unsigned cls, uint32_t age, size_t *left, bool break_huge_pages)
{
    struct central *central = &centrals[cls];
    struct hz3_span *run;
    unsigned idle;
    uint32_t now = (uint32_t)hz3_os_now_ms(); /* runs that age later are left to the next pass: this one has to end */
    size_t purged = 0, counted = 0;           /* without what an earlier purge had emptied */
    while (*left && !hz3_purge_is_cut(age) && (run = claim_idle(central, now, age, &idle))) {
        *left -= hz3_min(*left, hz3_span_bytes(run));
        unsigned live = hz3_get(run->live);
        size_t bytes = hz3_run_purge(run, break_huge_pages), freed = idle * hz3_class_size(cls);
        bool spared = hz3_huge_page_at(run->start) && !break_huge_pages && age && bytes < freed;
        purged += bytes;
        counted += hz3_min(bytes, freed);
        hz3_lock(&central->lock);
        run->held = HZ3_HELD_BY_NOBODY;
        unsigned retired = live - hz3_get(run->live); /* while it was purged */
        set_idle(central, run, spared ? idle + retired : retired);
        if (run->idle) age_append(central, run);
        file(central, run);
        if (unlock(central)) hz3_pages_enforce_limits();
    }
    hz3_gauge_add(HZ3_GAUGE_PURGED, counted);
    return purged;
}

size_t hz3_central_purge(unsigned cls, uint32_t age, bool break_huge_pages)
{
    size_t all = SIZE_MAX;
    return hz3_central_purge_some(cls, age, &all, break_huge_pages);
}

uint64_t hz3_central_retired(unsigned cls)
{
    return hz3_get(centrals[cls].retired);
}

void hz3_central_each_lock(void (*visit)(struct hz3_lock *lock))
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) visit(&centrals[cls].lock);
}

const struct hz3_place hz3_central_places[] = {
    HZ3_PLACES("heap", hz3_heaps),
    HZ3_PLACE("heaps", hz3_heap_count),
    HZ3_FIELD("heap.taken", struct hz3_heap, taken),
    HZ3_FIELD("heap.threads", struct hz3_heap, threads),
    HZ3_PLACES("central", centrals),
    HZ3_FIELD("central.retired", struct central, retired),
    HZ3_PLACES_END,
};
