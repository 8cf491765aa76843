/* Proves that memory goes back to the system without any further call: after a burst, after threads ended, while all
 * threads sleep, and in a forked child.  A producer and a consumer do not hoard memory. */
#include <stdlib.h>
#include <string.h>

#include "churn.h"

enum { PATIENCE = 10, THREADS = 8, CACHE = MIB(2) }; /* CACHE: what a sleeping thread may keep */

static size_t size_of(size_t i)
{
    return i % 4000 ? 16 + i * 37 % 3000 : MIB(1);
}

struct burst {
    size_t count, bytes;
    void **p;
};

static void *take_burst(void *arg)
{
    struct burst *burst = (struct burst *)arg;
    for (size_t i = 0; i < burst->count; i++) {
        burst->p[i] = malloc(size_of(i));
        CHECK(burst->p[i] != NULL);
        memset(burst->p[i], 1, size_of(i));
        burst->bytes += size_of(i);
    }
    return NULL;
}

static void release_burst(struct burst *burst)
{
    for (size_t i = 0; i < burst->count; i++) free(burst->p[i]);
    free(burst->p);
}

static struct burst new_burst(size_t count)
{
    struct burst burst = {count, 0, malloc(count * sizeof(void *))};
    CHECK(burst.p != NULL);
    return burst;
}

/* Waits without calling malloc. */
static void expect_back(size_t before, size_t peak, size_t cached)
{
    size_t enough = before + (peak - before) / 10 + cached;
    double until = now() + PATIENCE;
    while (resident_bytes() > enough && now() < until) sleep_for(0.02);
    CHECK(resident_bytes() <= enough);
}

static void after_a_burst(void)
{
    size_t before = resident_bytes();
    struct burst burst = new_burst(150000);
    take_burst(&burst);
    size_t peak = resident_bytes();
    CHECK(peak - before > burst.bytes * 9 / 10);
    release_burst(&burst);
    expect_back(before, peak, 0);
}

static void after_threads_ended(void)
{
    size_t before = resident_bytes();
    struct burst bursts[THREADS];
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) {
        bursts[i] = new_burst(20000);
        threads[i] = start_thread(take_burst, &bursts[i]);
    }
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
    size_t peak = resident_bytes();
    CHECK(peak - before > THREADS * bursts[0].bytes * 9 / 10);
    for (size_t i = 0; i < THREADS; i++) release_burst(&bursts[i]);
    expect_back(before, peak, 0);
}

enum { LATE = 150000, LATE_BYTES = 1000 };

static void release_late(void *arg)
{
    void **p = (void **)arg;
    for (size_t i = 0; i < LATE; i++) free(p[i]);
}

static void *take_for_a_destructor(void *arg)
{
    void **p = (void **)arg;
    pthread_key_t key;
    CHECK(pthread_key_create(&key, release_late) == 0 && pthread_setspecific(key, p) == 0);
    for (size_t i = 0; i < LATE; i++) {
        CHECK((p[i] = malloc(LATE_BYTES)) != NULL);
        memset(p[i], 1, LATE_BYTES);
    }
    return arg;
}

/* Memory is freed by a destructor that runs after hz3's own. */
static void after_a_destructor(void)
{
    static void *p[LATE];
    memset(p, 1, sizeof p);
    size_t before = resident_bytes();
    join_thread(start_thread(take_for_a_destructor, p));
    expect_back(before, before + LATE * (size_t)LATE_BYTES, 0);
}

/* Opens when all threads have freed everything.  Then they sleep, like a pool without work. */
static pthread_barrier_t released;

static void *release_and_sleep(void *arg)
{
    release_burst((struct burst *)arg);
    pthread_barrier_wait(&released);
    for (;;) sleep_for(1);
    return NULL;
}

static void while_all_threads_sleep(void)
{
    size_t before = resident_bytes();
    struct burst bursts[THREADS];
    CHECK(pthread_barrier_init(&released, NULL, THREADS + 1) == 0);
    for (size_t i = 0; i < THREADS; i++) {
        bursts[i] = new_burst(20000);
        take_burst(&bursts[i]);
    }
    size_t peak = resident_bytes();
    for (size_t i = 0; i < THREADS; i++) start_thread(release_and_sleep, &bursts[i]);
    pthread_barrier_wait(&released);
    expect_back(before, peak, THREADS * CACHE);
}

/* Without a background thread, the program's own calls give memory back, as long as some of them take a slow path. */
static void in_passing(void)
{
    static void *some[200];
    size_t before = resident_bytes();
    struct burst burst = new_burst(150000);
    take_burst(&burst);
    size_t enough = before + (resident_bytes() - before) / 10;
    release_burst(&burst);
    for (double until = now() + PATIENCE; resident_bytes() > enough && now() < until; sleep_for(0.001)) {
        for (size_t i = 0; i < COUNT_OF(some); i++) some[i] = malloc(64);
        for (size_t i = 0; i < COUNT_OF(some); i++) free(some[i]);
    }
    CHECK(resident_bytes() <= enough);
}

enum { HOLDERS = 32, HELD_CLASSES = 8, HELD_EACH = 12 };
static pthread_barrier_t all_hold;

