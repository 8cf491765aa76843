/* All functions of the owner stash.  A pushed object comes out once: to its owner, to a thief, or into its run.  A push
 * that would exceed the bounds changes nothing. */
#include "unit.h"

#include "base/layout.h"
#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/owner_stash.h"

#include <unistd.h>

#include "take.h"

extern const struct hz3_place hz3_stash_places[];

enum { OWNER = 3, MANY = 600 };
static unsigned cls;
static void *objects[MANY];

static void take(unsigned n)
{
    take_in_order(OWNER, cls, objects, n);
}

static struct hz3_magazine *magazine_of(unsigned first, unsigned n)
{
    struct hz3_magazine *magazine = hz3_magazine_get(0);
    void **top = hz3_magazine_open(magazine, n);
    for (unsigned i = first; i < first + n; i++) *++top = objects[i];
    return hz3_magazine_close(top);
}

static void push(unsigned first, unsigned n)
{
    assert_true(hz3_owner_stash_push(OWNER, cls, magazine_of(first, n)));
}

/* Puts the objects of the magazine into `out`. */
static unsigned unpack(struct hz3_magazine *magazine, void **out)
{
    unsigned n = hz3_magazine_count(magazine);
    assert_in_range(n, 1, HZ3_MAGAZINE_LAST - 1);
    for (unsigned i = 0; i < n; i++) out[i] = magazine->word[magazine->header.floor + 1 + i];
    hz3_magazine_put(0, magazine);
    return n;
}

static unsigned pop_all(void **out)
{
    unsigned got = 0;
    for (struct hz3_magazine *magazine; (magazine = hz3_owner_stash_pop(OWNER, cls));)
        got += unpack(magazine, out + got);
    return got;
}

static void assert_same(void **found, unsigned n, unsigned expected)
{
    assert_int_equal(n, expected);
    qsort(found, n, sizeof *found, compare_addresses);
    for (unsigned i = 0; i < n; i++) assert_ptr_equal(found[i], objects[i]);
    hz3_central_retire(cls, found, n);
    assert_int_equal(hz3_owner_stash_objects(cls), 0);
    assert_int_equal(hz3_owner_stash_in_flight(OWNER), 0);
}

static void the_owner_takes_what_others_left(void **state)
{
    (void)state;
    void *found[90];
    take(90);
    for (unsigned i = 0; i < 40; i++) push(i, 1);
    push(40, 10);
    push(50, 30);
    push(80, 10);
    assert_int_equal(hz3_owner_stash_objects(cls), 90);
    assert_int_equal(hz3_owner_stash_objects(cls), 90); /* counting changes nothing */
    assert_null(hz3_owner_stash_pop(OWNER + 1, cls));
    assert_null(hz3_owner_stash_pop(OWNER, cls + 1));
    assert_same(found, pop_all(found), 90);
}

static void anybody_may_take_what_nobody_wants(void **state)
{
    (void)state;
    void *found[60];
    unsigned got = 0;
    take(60);
    push(0, 30);
    push(30, 30);
    assert_null(hz3_owner_stash_steal(cls + 1));
    for (struct hz3_magazine *magazine; (magazine = hz3_owner_stash_steal(cls));) got += unpack(magazine, found + got);
    assert_same(found, got, 60);
}

static void refused_is_unchanged(void **state)
{
    (void)state;
    static void *found[MANY];
    unsigned pushed = 0, most = HZ3_S44_STASH_MAX_OBJS;
    cls = hz3_class_of(8192);
    take(MANY);
    struct hz3_magazine *magazine;
    while (hz3_owner_stash_push(OWNER, cls, (magazine = magazine_of(pushed, 2)))) pushed += 2;
    assert_in_range(pushed, 1, hz3_min(MANY - 1u, most)); /* 128 objects are 1 MiB */
    size_t live = hz3_get(hz3_heaps[OWNER].live);
    assert_true(pushed * hz3_class_size(cls) <= hz3_max(HZ3_MIB(1), live / 8));
    assert_int_equal(hz3_magazine_count(magazine), 2);
    assert_ptr_equal(magazine->word[magazine->header.top], objects[pushed + 1]);
    hz3_magazine_put(0, magazine);
    assert_int_equal(hz3_owner_stash_objects(cls), pushed);
    hz3_central_retire(cls, objects + pushed, MANY - pushed);
    assert_same(found, pop_all(found), pushed);
    cls = hz3_class_of(64);
}

