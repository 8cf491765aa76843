#include "front/sleepers.h"

#include "front/budget.h"
#include "front/evict.h"
#include "front/registry.h"
#include "front/threads.h"
#include "os/asleep.h"
#include "os/gate.h"
#include "os/sandbox.h"

enum {
    LOOKS_ASLEEP = 2, /* a thread that slept for so many looks of hz3_cache_lend is emptied */
    /* Under the threads' lock, on which those that begin or end wait: so many are looked at, which takes 2 us each, and
     * so many emptied, which takes half a ms, or more with an outbox (lane classic). */
    LOOKED_AT = 256,
    AT_ONCE = HZ3_OUTGOING ? 4 : 1,
};

/* What was taken of one class, until it is certain that it was the visitor's to take. */
struct taken {
    struct hz3_magazine *from, *into; /* into: opened for 30 objects; NULL: nothing was taken */
    uint8_t first, last;              /* word indices in *from */
};

static HZ3_ATOMIC(void *) * word_at(struct hz3_magazine *magazine, unsigned i)
{
    return (HZ3_ATOMIC(void *) *)&magazine->word[i];
}

/* The object that was in that word of taken->from. */
static void **object_of(const struct taken *taken, unsigned i)
{
    return &taken->into->word[taken->into->header.floor + 1u + i - taken->first];
}

/* topmost: that object, too. */
HZ3_RACY static struct taken take(const struct hz3_thread *sleeper, unsigned cls, bool topmost)
{
    void **top = sleeper->cache.top[cls];
    struct hz3_magazine *from = hz3_magazine_of(top);
    unsigned first = from->header.floor + 1u, end = (unsigned)(top - from->word) + topmost;
    struct taken taken = {.from = from, .first = (uint8_t)first, .last = (uint8_t)(end - 1)};
    if (hz3_is_stub(top) || end <= first || !(taken.into = hz3_magazine_get(cls))) return taken;
    hz3_magazine_open(taken.into, HZ3_MAGAZINE_LAST - 1);
    for (unsigned i = first; i < end; i++)
        *object_of(&taken, i) = hz3_exchange(*word_at(from, i), NULL, memory_order_relaxed);
    return taken;
}

/* After the barrier: keeps what was the visitor's to take, and raises the floor to it.  Returns how many.  slept: since
 * the barrier there was a time when the thread was at work nowhere, not even at `top`. */
HZ3_RACY static unsigned keep(const struct hz3_thread *sleeper, unsigned cls, const struct taken *taken, bool slept)
{
    unsigned at = (unsigned)(sleeper->cache.top[cls] - taken->from->word), i = taken->first;
    while (i <= taken->last && i < at + slept && *object_of(taken, i) && !hz3_get(*word_at(taken->from, i))) i++;
    /* Puts the rest back, unless the thread wrote there.  It may have taken the object at `top`, of which nobody reads
     * the word then. */
    for (unsigned j = i; j <= taken->last && j <= at; j++) {
        void *none = NULL;
        hz3_cas(*word_at(taken->from, j), &none, *object_of(taken, j), memory_order_relaxed, memory_order_relaxed);
    }
    taken->from->header.floor = (uint8_t)(i - 1);
    return i - taken->first;
}

static void give_back(unsigned cls, struct hz3_magazine *magazine)
{
    if (hz3_magazine_count(magazine))
        hz3_central_take_apart(cls, magazine);
    else
        hz3_magazine_put(cls, magazine);
}

HZ3_RACY static void take_previous(struct hz3_thread *sleeper, unsigned cls)
{
    void **previous;
    while (!hz3_is_stub(previous = hz3_cache_take_previous(&sleeper->cache, cls)))
        give_back(cls, hz3_magazine_close(previous));
}

static HZ3_ATOMIC(bool) refused; /* the system has no such barrier */

bool hz3_sleepers_can_be_emptied(void)
{
    return HZ3_STORES_IN_ORDER && !hz3_get(refused);
}

