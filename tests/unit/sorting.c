/* HZ3_OVERFLOW_SORT: where what one thread frees for several others goes. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/collector.h"
#include "front/remote_stash.h"
#include "front/thread_cache.h"
#include "middle/central.h"
#include "middle/owner_stash.h"

#include <pthread.h>

enum { SIZE = 256, EACH = 3000, MAKERS = 5 };

static struct maker {
    void *objects[EACH];
    unsigned owner;
    pthread_t thread;
} makers[MAKERS];
static int count; /* of the makers there are */
static pthread_barrier_t made, ended;

static void *make(void *arg)
{
    struct maker *maker = arg;
    for (int i = 0; i < EACH; i++) maker->objects[i] = hz3_cache_malloc(hz3_class_of(SIZE));
    maker->owner = hz3_thread.owner;
    pthread_barrier_wait(&made);
    pthread_barrier_wait(&ended); /* what is sent to a heap without threads would not go there */
    return NULL;
}

/* Objects of the maker's in its stash, of which there are no others. */
static unsigned came_home(const struct maker *maker, unsigned cls)
{
    unsigned objects = 0;
    for (struct hz3_magazine *magazine; (magazine = hz3_owner_stash_pop_magazine(maker->owner, cls));) {
        for (unsigned i = magazine->header.floor + 1u; i <= magazine->header.top; i++, objects++)
            assert_int_equal(hz3_owner_at(magazine->word[i]), maker->owner);
        hz3_central_take_apart(cls, magazine);
    }
    return objects;
}

static void begin(unsigned cpus, int how_many)
{
    hz3_os.cpus = cpus;
    count = how_many;
    assert_int_equal(pthread_barrier_init(&made, NULL, (unsigned)count + 1), 0);
    assert_int_equal(pthread_barrier_init(&ended, NULL, (unsigned)count + 1), 0);
    for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&makers[i].thread, NULL, make, &makers[i]), 0);
    pthread_barrier_wait(&made);
    assert_int_not_equal(makers[0].owner, makers[1].owner);
}

/* Returns how many of their objects were in the makers' stashes. */
static unsigned end(void)
{
    unsigned home = 0;
    assert_true(!hz3_stock || hz3_stock->outgoing_room <= hz3_thread.reserved);
    for (int i = 0; i < count; i++) home += came_home(&makers[i], hz3_class_of(SIZE));
    hz3_cache_flush();
    assert_true(!hz3_stock || !hz3_stock->outgoing_room);
    pthread_barrier_wait(&ended);
    for (int i = 0; i < count; i++) assert_int_equal(pthread_join(makers[i].thread, NULL), 0);
    hz3_collector_run(true);
    return home;
}

/* By turns. */
static void free_from(int first, int last)
{
    for (int i = first; i < last; i++)
        for (int j = 0; j < count; j++) hz3_cache_free(makers[j].objects[i], hz3_class_of(SIZE));
}

static void who_only_frees_sends_each_its_own(void **state)
{
    (void)state;
    begin(16, 2);
    free_from(0, EACH);
    unsigned home = end();
    assert_true(HZ3_OVERFLOW_SORT ? home > EACH : !home);
}

static void with_two_processors_it_would_not_pay(void **state)
{
    (void)state;
    begin(2, 2);
    free_from(0, EACH);
    unsigned home = end();
    assert_true(HZ3_OVERFLOW_SORT == 1 ? home > 0 : !home);
}

static void of_many_owners_it_would_not_pay_either(void **state)
{
    (void)state;
    begin(16, MAKERS);
    free_from(0, EACH);
    unsigned home = end();
    assert_true(HZ3_OVERFLOW_SORT == 1 ? home > 0 : !home);
}

static void who_allocates_too_keeps_them(void **state)
{
    (void)state;
    enum { AT_ONCE = 50 };
    begin(16, 2);
    for (int first = 0; first < EACH; first += AT_ONCE) {
        free_from(first, first + AT_ONCE);
        for (int i = first; i < first + AT_ONCE; i++)
            for (int j = 0; j < count; j++) makers[j].objects[i] = hz3_cache_malloc(hz3_class_of(SIZE));
    }
    unsigned home = end();
    assert_true(HZ3_OVERFLOW_SORT == 1 || !home);
    for (int i = 0; i < EACH; i++)
        for (int j = 0; j < count; j++) hz3_central_retire(hz3_class_of(SIZE), &makers[j].objects[i], 1);
}

/* The collector does not come by, and each thread has a heap of its own. */
static int start(void **state)
{
    (void)state;
    hz3_collector_start(7200 * 1000, false);
    hz3_heap_count = MAKERS + 1;
    return 0;
}

#define READY(test) cmocka_unit_test_setup(test, start)
RUN(READY(who_only_frees_sends_each_its_own), READY(with_two_processors_it_would_not_pay),
    READY(of_many_owners_it_would_not_pay_either), READY(who_allocates_too_keeps_them))
