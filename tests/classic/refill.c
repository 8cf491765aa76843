/* Refill tries its sources in the documented order, and takes what each of them has. */
#include "../unit/unit.h"

#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/evict.h"
#include "front/outgoing.h"
#include "front/refill.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"
#include HZ3_CENTRAL_LOCAL_H

#include <pthread.h>

/* One refill.  The thread's magazines of the class have to be empty. */
static bool refill(unsigned cls)
{
    hz3_gate_enter();
    assert_true(hz3_cache_enter());
    assert_true(hz3_is_empty(hz3_thread.cache.top[cls]));
    bool filled = hz3_refill(&hz3_thread, cls);
    hz3_cache_leave();
    hz3_gate_leave();
    return filled;
}

static unsigned loaded(unsigned cls)
{
    return hz3_is_stub(hz3_thread.cache.top[cls]) ? 0 : (unsigned)hz3_magazine_objects(hz3_thread.cache.top[cls]);
}

/* Takes n objects.  Afterwards the class has capacity, and its magazines, transfer cache and central are empty. */
static void take(unsigned cls, void **objects, unsigned n)
{
    for (unsigned i = 0; i < n; i++) assert_non_null(objects[i] = hz3_cache_malloc(cls));
    hz3_cache_flush();
    hz3_transfer_trim(cls, true);
    hz3_owner_stash_trim(cls, true); /* and central */
    assert_true(hz3_thread.cache.capacity[cls] > 0);
}

static void leave_in_the_transfer_cache(unsigned cls, void **objects, unsigned n)
{
    struct hz3_magazine *magazine = hz3_magazine_get(cls);
    void **top = hz3_magazine_open(magazine, n);
    for (unsigned i = 0; i < n; i++) *++top = objects[i];
    assert_true(hz3_transfer_push(cls, hz3_magazine_close(top)));
}

static void a_magazine_of_the_transfer_cache_is_taken_whole(void **state)
{
    (void)state;
    enum { N = 5 };
    unsigned cls = hz3_class_of(320);
    void *objects[N];
    take(cls, objects, N);
    leave_in_the_transfer_cache(cls, objects, N);
    uint64_t before = hz3_thread.cache.stats.transfer;
    assert_true(refill(cls));
    assert_int_equal(hz3_thread.cache.stats.transfer, before + 1);
    assert_int_equal(loaded(cls), N);
    for (unsigned i = N; i--;) assert_ptr_equal(hz3_cache_malloc(cls), objects[i]);
    assert_int_equal(loaded(cls), 0);
    for (unsigned i = 0; i < N; i++) hz3_cache_free(objects[i], cls);
    hz3_cache_flush();
}

static void what_others_left_for_this_heap_comes_before(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(352);
    void *objects[2];
    take(cls, objects, 2);
    bool left = hz3_owner_stash_push_one(hz3_thread.cache.owner, cls, objects[0]);
    assert_int_equal(left, HZ3_STASH_PUSHES);
    leave_in_the_transfer_cache(cls, &objects[1], 1);
    struct hz3_cache_stats before = hz3_thread.cache.stats;
    if (left && HZ3_STASH_POPS) {
        assert_true(refill(cls));
        assert_int_equal(hz3_thread.cache.stats.stash, before.stash + 1);
        assert_int_equal(hz3_thread.cache.stats.transfer, before.transfer);
        assert_ptr_equal(hz3_cache_malloc(cls), objects[0]);
    }
    assert_true(refill(cls));
    assert_int_equal(hz3_thread.cache.stats.transfer, before.transfer + 1);
    assert_ptr_equal(hz3_cache_malloc(cls), objects[1]);
    for (unsigned i = 0; i < 2; i++) hz3_cache_free(objects[i], cls);
    hz3_cache_flush();
}

static void runs_fill_as_much_as_the_class_may_hold(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(384), n;
    void *first, *objects[2 * HZ3_MAGAZINE_LAST];
    take(cls, &first, 1);
    struct hz3_cache_stats before = hz3_thread.cache.stats;
    assert_true(refill(cls));
    assert_int_equal(hz3_thread.cache.stats.held + hz3_thread.cache.stats.central + hz3_thread.cache.stats.fresh,
                     before.held + before.central + before.fresh + 1);
    assert_in_range(loaded(cls), 1, hz3_thread.cache.capacity[cls]);
    for (n = 0; !hz3_is_empty(hz3_thread.cache.top[cls]); n++) {
        objects[n] = hz3_cache_malloc(cls);
        assert_int_equal(hz3_class_at(objects[n]), cls);
        assert_int_equal(hz3_owner_at(objects[n]), hz3_thread.cache.owner);
        for (unsigned i = 0; i < n; i++) assert_ptr_not_equal(objects[i], objects[n]);
        assert_ptr_not_equal(objects[n], first);
    }
    while (n) hz3_cache_free(objects[--n], cls);
    hz3_cache_free(first, cls);
    hz3_cache_flush();
}

