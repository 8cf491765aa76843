/* Some threads allocate objects and others free them, all the time.  Resident memory has to stay near what is live and
 * what may be cached.
 *
 *     patterns PRODUCERS CONSUMERS SECONDS     a producer's objects go to the consumers in turn
 *     patterns ring THREADS SECONDS            each thread frees what the one before it allocated
 *
 * Prints peak_rss (beyond what was resident at the start), peak_live and cached (the most that caches of all kinds may
 * hold, as configured) in bytes, and the number of objects that passed. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/init.h"
#include "api/options.h"
#include "base/sizeclass.h"
#include "hz3.h"
#include "middle/outbox.h"
#include "support.h"

#ifdef HZ3_S67_SPILL_ARRAY /* a flag of lane classic's */
enum { SPILLED = HZ3_S67_SPILL_ARRAY * (HZ3_MAGAZINE_LAST - 1) };
#else
enum { SPILLED = 0 };
#endif

enum { MOST = 8, SLOTS = 4096, LEAST_SIZE = 16, MOST_SIZE = 2048 };

/* Has one sender and one receiver.  A slot that is NULL is free. */
struct channel {
    void *_Atomic slot[SLOTS];
};

/* [from][to] */
static struct channel channels[MOST][MOST];
static _Atomic bool over;
static _Atomic size_t live, most_live, passed;
static size_t producers, consumers;

static void *make(uint64_t *seed)
{
    size_t size = LEAST_SIZE + next_random(seed) % (MOST_SIZE - LEAST_SIZE + 1);
    char *p = hz3_malloc(size);
    CHECK(p != NULL);
    memset(p, 1, size);
    size_t usable = hz3_malloc_usable_size(p), now = atomic_fetch_add(&live, usable) + usable, most = most_live;
    while (now > most && !atomic_compare_exchange_weak(&most_live, &most, now)) continue;
    return p;
}

static void drop(void *p)
{
    atomic_fetch_sub(&live, hz3_malloc_usable_size(p));
    atomic_fetch_add(&passed, 1);
    hz3_free(p);
}

/* Fills free slots of the channel, from *at on. */
static void send(struct channel *channel, size_t *at, uint64_t *seed)
{
    for (int i = 0; i < SLOTS / 4 && !channel->slot[*at % SLOTS]; i++) channel->slot[(*at)++ % SLOTS] = make(seed);
}

static void receive(struct channel *channel, size_t *at)
{
    void *p;
    for (int i = 0; i < SLOTS / 4 && (p = channel->slot[*at % SLOTS]); i++) {
        channel->slot[(*at)++ % SLOTS] = NULL;
        drop(p);
    }
}

static void *produce(void *arg)
{
    size_t me = (size_t)arg, at[MOST] = {0};
    uint64_t seed = me;
    for (; !over; sched_yield())
        for (size_t to = 0; to < consumers; to++) send(&channels[me][to], &at[to], &seed);
    return NULL;
}

static void *consume(void *arg)
{
    size_t me = (size_t)arg, at[MOST] = {0};
    for (; !over; sched_yield())
        for (size_t from = 0; from < producers; from++) receive(&channels[from][me], &at[from]);
    return NULL;
}

static void *pass_on(void *arg)
{
    size_t me = (size_t)arg, sent = 0, received = 0;
    uint64_t seed = me;
    for (; !over; sched_yield()) {
        send(&channels[me][0], &sent, &seed);
        receive(&channels[(me + producers - 1) % producers][0], &received);
    }
    return NULL;
}

static size_t may_be_cached(size_t threads)
{
    enum { FIRST_MAGAZINE = 1024, TRANSFER_MAGAZINES = 4 };
    size_t in_thread = 0, in_transfer = 0, in_stash = hz3_max(MIB(1), most_live / 8);
    for (unsigned cls = 1; cls <= hz3_class_of(MOST_SIZE); cls++) {
        size_t bytes = hz3_class_size(cls), magazine = bytes * hz3_class_info[cls].load;
        in_thread += 2 * hz3_max((size_t)FIRST_MAGAZINE, bytes) + SPILLED * bytes;
        in_transfer += hz3_max(hz3_options.TRANSFER_CACHE, TRANSFER_MAGAZINES * magazine);
    }
    return hz3_options.CACHE_TOTAL + in_transfer + threads * (in_thread + (HZ3_S44_OWNER_STASH ? in_stash : 0));
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    bool ring = !strcmp(argv[1], "ring");
    producers = strtoul(argv[ring ? 2 : 1], NULL, 10);
    consumers = ring ? 0 : strtoul(argv[2], NULL, 10);
    CHECK(producers <= MOST && consumers <= MOST);
    hz3_ensure_started();
    pthread_t threads[2 * MOST];
    size_t before = resident_bytes(), peak = 0, n = 0;
    for (size_t i = 0; i < producers; i++) threads[n++] = start_thread(ring ? pass_on : produce, (void *)i);
    for (size_t i = 0; i < consumers; i++) threads[n++] = start_thread(consume, (void *)i);
    for (double until = now() + atof(argv[3]); now() < until; sleep_for(0.005)) {
        size_t resident = resident_bytes();
        if (resident > peak) peak = resident;
    }
    over = true;
    size_t cached = may_be_cached(n);
    while (n) join_thread(threads[--n]);
    printf("peak_rss=%zu peak_live=%zu cached=%zu passed=%zu\n", peak - before, (size_t)most_live, cached,
           (size_t)passed);
}
