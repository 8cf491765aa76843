/* HZ3_OVERFLOW_SORT: where what one thread frees for several others goes.  No lane has it on: tests/lanes builds this.
 */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/collector.h"
#include "front/remote_stash.h"
#include "front/thread_cache.h"
#include "middle/central.h"
#include "middle/owner_stash.h"

#include <pthread.h>

enum { SIZE = 256, EACH = 1500, MAKERS = 5 };

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

static void begin(unsigned cpus, int how_many)
{
    hz3_os.cpus = cpus;
    count = how_many;
    assert_int_equal(pthread_barrier_init(&made, NULL, (unsigned)count + 1), 0);
    assert_int_equal(pthread_barrier_init(&ended, NULL, (unsigned)count + 1), 0);
    for (int i = 0; i < count; i++) assert_int_equal(pthread_create(&makers[i].thread, NULL, make, &makers[i]), 0);
    pthread_barrier_wait(&made);
}

/* By turns. */
static void free_from(int first, int last)
{
    for (int i = first; i < last; i++)
        for (int j = 0; j < count; j++) hz3_cache_free(makers[j].objects[i], hz3_class_of(SIZE));
}

/* How many objects came to the maker's stash, which are all its own. */
static int came_home(const struct maker *maker)
{
    unsigned cls = hz3_class_of(SIZE);
    int objects = 0;
    for (struct hz3_magazine *magazine; (magazine = hz3_owner_stash_pop_magazine(maker->owner, cls));) {
        for (unsigned i = magazine->header.floor + 1u; i <= magazine->header.top; i++, objects++)
            assert_int_equal(hz3_owner_at(magazine->word[i]), maker->owner);
        hz3_central_take_apart(cls, magazine);
    }
    return objects;
}

/* The makers end.  Each found at least and at most so many in its stash. */
static void end(int least, int most)
{
    for (int i = 0; i < count; i++) assert_in_range(came_home(&makers[i]), least, most);
    hz3_cache_flush();
    pthread_barrier_wait(&ended);
    for (int i = 0; i < count; i++) assert_int_equal(pthread_join(makers[i].thread, NULL), 0);
    hz3_collector_run(true);
}

enum { NEARLY_ALL = EACH * 8 / 10 };

static void who_only_frees_sends_each_its_own(void **state)
{
    (void)state;
    for (int owners = 2; owners <= 4; owners++) {
        begin(16, owners);
        free_from(0, EACH);
        end(HZ3_OVERFLOW_SORT ? NEARLY_ALL : 0, HZ3_OVERFLOW_SORT ? EACH : 0);
    }
}

static void what_is_its_own_it_keeps(void **state)
{
    (void)state;
    static void *own[EACH];
    struct maker self = {.owner = hz3_thread.owner};
    for (int i = 0; i < EACH; i++) own[i] = hz3_cache_malloc(hz3_class_of(SIZE));
    begin(16, 2);
    for (int i = 0; i < EACH; i++) {
        free_from(i, i + 1);
        hz3_cache_free(own[i], hz3_class_of(SIZE));
    }
    assert_int_equal(came_home(&self), 0);
    end(HZ3_OVERFLOW_SORT ? NEARLY_ALL : 0, HZ3_OVERFLOW_SORT ? EACH : 0);
}

static void with_two_processors_it_would_not_pay(void **state)
{
    (void)state;
    begin(2, 2);
    free_from(0, EACH);
    end(HZ3_OVERFLOW_SORT == 1 ? NEARLY_ALL : 0, HZ3_OVERFLOW_SORT == 1 ? EACH : 0);
}

static void of_many_owners_it_would_not_pay_either(void **state)
{
    (void)state;
    begin(16, MAKERS);
    free_from(0, EACH);
    end(HZ3_OVERFLOW_SORT == 1 ? NEARLY_ALL : 0, HZ3_OVERFLOW_SORT == 1 ? EACH : 0);
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
    end(0, HZ3_OVERFLOW_SORT == 1 ? EACH : 0);
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
RUN(READY(who_only_frees_sends_each_its_own), READY(what_is_its_own_it_keeps),
    READY(with_two_processors_it_would_not_pay), READY(of_many_owners_it_would_not_pay_either),
    READY(who_allocates_too_keeps_them))