static void *join_another_heap(void *cls)
{
    void *p = hz3_cache_malloc(*(unsigned *)cls);
    assert_non_null(p);
    hz3_cache_free(p, *(unsigned *)cls);
    return (void *)(uintptr_t)hz3_thread.cache.owner;
}

static void what_lies_for_others_is_left_to_them(void **state)
{
    (void)state;
    if (!HZ3_STASH_PUSHES || !HZ3_STASH_POPS) return;
    enum { MANY = 4096 };
    static void *kept[MANY];
    unsigned cls = hz3_class_of(HZ3_UNIT * HZ3_SMALL_NUM_SC), n = 0;
    pthread_t thread;
    void *other;
    assert_int_equal(pthread_create(&thread, NULL, join_another_heap, &cls), 0);
    pthread_join(thread, &other);
    assert_int_not_equal((uintptr_t)other, hz3_thread.cache.owner);
    take(cls, kept, 2);
    enum hz3_refill_source source;
    for (n = 2; n < MANY && hz3_central_refill(hz3_thread.heap, cls, &kept[n], 1, false, &source); n++) {
    }
    assert_in_range(n, 2, MANY - 1); /* no run has room any more */
    unsigned owner = (unsigned)(uintptr_t)other;
    assert_true(hz3_owner_stash_push_one(owner, cls, kept[0]));
    uint64_t fresh = hz3_thread.cache.stats.fresh;
    assert_true(refill(cls));
    assert_int_equal(hz3_thread.cache.stats.fresh, fresh + 1);
    assert_true(hz3_owner_stash_has_pending(owner, cls));
    hz3_owner_stash_trim(cls, true);
    hz3_cache_flush();
    hz3_central_retire(cls, kept + 1, n - 1);
}

/* An allocation that finds nothing first sends home HZ3_REMOTE_FLUSH_BUDGET of the objects that wait with the thread.
 */
static void a_refill_flushes_first(void **state)
{
    (void)state;
    enum { WAIT = 50 };
    unsigned cls = hz3_class_of(80), sent = hz3_min(WAIT, HZ3_REMOTE_FLUSH_BUDGET), owner;
    void *objects[WAIT];
    if (!HZ3_REMOTE_STASH_SPARSE || !HZ3_STASH_PUSHES) return;
    take(cls, objects, WAIT);
    owner = hz3_thread.cache.owner;
    hz3_gate_enter();
    assert_true(hz3_cache_enter());
    for (unsigned i = 0; i < WAIT; i++) hz3_outgoing_put(hz3_outbox_get(), objects[i], cls, owner);
    hz3_cache_leave();
    hz3_gate_leave();
    assert_int_equal(hz3_outgoing_objects(hz3_outbox, cls), WAIT);
    assert_true(refill(hz3_class_of(96)));
    assert_int_equal(hz3_outgoing_objects(hz3_outbox, cls), WAIT - sent);
    assert_int_equal(hz3_owner_stash_objects(cls), sent);
    hz3_cache_flush();
    hz3_owner_stash_trim(cls, true);
}

/* Work order S145-A: the cache before central is this thread's as long as nobody else has its shard. */
static void what_was_kept_goes_to_central_at_a_collision(void **state)
{
    (void)state;
    enum { N = 4 };
    unsigned cls = hz3_class_of(1984);
    void *objects[N];
    if (!HZ3_S145_CENTRAL_LOCAL_CACHE) return;
    take(cls, objects, N);
    hz3_kept_put(cls, objects, 2);
    assert_true(refill(cls));
    assert_int_equal(loaded(cls), 2);
    for (unsigned i = 0; i < 2; i++) assert_ptr_equal(hz3_cache_malloc(cls), objects[i]);
    hz3_kept_put(cls, objects, N);
    hz3_add(hz3_thread.heap->threads, 1);
    assert_true(refill(cls));
    hz3_sub(hz3_thread.heap->threads, 1);
    assert_int_equal(hz3_kept_objects(hz3_outbox, cls), 0);
    assert_int_equal(loaded(cls), N); /* it came back by way of central */
    hz3_cache_flush();
}