/* Few large objects are cached.  Once freed, they are in runs that the thread's heap still holds. */
static void *hold_and_release(void *arg)
{
    void *p[HELD_CLASSES][HELD_EACH];
    for (size_t c = 0; c < HELD_CLASSES; c++)
        for (size_t i = 0; i < HELD_EACH; i++) {
            CHECK((p[c][i] = malloc(KIB(36 + 4 * c))) != NULL);
            memset(p[c][i], 1, KIB(36 + 4 * c));
        }
    pthread_barrier_wait(&all_hold);
    for (size_t c = 0; c < HELD_CLASSES; c++)
        for (size_t i = 0; i < HELD_EACH; i++) free(p[c][i]);
    return arg;
}

static void what_heaps_hold(void)
{
    size_t before = resident_bytes();
    pthread_t threads[HOLDERS];
    CHECK(pthread_barrier_init(&all_hold, NULL, HOLDERS + 1) == 0);
    for (size_t i = 0; i < HOLDERS; i++) threads[i] = start_thread(hold_and_release, NULL);
    pthread_barrier_wait(&all_hold);
    for (size_t i = 0; i < HOLDERS; i++) join_thread(threads[i]);
    expect_back(before, before + (size_t)HOLDERS * HELD_CLASSES * HELD_EACH * KIB(50), 0);
}

/* Above the soft limit memory goes back at once, without waiting for its decay. */
static void above_the_limit(void)
{
    enum { COUNT = 12800, BYTES = 16384, LEFT = 16 };
    static void *p[COUNT];
    size_t before = resident_bytes();
    for (size_t i = 0; i < COUNT; i++) {
        CHECK((p[i] = malloc(BYTES)) != NULL);
        memset(p[i], 1, BYTES);
    }
    size_t enough = before + (resident_bytes() - before) / 4;
    for (size_t i = 0; i < COUNT; i++)
        if (i % LEFT) free(p[i]);
    for (double until = now() + PATIENCE; resident_bytes() > enough && now() < until; sleep_for(0.001)) {
        void *some[200];
        for (size_t i = 0; i < COUNT_OF(some); i++) some[i] = malloc(3000);
        for (size_t i = 0; i < COUNT_OF(some); i++) free(some[i]);
    }
    CHECK(resident_bytes() <= enough);
}

enum { RING = 4096 };
static void *ring[RING];
static bool finished;

static void *consume(void *arg)
{
    for (size_t i = 0; !__atomic_load_n(&finished, __ATOMIC_ACQUIRE); i++)
        free(__atomic_exchange_n(&ring[i % RING], NULL, __ATOMIC_ACQ_REL));
    return arg;
}

/* At most 4096 blocks of 532 bytes on average, 2 MiB, are live at any time. */
static void with_a_consumer(void)
{
    enum { MADE = 65536 };
    pthread_t consumer = start_thread(consume, NULL);
    size_t before = resident_bytes(), most = 0, made = 0;
    double start = now();
    for (size_t i = 0; now() < start + 2 || made <= MADE; i++) {
        if (__atomic_load_n(&ring[i % RING], __ATOMIC_ACQUIRE) != NULL) continue;
        size_t size = 16 + i * 37 % 1033;
        void *p = malloc(size);
        CHECK(p != NULL);
        memset(p, 1, size);
        __atomic_store_n(&ring[i % RING], p, __ATOMIC_RELEASE);
        if (++made % MADE == 0 && resident_bytes() > most) most = resident_bytes();
    }
    __atomic_store_n(&finished, true, __ATOMIC_RELEASE);
    join_thread(consumer);
    CHECK(most > 0 && most < before + MIB(16));
}

/* Whether at most so many threads are seen within two seconds after a burst of `count` blocks was freed, and sooner or
 * later so many. */
static bool threads_after(size_t count, size_t expected)
{
    struct burst burst = new_burst(count);
    take_burst(&burst);
    release_burst(&burst);
    size_t most = 1;
    for (double begun = now(); now() < begun + 2 || (most < expected && now() < begun + PATIENCE); sleep_for(0.01))
        if (status_number("Threads:") > most) most = status_number("Threads:");
    return most == expected;
}

static void *say_nothing(void *arg)
{
    return arg;
}

/* The background thread starts when 16 MiB or more are to go back, in a program that has had another thread.  A block
 * has 1.8 KiB on average. */
static void little_is_no_reason_for_a_thread(void)
{
    join_thread(start_thread(say_nothing, NULL));
    CHECK(status_number("Threads:") == 1);
    CHECK(threads_after(7000, 1));
    CHECK(threads_after(12000, 2));
    CHECK(threads_after(100000, 2));
}

static void in_a_child(void *arg)
{
    (void)arg;
    after_a_burst();
}

static void after_fork(void)
{
    expect_success(in_child(in_a_child, NULL), 30);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {
        {"burst", after_a_burst},
        {"threads", after_threads_ended},
        {"sleepers", while_all_threads_sleep},
        {"in_passing", in_passing},
        {"consumer", with_a_consumer},
        {"fork", after_fork},
        {"held", what_heaps_hold},
        {"limit", above_the_limit},
        {"little", little_is_no_reason_for_a_thread},
        {"destructor", after_a_destructor},
    };
    CHECK(argc == 2);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(argv[1], cases[i].name) == 0) {
            cases[i].run();
            return 0;
        }
    CHECK(!"a case of that name");
}
