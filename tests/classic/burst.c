/* What waits in the owner stash is seen by reclaim before the 10 ms are over for which a count holds, if it is a burst.
 */
#include "stash.h"

#include <pthread.h>

/* What a thread sends within the 10 ms for which a count holds. */
static void a_burst_is_seen_while_it_lasts(void **state)
{
    (void)state;
    void *found[FEW];
    take(FEW);
    size_t before = hz3_owner_stash_waiting(), bytes = FEW * hz3_class_size(cls);
    for (size_t pushed = 0; pushed < HZ3_POLICY_MUCH / 4; pushed += bytes) {
        if (pushed) assert_int_equal(pop_all(found, FEW), FEW);
        push_linked(0, FEW);
    }
    assert_true(hz3_owner_stash_waiting() >= before + bytes);
    hz3_owner_stash_trim(cls, true);
    assert_int_equal(hz3_owner_stash_count(OWNER, cls), 0);
}

enum { TRIES = 20 };

/* Whether a count may have been made anew for its age: then a test says nothing, and is tried again. */
static bool took_long(uint64_t since)
{
    return hz3_os_now_ms() - since >= HZ3_POLICY_SOON_MS;
}

/* Pushes EACH linked objects, and then asks once. */
static void *burst_of_one(void *first)
{
    void **own = first;
    if (!hz3_owner_stash_push_list(OWNER, cls, own[0], own[EACH - 1], EACH)) return NULL;
    hz3_owner_stash_waiting();
    return first;
}

/* Each thread's part alone is too little to be counted for. */
static void a_burst_of_many_threads_is_seen(void **state)
{
    (void)state;
    if (HZ3_S44_STASH_MAX_OBJS < BURST) skip();
    cls = hz3_class_of(16 * HZ3_SMALL_NUM_SC);
    for (int tries = TRIES; tries; tries--) {
        take(BURST);
        for (unsigned i = 0; i + 1 < BURST; i++) *(void **)objects[i] = objects[i + 1];
        hz3_owner_stash_trim(1, true); /* another class's: has the bins counted anew */
        uint64_t start = hz3_os_now_ms();
        size_t before = hz3_owner_stash_waiting(), pushed = BURST * hz3_class_size(cls);
        for (unsigned i = 0; i < THREADS; i++) {
            pthread_t thread;
            void *done;
            assert_int_equal(pthread_create(&thread, NULL, burst_of_one, objects + i * EACH), 0);
            pthread_join(thread, &done);
            assert_non_null(done);
        }
        assert_true(hz3_owner_stash_waiting() > before + pushed - HZ3_POLICY_MUCH / 4);
        hz3_owner_stash_trim(cls, true);
        if (!took_long(start)) break;
    }
    cls = hz3_class_of(64);
}

/* A class without bins: what goes elsewhere has no bin counted. */
static void what_was_refused_is_no_burst(void **state)
{
    (void)state;
    unsigned large = HZ3_SMALL_NUM_SC + 1, many = HZ3_POLICY_MUCH / 4 / hz3_class_size(large) + 1;
    take(1);
    for (int tries = TRIES; tries; tries--) {
        uint64_t start = hz3_os_now_ms();
        hz3_owner_stash_trim(cls, true); /* has the bins counted anew */
        size_t before = hz3_owner_stash_waiting();
        assert_true(hz3_owner_stash_push_one(OWNER, cls, objects[0]));
        assert_false(hz3_owner_stash_push_list(OWNER, large, objects[0], objects[0], many));
        size_t waiting = hz3_owner_stash_waiting();
        assert_int_equal(pop_all(objects, 1), 1);
        if (took_long(start)) continue;
        assert_int_equal(waiting, before);
        break;
    }
    hz3_central_retire(cls, objects, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_is_seen_while_it_lasts),
        cmocka_unit_test(a_burst_of_many_threads_is_seen),
        cmocka_unit_test(what_was_refused_is_no_burst),
    };
    hz3_ensure_started();
    return start(NULL) ? 77
                       : cmocka_run_group_tests(tests, NULL, NULL); /* this build has one end of a stash, or none */
}
