/* All functions of the owner stash, with any transport.  A pushed object comes out once: to its owner, to a thief, or
 * into its run.  A push that would exceed the bounds changes nothing. */
#include "../unit/unit.h"

#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash.h"

#include <stdlib.h>

enum { OWNER = 3, OTHER = 5, MANY = 600 };
static unsigned cls;
static void *objects[MANY];

static int compare(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Takes n objects in ascending order from the owner's runs. */
static void take(unsigned n)
{
    enum hz3_refill_source source;
    for (unsigned got = 0; got < n;)
        got += hz3_central_refill(&hz3_heaps[OWNER], cls, objects + got, n - got, true, &source);
    qsort(objects, n, sizeof *objects, compare);
}

static void push_linked(unsigned first, unsigned n)
{
    for (unsigned i = first; i + 1 < first + n; i++) *(void **)objects[i] = objects[i + 1];
    assert_true(hz3_owner_stash_push_list(OWNER, cls, objects[first], objects[first + n - 1], n));
}

static struct hz3_magazine *magazine_of(unsigned first, unsigned n)
{
    struct hz3_magazine *magazine = hz3_magazine_get(0);
    void **top = hz3_magazine_open(magazine, n);
    for (unsigned i = first; i < first + n; i++) *++top = objects[i];
    return hz3_magazine_close(top);
}

static unsigned pop_all(void **out, unsigned room)
{
    unsigned got = 0;
    while (hz3_owner_stash_has_pending(OWNER, cls) || (hz3_outbox && hz3_owner_stash_spilled(hz3_outbox, cls)))
        got += hz3_owner_stash_pop_batch(OWNER, cls, out + got, hz3_min(7, room - got));
    return got;
}

static void assert_same(void **found, unsigned n, unsigned expected)
{
    assert_int_equal(n, expected);
    qsort(found, n, sizeof *found, compare);
    for (unsigned i = 0; i < n; i++) assert_ptr_equal(found[i], objects[i]);
    hz3_central_retire(cls, found, n);
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 0);
    assert_int_equal(hz3_owner_stash_in_flight(OWNER), 0);
}

static int start(void **state)
{
    (void)state;
    hz3_set(hz3_heap_highest, hz3_heap_count - 1); /* as if every heap had had threads */
    cls = hz3_class_of(64);
    return HZ3_STASH_PUSHES && HZ3_STASH_POPS ? 0 : -1;
}

static void one_by_one(void **state)
{
    (void)state;
    void *found[40];
    take(40);
    for (unsigned i = 0; i < 40; i++) assert_true(hz3_owner_stash_push_one(OWNER, cls, objects[i]));
    assert_true(hz3_owner_stash_has_pending(OWNER, cls) && !hz3_owner_stash_has_pending(OTHER, cls));
    assert_true(hz3_owner_stash_count(OWNER, cls) >= 40);
    assert_int_equal(hz3_owner_stash_objects(cls), 40);
    assert_same(found, pop_all(found, 40), 40);
}

static void lists_and_magazines(void **state)
{
    (void)state;
    void *found[90];
    take(90);
    push_linked(0, 20);
    push_linked(20, 30);
    assert_true(hz3_owner_stash_push(OWNER, cls, magazine_of(50, 30)));
    assert_true(hz3_owner_stash_push(OWNER, cls, magazine_of(80, 10)));
    assert_int_equal(hz3_owner_stash_objects(cls), 90);
    assert_same(found, pop_all(found, 90), 90);
}

static void magazines_come_out_closed(void **state)
{
    (void)state;
    void *found[60];
    unsigned got = 0;
    take(60);
    push_linked(0, 30);
    push_linked(30, 30);
    for (unsigned tries = 0; tries < 100 && got < 60; tries++) {
        struct hz3_magazine *magazine = hz3_owner_stash_pop(OWNER, cls);
        if (!magazine) continue;
        assert_true(hz3_magazine_count(magazine) > 0);
        for (unsigned n = hz3_magazine_count(magazine); n--;) found[got++] = magazine->word[magazine->header.top--];
        hz3_magazine_put(0, magazine);
    }
    assert_same(found, got, 60);
}