/* A bin has as many magazines as the word at its head can count. */
static void a_bin_that_is_full_refuses(void **state)
{
    (void)state;
    static void *found[MANY];
    unsigned pushed = 0;
    cls = hz3_class_of(16);
    take(MANY);
    struct hz3_magazine *magazine = NULL;
    while (pushed < MANY && hz3_owner_stash_push(OWNER, cls, (magazine = magazine_of(pushed, 1)))) pushed++;
    assert_int_equal(pushed, hz3_min(HZ3_S44_STASH_MAX_OBJS / hz3_class_info[cls].load, (unsigned)HZ3_STACK_MAX));
    hz3_magazine_put(0, magazine);
    assert_int_equal(hz3_owner_stash_objects(cls), pushed);
    hz3_central_retire(cls, objects + pushed, MANY - pushed);
    assert_same(found, pop_all(found), pushed);
    cls = hz3_class_of(64);
}

static void what_lies_untouched_goes_home(void **state)
{
    (void)state;
    take(50);
    push(0, 25);
    uint64_t retired = hz3_central_retired(cls);
    hz3_owner_stash_trim(cls, false);
    assert_int_equal(hz3_owner_stash_objects(cls), 25); /* the first trim only looks */
    hz3_owner_stash_trim(cls, false);
    assert_int_equal(hz3_owner_stash_objects(cls), 0);
    assert_int_equal(hz3_central_retired(cls), retired + 25);
    push(25, 25);
    hz3_owner_stash_trim(cls, true);
    assert_int_equal(hz3_owner_stash_objects(cls), 0);
    assert_int_equal(hz3_central_retired(cls), retired + 50);
    assert_int_equal(hz3_owner_stash_waiting(), 0);
}

/* As if another thread had been about to count what it took when the parent forked. */
static void a_forked_child_counts_anew(void **state)
{
    (void)state;
    static void *found[50];
    size_t *counted = (size_t *)(hz3_stash_places[0].at + OWNER * hz3_stash_places[0].size); /* its first field */
    take(50);
    push(0, 25);
    push(25, 25);
    size_t bytes = *counted;
    assert_int_equal(bytes, 2 * hz3_class_size(cls) * hz3_class_info[cls].load); /* of two magazines */
    *counted += HZ3_KIB(600);
    hz3_owner_stash_after_fork();
    assert_int_equal(*counted, bytes);
    assert_same(found, pop_all(found), 50);
    assert_int_equal(*counted, 0);
}

static void without_a_stash_all_is_refused(void **state)
{
    (void)state;
    take(2);
    struct hz3_magazine *magazine = magazine_of(0, 2);
    assert_false(hz3_owner_stash_push(OWNER, cls, magazine));
    assert_int_equal(hz3_magazine_count(magazine), 2);
    assert_null(hz3_owner_stash_pop(OWNER, cls));
    assert_null(hz3_owner_stash_steal(cls));
    assert_int_equal(hz3_owner_stash_objects(cls) + hz3_owner_stash_in_flight(OWNER) + hz3_owner_stash_waiting(), 0);
    hz3_central_take_apart(cls, magazine);
}

int main(void)
{
    const struct CMUnitTest without[] = {cmocka_unit_test(without_a_stash_all_is_refused)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_owner_takes_what_others_left),
        cmocka_unit_test(anybody_may_take_what_nobody_wants),
        cmocka_unit_test(refused_is_unchanged),
        cmocka_unit_test(a_bin_that_is_full_refuses),
        cmocka_unit_test(what_lies_untouched_goes_home),
        cmocka_unit_test(a_forked_child_counts_anew),
    };
    hz3_ensure_started();
    hz3_set(hz3_heap_highest, hz3_heap_count - 1); /* as if every heap had had threads */
    cls = hz3_class_of(64);
    if (!HZ3_S44_OWNER_STASH) return cmocka_run_group_tests(without, NULL, NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (HZ3_SECURE) _exit(failed); /* the tests wrote into free objects, which lane secure would find at exit */
    return failed;
}
