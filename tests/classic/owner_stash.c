/* All functions of the owner stash.  A pushed object comes out once: to its owner or into its run.  A push beyond the
 * bound changes nothing. */
#include "stash.h"

#include "variants/instances.h"

static struct hz3_magazine *magazine_of(unsigned first, unsigned n)
{
    struct hz3_magazine *magazine = hz3_magazine_get(0);
    void **top = hz3_magazine_open(magazine, n);
    for (unsigned i = first; i < first + n; i++) *++top = objects[i];
    return hz3_magazine_close(top);
}

static void assert_same(void **found, unsigned n, unsigned expected)
{
    assert_int_equal(n, expected);
    qsort(found, n, sizeof *found, compare_addresses);
    for (unsigned i = 0; i < n; i++) assert_ptr_equal(found[i], objects[i]);
    hz3_central_retire(cls, found, n);
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 0);
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

/* How many objects a thread keeps of `rest` that it drained and does not need. */
static size_t kept_of(size_t rest)
{
    return HZ3_S48_OWNER_STASH_SPILL && HZ3_S112_FULL_DRAIN_EXCHANGE ? rest : 0;
}

static size_t spilled(void)
{
    return hz3_outbox ? hz3_owner_stash_spilled(hz3_outbox, cls) : 0;
}

/* Work order S48: not to a stash that others push to, but with the thread. */
static void all_of_the_rest_stays_with_the_thread(void **state)
{
    (void)state;
    static void *found[FEW];
    unsigned want = 7, most = HZ3_S44_DRAIN_LIMIT ? hz3_min(want, HZ3_S44_DRAIN_LIMIT) : want, got = 0;
    if (HZ3_OWNER_STASH_INSTANCES > 1 || HZ3_S144_SETTABLE || !HZ3_S112_FULL_DRAIN_EXCHANGE) skip();
    take(FEW);
    push_linked(0, FEW);
    got = hz3_owner_stash_pop_batch(OWNER, cls, found, want);
    assert_int_equal(got, most);
    assert_int_equal(spilled(), kept_of(FEW - got));
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), FEW - got - kept_of(FEW - got));
    assert_ptr_equal(*(void **)found[got - 1], NULL); /* the last one does not lead to what is kept */
    while (got < FEW) got += hz3_owner_stash_pop_batch(OWNER, cls, found + got, hz3_min(64u, FEW - got));
    assert_int_equal(spilled(), 0);
    assert_same(found, got, FEW);
}

/* What others push meanwhile comes after what the thread kept. */
static void the_rest_comes_first(void **state)
{
    (void)state;
    static void *found[80];
    if (!kept_of(1) || HZ3_OWNER_STASH_INSTANCES > 1 || HZ3_S144_SETTABLE) skip();
    take(80);
    push_linked(0, 60);
    unsigned got = hz3_owner_stash_pop_batch(OWNER, cls, found, 10);
    push_linked(60, 20);
    got += hz3_owner_stash_pop_batch(OWNER, cls, found + got, 50);
    assert_int_equal(got, 60);
    for (unsigned i = 0; i < got; i++) assert_true(found[i] < objects[60]);
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 20);
    got += hz3_owner_stash_pop_batch(OWNER, cls, found + got, 20);
    assert_same(found, got, 80);
}

/* A bin takes HZ3_S44_STASH_MAX_OBJS objects of any size, and not one more. */
static void the_number_of_objects_is_the_only_bound(void **state)
{
    (void)state;
    static void *found[MANY];
    static const unsigned sizes[] = {64, 16 * HZ3_SMALL_NUM_SC};
    if (HZ3_OWNER_STASH_INSTANCES > 1 || HZ3_S144_SETTABLE) skip();
    for (unsigned i = 0; i < 2; i++) {
        unsigned pushed = 0;
        cls = hz3_class_of(sizes[i]);
        take(MANY);
        while (pushed < MANY && hz3_owner_stash_push_one(OWNER, cls, objects[pushed])) pushed++;
        assert_int_equal(pushed, HZ3_S44_STASH_MAX_OBJS);
        struct hz3_magazine *magazine = magazine_of(pushed, 2);
        assert_false(hz3_owner_stash_push(OWNER, cls, magazine));
        assert_int_equal(hz3_magazine_count(magazine), 2);
        assert_ptr_equal(magazine->word[magazine->header.top], objects[pushed + 1]);
        hz3_magazine_put(0, magazine);
        assert_true(hz3_owner_stash_push_one(OTHER, cls, objects[pushed]));
        assert_int_equal(hz3_owner_stash_pop_batch(OTHER, cls, found, 2), 1);
        hz3_owner_stash_trim(1, false); /* another class's: has the bins counted anew */
        assert_int_equal(hz3_owner_stash_waiting(), pushed * hz3_class_size(cls));
        hz3_central_retire(cls, objects + pushed, MANY - pushed);
        assert_same(found, pop_all(found, pushed), pushed);
    }
    cls = hz3_class_of(64);
}

static void it_is_for_small_classes(void **state)
{
    (void)state;
    cls = HZ3_SMALL_NUM_SC + 1;
    take(1);
    assert_false(hz3_owner_stash_push_one(OWNER, cls, objects[0]));
    assert_false(hz3_owner_stash_has_pending(OWNER, cls));
    assert_int_equal(hz3_owner_stash_pop_batch(OWNER, cls, objects + 1, 1), 0);
    hz3_central_retire(cls, objects, 1);
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
}