static void anybody_may_take_what_nobody_wants(void **state)
{
    (void)state;
    void *found[60];
    unsigned got, n;
    take(60);
    push_linked(0, 30);
    push_linked(30, 30);
    struct hz3_magazine *magazine = hz3_owner_stash_steal(cls);
    assert_non_null(magazine);
    for (got = 0; got < hz3_magazine_count(magazine); got++)
        found[got] = magazine->word[magazine->header.floor + 1 + got];
    hz3_magazine_put(0, magazine);
    while ((n = hz3_owner_stash_steal_batch(cls, found + got, 60 - got))) got += n;
    got += pop_all(found + got, 60 - got); /* the rest is in the spill */
    assert_same(found, got, 60);
    assert_null(hz3_owner_stash_steal(cls));
}

static void refused_is_unchanged(void **state)
{
    (void)state;
    static void *found[MANY];
    unsigned pushed = 0, most = HZ3_S44_STASH_MAX_OBJS;
    cls = hz3_class_of(8192);
    take(MANY);
    while (pushed < MANY && hz3_owner_stash_push_one(OWNER, cls, objects[pushed])) pushed++;
    assert_in_range(pushed, 1, hz3_min(MANY - 1u, most)); /* 128 objects are 1 MiB */
    size_t live = hz3_get(hz3_heaps[OWNER].live);
    assert_true(pushed * hz3_class_size(cls) <= hz3_max(HZ3_MIB(1), live / 8));
    uint32_t count = hz3_owner_stash_count(OWNER, cls);
    struct hz3_magazine *magazine = magazine_of(pushed, 2);
    while (hz3_owner_stash_push(OWNER, cls, magazine)) magazine = magazine_of(pushed += 2, 2), count += 2;
    assert_int_equal(hz3_magazine_count(magazine), 2);
    assert_ptr_equal(magazine->word[magazine->header.top], objects[pushed + 1]);
    hz3_magazine_put(0, magazine);
    assert_int_equal(hz3_owner_stash_objects(cls), pushed);
    hz3_central_retire(cls, objects + pushed, MANY - pushed);
    assert_same(found, pop_all(found, pushed), pushed);
    cls = hz3_class_of(64);
}

static void what_lies_untouched_goes_home(void **state)
{
    (void)state;
    take(50);
    push_linked(0, 25);
    uint64_t retired = hz3_central_retired(cls);
    hz3_owner_stash_trim(cls, false);
    assert_int_equal(hz3_owner_stash_objects(cls), 25); /* the first trim only looks */
    hz3_owner_stash_trim(cls, false);
    assert_false(hz3_owner_stash_has_pending(OWNER, cls));
    assert_int_equal(hz3_central_retired(cls), retired + 25);
    push_linked(25, 25);
    hz3_owner_stash_trim(cls, true);
    assert_false(hz3_owner_stash_has_pending(OWNER, cls));
    assert_int_equal(hz3_central_retired(cls), retired + 50);
    assert_int_equal(hz3_owner_stash_in_flight(OWNER), 0);
}

static void what_a_thread_kept_goes_home(void **state)
{
    (void)state;
    void *out[4];
    take(60);
    for (unsigned i = 0; i < 3; i++) push_linked(20 * i, 20);
    unsigned got = 0;
    while (!got) got = hz3_owner_stash_pop_batch(OWNER, cls, out, 4);
    size_t kept = hz3_outbox ? hz3_owner_stash_spilled(hz3_outbox, cls) : 0;
    assert_int_equal(kept + got + hz3_owner_stash_objects(cls), 60);
    uint64_t retired = hz3_central_retired(cls);
    if (hz3_outbox) hz3_owner_stash_flush_spill(hz3_outbox);
    assert_int_equal(hz3_central_retired(cls), retired + kept);
    assert_int_equal(hz3_outbox ? hz3_owner_stash_spilled(hz3_outbox, cls) : 0, 0);
    hz3_central_retire(cls, out, got);
    hz3_owner_stash_trim(cls, true);
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 0);
}

