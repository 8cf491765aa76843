/* The transfer cache is bounded, in each class and in all, and counted.  The second undisturbed trim empties it. */
#include "unit.h"

#include "base/sizeclass.h"
#include "middle/central.h"
#include "middle/transfer_cache.h"

#include <signal.h>
#include <sys/time.h>

enum { CLASS_BYTES = 4 << 20, ALL_BYTES = 16 * CLASS_BYTES };

/* Pushes fresh objects of the class until the cache takes no more.  Returns their bytes. */
static size_t fill(unsigned cls)
{
    unsigned load = hz3_class_info[cls].load;
    for (size_t bytes = 0;; bytes += load * hz3_class_size(cls)) {
        struct hz3_magazine *magazine = hz3_magazine_get(cls);
        assert_non_null(magazine);
        void **top = hz3_magazine_open(magazine, load);
        enum hz3_refill_source source;
        for (unsigned i = 0; i < load; i++)
            assert_true(hz3_central_refill(&hz3_heaps[0], cls, ++top, 1, true, &source));
        if (hz3_transfer_push(cls, hz3_magazine_close(top))) continue;
        hz3_central_take_apart(cls, magazine);
        return bytes;
    }
}

static void a_class_is_bounded_and_counted(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(1024);
    hz3_transfer_start(CLASS_BYTES);
    size_t bytes = fill(cls), magazine = hz3_class_size(cls) * hz3_class_info[cls].load;
    assert_true(bytes <= CLASS_BYTES && bytes > CLASS_BYTES - magazine);
    assert_int_equal(hz3_transfer_objects(cls) * hz3_class_size(cls), bytes);
    hz3_transfer_settle();
    assert_int_equal(hz3_transfer_waiting(), bytes);
    struct hz3_magazine *popped = hz3_transfer_pop(cls);
    hz3_transfer_settle();
    assert_int_equal(hz3_transfer_waiting(), bytes - magazine);
    hz3_central_take_apart(cls, popped);
}

static void what_nobody_wants_goes_home(void **state)
{
    (void)state;
    unsigned cls = hz3_class_of(1024);
    fill(cls);
    size_t objects = hz3_transfer_objects(cls);
    hz3_transfer_trim(cls, false); /* the first trim after the class was used only looks */
    hz3_transfer_trim(cls + 1, false);
    assert_int_equal(hz3_transfer_objects(cls), objects);
    hz3_transfer_trim(cls, false);
    assert_int_equal(hz3_transfer_objects(cls), 0);
    hz3_transfer_recount();
    assert_int_equal(hz3_transfer_waiting(), 0);
}

static void all_classes_together_are_bounded(void **state)
{
    (void)state;
    size_t bytes = 0;
    for (unsigned cls = hz3_class_of(512); cls < hz3_class_of(8192); cls++) bytes += fill(cls);
    assert_in_range(bytes, ALL_BYTES - (1 << 20), ALL_BYTES + (1 << 20));
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) hz3_transfer_trim(cls, true);
    hz3_transfer_recount();
    assert_int_equal(hz3_transfer_waiting(), 0);
}

static struct hz3_magazine *late;
static unsigned late_class;

static void put_late(int signal)
{
    (void)signal;
    if (hz3_transfer_push(late_class, late)) late = NULL;
    hz3_transfer_settle();
}

/* What is pushed during a recount must be counted, as there may never be another recount. */
static void a_recount_forgets_nothing(void **state)
{
    (void)state;
    enum { ROUNDS = 100 };
    struct itimerval soon = {.it_value = {.tv_usec = 200}};
    late_class = hz3_class_of(1024);
    size_t bytes = fill(late_class);
    signal(SIGALRM, put_late);
    for (int round = 0; round < ROUNDS; round++) {
        assert_non_null(late = hz3_transfer_pop(late_class));
        hz3_transfer_settle();
        setitimer(ITIMER_REAL, &soon, NULL);
        while (*(struct hz3_magazine *volatile *)&late) hz3_transfer_recount();
        assert_int_equal(hz3_transfer_waiting(), bytes);
    }
    hz3_transfer_trim(late_class, true);
    hz3_transfer_recount();
}

RUN(cmocka_unit_test(a_class_is_bounded_and_counted), cmocka_unit_test(what_nobody_wants_goes_home),
    cmocka_unit_test(all_classes_together_are_bounded), cmocka_unit_test(a_recount_forgets_nothing))
