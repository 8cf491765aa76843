/* Threads at work whose caches are emptied again and again share no object and no magazine, wherever they are stopped.
 */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/cache.h"
#include "hz3.h"
#include HZ3_SECURE_H

#include <signal.h>
#include <time.h>

#include "support.h"
#include "visit.h"

enum { SIZES = 4, OBJECTS = 40, THREADS = 3, LEAST_VISITS = 100 };
static const size_t size_of[SIZES] = {64, 512, 3000, 20000};
static bool stop;

/* Else visits would be few. */
bool __wrap_hz3_os_is_asleep(int thread, const void *stack_end);
bool __wrap_hz3_os_is_asleep(int thread, const void *stack_end)
{
    (void)thread, (void)stack_end;
    return false;
}

/* An object that two threads hold at once does not keep the pattern of the first.  Some go from thread to thread. */
static HZ3_ATOMIC(void *) shared[SIZES];
struct held {
    void *p;
    uint64_t id;
};

static void hold(struct held *held, void *p, uint64_t id)
{
    *held = (struct held){p, id};
    if (p) fill(p, 64, id);
}

static void give(void *p, unsigned cls)
{
    hz3_seal_wipe(p, cls); /* as what is free has to be in lane secure */
    hz3_cache_free(p, cls);
}

static void *churn(void *number)
{
    uint64_t seed = (uintptr_t)number, id = seed << 32;
    struct held held[SIZES][OBJECTS] = {0};
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        uint64_t random = next_random(&seed);
        unsigned size = random % SIZES, cls = hz3_class_of(size_of[size]);
        struct held *one = &held[size][(random >> 8) % OBJECTS];
        CHECK(!one->p || is_filled(one->p, 64, one->id));
        if (one->p) give(one->p, cls);
        hold(one, hz3_cache_malloc(cls), ++id);
        if (random >> 32 & 1) hold(one, hz3_exchange(shared[size], one->p, memory_order_acq_rel), ++id);
    }
    for (unsigned size = 0; size < SIZES; size++)
        for (int i = 0; i < OBJECTS; i++) {
            CHECK(!held[size][i].p || is_filled(held[size][i].p, 64, held[size][i].id));
            if (held[size][i].p) give(held[size][i].p, hz3_class_of(size_of[size]));
        }
    return NULL;
}

static void threads_that_run_are_visited_in_vain_or_well(void **state)
{
    (void)state;
    pthread_t threads[THREADS];
    unsigned emptied = 0;
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    for (uintptr_t i = 0; i < THREADS; i++) threads[i] = start_thread(churn, (void *)(i + 1));
    for (double begun = now(); now() < begun + 1 || (emptied <= LEAST_VISITS && now() < begun + 20);)
        emptied += visit_all();
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (uintptr_t i = 0; i < THREADS; i++) join_thread(threads[i]);
    for (unsigned size = 0; size < SIZES; size++)
        if (shared[size]) give(shared[size], hz3_class_of(size_of[size]));
    assert_true(emptied > LEAST_VISITS);
}

/* ---- a thread that a signal stops anywhere in an exchange ---- */

enum { WAVE = 45, PAUSE_NS = 300000 };

static void pause_here(int signal)
{
    (void)signal;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
}

/* Each wave goes to and fro across the end of a magazine. */
static void *make_waves(void *size)
{
    char *wave[WAVE];
    for (uint64_t id = (uintptr_t)&wave; !__atomic_load_n(&stop, __ATOMIC_RELAXED); id += WAVE) {
        for (size_t i = 0; i < WAVE; i++) {
            CHECK((wave[i] = hz3_malloc((uintptr_t)size)) != NULL);
            fill(wave[i], 64, id + i);
        }
        for (size_t i = 0; i < WAVE; i++) {
            CHECK(is_filled(wave[i], 64, id + i));
            hz3_free(wave[i]);
        }
    }
    return NULL;
}

static void who_is_stopped_in_an_exchange_shares_no_magazine(void **state)
{
    (void)state;
    static const uintptr_t sizes[] = {512, 512, 3000};
    pthread_t threads[COUNT_OF(sizes)];
    if (!hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    assert_int_equal(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = pause_here}, NULL), 0);
    stop = false;
    for (size_t i = 0; i < COUNT_OF(sizes); i++) threads[i] = start_thread(make_waves, (void *)sizes[i]);
    for (double begun = now(); now() < begun + 2;) {
        assert_int_equal(pthread_kill(threads[0], SIGUSR1), 0);
        for (int i = 0; i < 10; i++) visit_all();
    }
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) join_thread(threads[i]);
}

RUN(cmocka_unit_test(threads_that_run_are_visited_in_vain_or_well),
    cmocka_unit_test(who_is_stopped_in_an_exchange_shares_no_magazine))
