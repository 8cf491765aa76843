/* Refill tries its sources in the documented order, and takes what each of them has. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/evict.h"
#include "front/refill.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"

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

/* Takes n objects.  Afterwards the class has capacity, and its magazines and transfer cache are empty. */
static void take(unsigned cls, void **objects, unsigned n)
{
    hz3_cache_free(hz3_cache_malloc(cls), cls); /* objects of a page and more earn capacity by turns */
    for (unsigned i = 0; i < n; i++) assert_non_null(objects[i] = hz3_cache_malloc(cls));
    hz3_cache_flush();
    hz3_transfer_trim(cls, true);
    assert_true(hz3_thread.cache.capacity[cls] > 0);
}

static void leave_in_the_transfer_cache(unsigned cls, void **objects, unsigned n)
{
    struct hz3_magazine *magazine = hz3_magazine_get(cls);
    void **top = hz3_magazine_open(magazine, n);
    for (unsigned i = 0; i < n; i++) *++top = objects[i];
    assert_true(hz3_transfer_push(cls, hz3_magazine_close(top)));
}

static bool leave_in_the_stash(unsigned owner, unsigned cls, void *object)
{
    struct hz3_magazine *magazine = hz3_magazine_get(cls);
    void **top = hz3_magazine_open(magazine, 1);
    *++top = object;
    if (hz3_owner_stash_push(owner, cls, hz3_magazine_close(top))) return true;
    hz3_magazine_put(cls, magazine);
    return false;
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
    bool left = leave_in_the_stash(hz3_thread.cache.owner, cls, objects[0]);
    assert_int_equal(left, HZ3_S44_OWNER_STASH);
    leave_in_the_transfer_cache(cls, &objects[1], 1);
    struct hz3_cache_stats before = hz3_thread.cache.stats;
    if (left) {
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

static void what_lies_for_others_is_stolen_before_there_is_a_new_run(void **state)
{
    (void)state;
    if (!HZ3_S44_OWNER_STASH) return;
    enum { MANY = 4096 };
    static void *kept[MANY];
    unsigned cls = hz3_class_of(16384), n = 0;
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
    assert_true(leave_in_the_stash((unsigned)(uintptr_t)other, cls, kept[0]));
    uint64_t before = hz3_thread.cache.stats.stolen;
    assert_true(refill(cls));
    assert_int_equal(hz3_thread.cache.stats.stolen, before + 1);
    assert_ptr_equal(hz3_cache_malloc(cls), kept[0]);
    uint64_t fresh = hz3_thread.cache.stats.fresh;
    assert_true(refill(cls));
    assert_int_equal(hz3_thread.cache.stats.fresh, fresh + 1);
    hz3_cache_flush();
    hz3_central_retire(cls, kept, n);
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
    cmocka_unit_test(runs_fill_as_much_as_the_class_may_hold),
    cmocka_unit_test(what_lies_for_others_is_stolen_before_there_is_a_new_run),
    cmocka_unit_test(during_a_fork_there_is_the_transfer_cache_only),
    cmocka_unit_test(what_has_no_room_during_a_fork_stays_the_caller_s))