/* Of two lists of one object each, at any two places of some runs, the second is not taken for the first. */
static void what_changed_is_not_untouched(void **state)
{
    (void)state;
    enum { HEADS = MANY < 1000 ? MANY : 1000 }; /* enough for some to have 8 bits of a hash in common */
    static void *all[HEADS];
    take(HEADS);
    memcpy(all, objects, sizeof all);
    assert_true(hz3_owner_stash_push_one(OWNER, cls, all[HEADS - 1])); /* so that the first one is new */
    hz3_owner_stash_trim(cls, false);
    assert_int_equal(pop_all(objects, 1), 1);
    for (unsigned i = 1; i < HEADS - 1; i++) {
        assert_true(hz3_owner_stash_push_one(OWNER, cls, all[0]));
        hz3_owner_stash_trim(cls, false);
        assert_int_equal(pop_all(objects, 1), 1);
        assert_true(hz3_owner_stash_push_one(OWNER, cls, all[i]));
        hz3_owner_stash_trim(cls, false);
        assert_int_equal(pop_all(objects, 1), 1);
    }
    hz3_central_retire(cls, all, HEADS);
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
    if (hz3_outbox) hz3_owner_stash_flush_spill(hz3_outbox, NULL);
    assert_int_equal(hz3_central_retired(cls), retired + kept);
    assert_int_equal(hz3_outbox ? hz3_owner_stash_spilled(hz3_outbox, cls) : 0, 0);
    hz3_central_retire(cls, out, got);
    hz3_owner_stash_trim(cls, true);
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 0);
}

/* Pushes by any thread are counted, and pops find them whichever instance they begin with.  So many threads use every
 * instance. */
static void instances_are_one_stash(void **state)
{
    (void)state;
    void *found[48];
    bool used[HZ3_INSTANCES_MAX] = {false};
    take(48);
    uint32_t self = hz3_lock_self();
    for (unsigned i = 0; i < 48; i++) {
        hz3_lock_id = 2 * i + 2; /* as if another thread pushed */
        used[hz3_instance_to_push(OWNER, cls)] = true;
        assert_true(hz3_owner_stash_push_one(OWNER, cls, objects[i]));
    }
    hz3_lock_id = self;
    for (unsigned i = 0; i < hz3_instances(); i++) assert_true(used[i]);
    assert_int_equal(hz3_owner_stash_objects(cls), 48);
    assert_same(found, pop_all(found, 48), 48);
}

static void classes_that_pop_by_turns_look_into_every_bin(void **state)
{
    (void)state;
    if (!HZ3_S144_SETTABLE) skip();
    hz3_instances_set = 2;
    unsigned first = hz3_instance_to_pop(cls);
    hz3_instances_next(cls);
    hz3_instances_next(cls + 1);
    unsigned second = hz3_instance_to_pop(cls);
    hz3_instances_set = HZ3_OWNER_STASH_INSTANCES;
    assert_int_equal(first + second, 1);
}

/* As a thread whose objects go to that bin. */
static void push_into(unsigned instance, unsigned first, unsigned n)
{
    uint32_t self = hz3_lock_self();
    for (hz3_lock_id = 2; hz3_instance_to_push(OWNER, cls) != instance;) hz3_lock_id += 2;
    push_linked(first, n);
    hz3_lock_id = self;
}

static void a_pop_that_looks_into_no_bin_takes_no_turn(void **state)
{
    (void)state;
    enum { WANT = 32 };
    void *found[2 * WANT + 1];
    if (!kept_of(1) || !HZ3_S144_SETTABLE) skip();
    hz3_instances_set = 2;
    unsigned first = hz3_instance_to_pop(cls), got = 0;
    take(2 * WANT + 1);
    push_into(first, 0, 2 * WANT);
    push_into(!first, 2 * WANT, 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(got, i * WANT);
        got += hz3_owner_stash_pop_batch(OWNER, cls, found + got, WANT);
    }
    assert_same(found, got, 2 * WANT + 1);
    hz3_instances_set = HZ3_OWNER_STASH_INSTANCES;
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
    assert_false(hz3_owner_stash_has_pending(OWNER, cls));
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 0);
    hz3_central_take_apart(cls, magazine);
}

int main(void)
{
    const struct CMUnitTest without[] = {cmocka_unit_test(without_a_stash_all_is_refused)};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_by_one),
        cmocka_unit_test(lists_and_magazines),
        cmocka_unit_test(all_of_the_rest_stays_with_the_thread),
        cmocka_unit_test(the_rest_comes_first),
        cmocka_unit_test(the_number_of_objects_is_the_only_bound),
        cmocka_unit_test(it_is_for_small_classes),
        cmocka_unit_test(what_lies_untouched_goes_home),
        cmocka_unit_test(what_changed_is_not_untouched),
        cmocka_unit_test(what_a_thread_kept_goes_home),
        cmocka_unit_test(instances_are_one_stash),
        cmocka_unit_test(classes_that_pop_by_turns_look_into_every_bin),
        cmocka_unit_test(a_pop_that_looks_into_no_bin_takes_no_turn),
    };
    hz3_ensure_started();
    bool whole = start(NULL) == 0;
    if (!HZ3_S44_OWNER_STASH) return cmocka_run_group_tests(without, NULL, NULL);
    if (!whole) return 77; /* this build has one end of it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