/* Work order S145-A: it is for 128 classes. */
static void of_larger_classes_nothing_is_kept(void **state)
{
    (void)state;
    unsigned cls = HZ3_SMALL_NUM_SC + 1;
    void *object;
    if (!HZ3_S145_CENTRAL_LOCAL_CACHE) return;
    take(cls, &object, 1);
    uint64_t before = hz3_get(hz3_thread.heap->taken[cls]);
    assert_true(refill(cls));
    assert_in_range(hz3_get(hz3_thread.heap->taken[cls]) - before, 1, 2 * hz3_thread.cache.capacity[cls]);
    assert_int_equal(hz3_kept_objects(hz3_outbox_get(), cls), 0);
    hz3_cache_free(object, cls);
    hz3_cache_flush();
}

static void *join_and_stay(void *barriers)
{
    pthread_barrier_t *barrier = barriers;
    hz3_cache_free(hz3_cache_malloc(1), 1);
    unsigned owner = hz3_thread.cache.owner;
    pthread_barrier_wait(&barrier[0]);
    pthread_barrier_wait(&barrier[1]);
    return (void *)(uintptr_t)owner;
}

static void threads_share_no_shard_before_the_64th(void **state)
{
    (void)state;
    enum { THREADS = 63 };
    pthread_t thread[THREADS];
    pthread_barrier_t barrier[2];
    unsigned users[HZ3_NUM_SHARDS] = {0};
    if (HZ3_NUM_SHARDS != 63) return;
    assert_int_equal(hz3_heap_count, 63);
    for (int i = 0; i < 2; i++) pthread_barrier_init(&barrier[i], NULL, THREADS + 1);
    users[hz3_thread.cache.owner]++;
    for (int i = 0; i < THREADS; i++) assert_int_equal(pthread_create(&thread[i], NULL, join_and_stay, barrier), 0);
    for (int i = 0; i < 2; i++) pthread_barrier_wait(&barrier[i]);
    for (int i = 0; i < THREADS; i++) {
        void *owner;
        pthread_join(thread[i], &owner);
        users[(uintptr_t)owner]++;
    }
    unsigned shared = 0;
    for (int i = 0; i < 63; i++) {
        assert_in_range(users[i], 1, 2);
        shared += users[i] == 2;
    }
    assert_int_equal(shared, 1);
}

static void during_a_fork_there_is_the_transfer_cache_only(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(448);
    void *object;
    take(cls, &object, 1);
    assert_false(hz3_refill_during_fork(&hz3_thread, cls));
    leave_in_the_transfer_cache(cls, &object, 1);
    assert_true(hz3_refill_during_fork(&hz3_thread, cls));
    assert_ptr_equal(hz3_cache_malloc(cls), object);
    hz3_cache_free(object, cls);
    hz3_cache_flush();
}

/* So that it is freed when the fork is over. */
static void what_has_no_room_during_a_fork_stays_the_caller_s(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(8192);
    void *object;
    take(cls, &object, 1);
    unsigned empty = 0;
    while (hz3_transfer_push_anyway(cls, hz3_magazine_close(hz3_magazine_open(hz3_magazine_get(cls), 1)))) empty++;
    assert_int_equal(empty, HZ3_STACK_MAX);
    hz3_magazine_stock_up();
    assert_false(hz3_cache_free_during_fork(object, cls));
    struct hz3_magazine *magazine;
    for (; (magazine = hz3_transfer_pop(cls)); empty--) hz3_magazine_put(cls, magazine);
    assert_int_equal(empty, 0);
    assert_true(hz3_cache_free_during_fork(object, cls));
    magazine = hz3_transfer_pop(cls);
    assert_ptr_equal(magazine->word[HZ3_MAGAZINE_LAST], object);
    hz3_central_take_apart(cls, magazine);
}

RUN(cmocka_unit_test(a_magazine_of_the_transfer_cache_is_taken_whole),
    cmocka_unit_test(what_others_left_for_this_heap_comes_before),
    cmocka_unit_test(runs_fill_as_much_as_the_class_may_hold), cmocka_unit_test(what_lies_for_others_is_left_to_them),
    cmocka_unit_test(a_refill_flushes_first), cmocka_unit_test(what_was_kept_goes_to_central_at_a_collision),
    cmocka_unit_test(of_larger_classes_nothing_is_kept), cmocka_unit_test(threads_share_no_shard_before_the_64th),
    cmocka_unit_test(during_a_fork_there_is_the_transfer_cache_only),
    cmocka_unit_test(what_has_no_room_during_a_fork_stays_the_caller_s))