/* Pushes by any thread are counted, and pops find them whichever instance they begin with. */
static void instances_are_one_stash(void **state)
{
    (void)state;
    void *found[48];
    take(48);
    uint32_t self = hz3_lock_self();
    for (unsigned i = 0; i < 48; i++) {
        hz3_lock_id = 2 * i + 2; /* as if another thread pushed */
        assert_true(hz3_owner_stash_push_one(OWNER, cls, objects[i]));
    }
    hz3_lock_id = self;
    assert_int_equal(hz3_owner_stash_objects(cls), 48);
    assert_same(found, pop_all(found, 48), 48);
}

static void classes_that_pop_by_turns_look_into_every_bin(void **state)
{
    (void)state;
    if (!HZ3_S144_SETTABLE) skip();
    hz3_instances_set = 2;
    unsigned first = hz3_instance_to_pop(cls);
    hz3_instance_to_pop(cls + 1);
    unsigned second = hz3_instance_to_pop(cls);
    hz3_instances_set = HZ3_OWNER_STASH_INSTANCES;
    assert_int_equal(first + second, 1);
}

/* A bin of magazines has as many as the word at its head can count. */
static void a_bin_that_is_full_refuses(void **state)
{
    (void)state;
    static void *found[MANY];
    unsigned pushed = 0, most = HZ3_S44_TRANSPORT_LIST ? MANY : HZ3_STACK_MAX;
    cls = hz3_class_of(16);
    take(MANY);
    while (pushed < MANY && hz3_owner_stash_push_one(OWNER, cls, objects[pushed])) pushed++;
    assert_int_equal(pushed, most);
    assert_int_equal(hz3_owner_stash_objects(cls), pushed);
    hz3_central_retire(cls, objects + pushed, MANY - pushed);
    assert_same(found, pop_all(found, pushed), pushed);
    cls = hz3_class_of(64);
}

static void without_a_stash_all_is_refused(void **state)
{
    (void)state;
    void *out[2];
    take(2);
    *(void **)objects[0] = objects[1];
    struct hz3_magazine *magazine = magazine_of(0, 2);
    assert_false(hz3_owner_stash_push_one(OWNER, cls, objects[0]));
    assert_false(hz3_owner_stash_push_list(OWNER, cls, objects[0], objects[1], 2));
    assert_false(hz3_owner_stash_push(OWNER, cls, magazine));
    assert_int_equal(hz3_magazine_count(magazine), 2);
    assert_int_equal(hz3_owner_stash_pop_batch(OWNER, cls, out, 2), 0);
    assert_int_equal(hz3_owner_stash_steal_batch(cls, out, 2), 0);
    assert_null(hz3_owner_stash_pop(OWNER, cls));
    assert_null(hz3_owner_stash_steal(cls));
    assert_false(hz3_owner_stash_has_pending(OWNER, cls));
    assert_int_equal(hz3_owner_stash_count(OWNER, cls) + hz3_owner_stash_in_flight(OWNER), 0);
    hz3_central_take_apart(cls, magazine);
}

int main(void)
{
    const struct CMUnitTest without[] = {cmocka_unit_test(without_a_stash_all_is_refused)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(lists_and_magazines),
        cmocka_unit_test(magazines_come_out_closed),
        cmocka_unit_test(anybody_may_take_what_nobody_wants),
        cmocka_unit_test(refused_is_unchanged),
        cmocka_unit_test(a_bin_that_is_full_refuses),
        cmocka_unit_test(what_lies_untouched_goes_home),
        cmocka_unit_test(what_a_thread_kept_goes_home),
        cmocka_unit_test(instances_are_one_stash),
        cmocka_unit_test(classes_that_pop_by_turns_look_into_every_bin),
    };
    hz3_ensure_started();
    bool whole = start(NULL) == 0;
    if (!HZ3_S44_OWNER_STASH) return cmocka_run_group_tests(without, NULL, NULL);
    if (!whole) return 77; /* this build has one end of it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
