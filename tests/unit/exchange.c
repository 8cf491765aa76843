/* Exchanges without a lock: they keep every object, touch nothing shared where two magazines are enough, and leave the
 * rest to the slow path. */
#include "allocated.h"
#include "unit.h"

#include "front/evict.h"
#include "front/exchange.h"
#include "os/gate.h"
#include HZ3_SEAL_H

#include <pthread.h>

#include "earn.h"

enum { WAVES = 50, MOST = 400 };
static void *objects[MOST];
static unsigned exchanged, slow; /* calls for which an exchange was enough, and not */

static void *take(unsigned cls)
{
    if (!hz3_is_empty(hz3_thread.cache.top[cls])) return hz3_cache_malloc(cls);
    void *p = hz3_exchange_malloc(cls);
    *(p ? &exchanged : &slow) += 1;
    return p ? p : hz3_cache_malloc(cls);
}

static void give(void *p, unsigned cls)
{
    hz3_seal_wipe(p, cls); /* as what is free has to be in lane secure */
    bool full = hz3_is_full(hz3_thread.cache.top[cls]), done = full && hz3_exchange_free(p, cls);
    if (full) *(done ? &exchanged : &slow) += 1;
    if (!done) hz3_cache_free(p, cls);
}

static void waves(unsigned cls, unsigned n)
{
    exchanged = slow = 0;
    for (int wave = 0; wave < WAVES; wave++) {
        for (unsigned i = 0; i < n; i++) memset(objects[i] = take(cls), (int)i, 8);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal(*(unsigned char *)objects[i], (unsigned char)i); /* nobody else has it */
            give(objects[i], cls);
        }
    }
}

static void a_wave_that_fits_changes_magazines_only(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), load = capacity_earned(cls);
    size_t before = allocated();
    waves(cls, 2 * load - 2);
    struct hz3_cache_stats stats = hz3_thread.cache.stats;
    waves(cls, 2 * load - 2);
    assert_int_equal(hz3_thread.cache.stats.transfer, stats.transfer);
    assert_int_equal(hz3_thread.cache.stats.overflow, stats.overflow);
    assert_true(exchanged >= WAVES);
    assert_true(slow <= exchanged / 4); /* each eighth swap counts as a miss */
    assert_int_equal(allocated(), before);
    hz3_cache_flush();
}

static void few_of_the_others_need_the_slow_path(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    capacity_earned(cls);
    size_t before = allocated();
    waves(cls, MOST);
    assert_true(exchanged > 8 * WAVES);
    assert_true(slow <= exchanged / 8);
    assert_int_equal(allocated(), before);
    hz3_cache_flush();
    assert_int_equal(hz3_cache_objects(cls), 0);
    assert_int_equal(allocated(), before);
}

static void nothing_is_exchanged_while_the_gate_is_closed(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    capacity_earned(cls);
    hz3_gate_close();
    unsigned left = 0;
    while (left < MOST && (objects[left] = hz3_exchange_malloc(cls))) left++;
    uint64_t taken = hz3_thread.cache.stats.transfer;
    hz3_gate_open();
    for (unsigned i = 0; i < left; i++) hz3_cache_free(objects[i], cls);
    assert_int_equal(hz3_thread.cache.stats.transfer, taken);
    hz3_cache_flush();
}

/* The slow path waits for it. */
static void nothing_is_exchanged_while_a_visitor_is_there(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64), n = 0;
    capacity_earned(cls);
    for (; n < MOST; n++) objects[n] = hz3_cache_malloc(cls);
    do hz3_cache_free(objects[--n], cls);
    while (!hz3_is_full(hz3_thread.cache.top[cls]));
    hz3_set(hz3_thread.visited, 1);
    bool freed = hz3_exchange_free(objects[n - 1], cls), inside = hz3_get(hz3_thread.inside);
    hz3_set(hz3_thread.visited, 0);
    assert_false(freed);
    assert_false(inside);
    while (n) hz3_cache_free(objects[--n], cls);
    hz3_cache_flush();
}

static void a_thread_without_magazines_exchanges_none(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(300);
    hz3_cache_flush();
    void *p = hz3_cache_malloc(cls);
    hz3_cache_flush();
    assert_null(hz3_exchange_malloc(cls));
    assert_false(hz3_exchange_free(p, cls));
    hz3_cache_free(p, cls);
}

static void *allocate_after_the_end(void *arg)
{
    unsigned cls = (unsigned)(uintptr_t)arg;
    capacity_earned(cls);
    hz3_thread.cache.capacity[cls] = (uint8_t)hz3_class_info[cls].load;
    hz3_thread.state = HZ3_THREAD_LEFT;
    hz3_thread.cache.top[cls] = hz3_thread.cache.previous[cls] = HZ3_STUB_TOP;
    void *p = hz3_exchange_malloc(cls);
    hz3_thread.state = HZ3_THREAD_JOINED;
    return p;
}

static void a_thread_that_has_left_loads_nothing(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(64);
    capacity_earned(cls);
    hz3_cache_flush(); /* magazines for others */
    pthread_t thread;
    void *p;
    assert_int_equal(pthread_create(&thread, NULL, allocate_after_the_end, (void *)(uintptr_t)cls), 0);
    assert_int_equal(pthread_join(thread, &p), 0);
    assert_null(p);
}

RUN(cmocka_unit_test(a_wave_that_fits_changes_magazines_only), cmocka_unit_test(few_of_the_others_need_the_slow_path),
    cmocka_unit_test(nothing_is_exchanged_while_the_gate_is_closed),
    cmocka_unit_test(nothing_is_exchanged_while_a_visitor_is_there),
    cmocka_unit_test(a_thread_without_magazines_exchanges_none), cmocka_unit_test(a_thread_that_has_left_loads_nothing))