static bool barrier(void)
{
    bool done = hz3_os_barrier();
    if (!done && !hz3_sandboxed()) hz3_set(refused, true);
    return done;
}

static bool is_asleep(const struct hz3_thread *sleeper)
{
    /* Thread-local storage lies at the end of the stack. */
    return !hz3_get(sleeper->was_elsewhere) && hz3_os_is_asleep(sleeper->tid, sleeper);
}

bool hz3_sleeper_empty(struct hz3_thread *sleeper)
{
    static struct taken taken[HZ3_CLASS_VALUES]; /* 2 KiB: the stack of a coroutine may have no room for them */
    hz3_set(sleeper->visited, 1);
    /* Either the thread's slow path sees `visited` from now on, or its `inside` is seen here. */
    bool outside = barrier() && !hz3_load(sleeper->inside, memory_order_acquire);
    bool topmost = outside && is_asleep(sleeper); /* else it would miss, and wait here, for nothing */
    for (unsigned cls = 1; outside && cls <= HZ3_CLASSES; cls++) taken[cls] = take(sleeper, cls, topmost);
    bool certain = outside && barrier(), slept = topmost && certain && is_asleep(sleeper);
    for (unsigned cls = 1; outside && cls <= HZ3_CLASSES; cls++) {
        if (taken[cls].into) {
            unsigned kept = keep(sleeper, cls, &taken[cls], slept);
            sleeper->cache.counted[cls] = (int8_t)(sleeper->cache.counted[cls] - (int)kept);
            taken[cls].into->header.top = (uint8_t)(taken[cls].into->header.floor + (certain ? kept : 0));
            give_back(cls, taken[cls].into);
        }
        take_previous(sleeper, cls);
    }
    if (outside && HZ3_OUTGOING == 0) hz3_evict_outbox(*sleeper->outbox); /* only slow paths use it */
    hz3_store(sleeper->visited, 0, memory_order_release);
    hz3_os_wake(&sleeper->visited);
    return outside;
}

/* From the first thread on, if the last walk came to the end. */
static void begin(enum hz3_registry_walk walk)
{
    if (!hz3_registry_next[walk]) hz3_registry_next[walk] = hz3_registry;
}

void hz3_cache_lend(void)
{
    if (!hz3_trylock(&hz3_threads_lock)) return;
    struct hz3_thread *thread;
    begin(HZ3_WALK_LEND);
    for (int i = 0; i < LOOKED_AT && (thread = hz3_threads_next(HZ3_WALK_LEND)); i++) hz3_budget_lend(thread);
    hz3_unlock(&hz3_threads_lock);
}

/* Returns how many sleepers it came to. */
static unsigned empty_some(unsigned most)
{
    unsigned left = most;
    if (!hz3_trylock(&hz3_threads_lock)) return 0;
    struct hz3_thread *thread;
    begin(HZ3_WALK_EMPTY);
    for (int i = 0; i < LOOKED_AT && left && (thread = hz3_threads_next(HZ3_WALK_EMPTY)); i++) {
        bool due = thread->asleep >= LOOKS_ASLEEP && thread->asleep < HZ3_ASLEEP_EMPTIED;
        if (!due || thread == &hz3_thread || !thread->reserved) continue;
        thread->asleep = hz3_sleeper_empty(thread) ? HZ3_ASLEEP_EMPTIED : 0;
        left--;
    }
    hz3_unlock(&hz3_threads_lock);
    return most - left;
}

void hz3_cache_empty_sleepers(unsigned most)
{
    if (!hz3_sleepers_can_be_emptied()) return;
    for (unsigned some = AT_ONCE; most && some == AT_ONCE && hz3_gate_is_open(); most -= some)
        some = empty_some(hz3_min(most, (unsigned)AT_ONCE));
}

size_t hz3_cache_held(void)
{
    return hz3_get(hz3_threads_several) && hz3_sleepers_can_be_emptied() ? hz3_budget_claimed() : 0;
}
