/* A run hands out each object once, lowest address first (in lane secure in random order), and takes them back in any
 * order without touching the next run.  It purges no page that has a live object. */
#include "unit.h"

#include "back/run.h"
#include "base/sizeclass.h"

#include <stdlib.h>
#include <sys/mman.h>

static int by_address(const void *a, const void *b)
{
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return (left > right) - (left < right);
}

static unsigned take_all(struct hz3_span *run, void **objects)
{
    unsigned n = 0, got;
    while ((got = hz3_run_take(run, objects + n, 7))) {
        if (HZ3_SECURE) qsort(objects + n, got, sizeof *objects, by_address);
        n += got;
    }
    return n;
}

static void every_object_once_in_order(void **state)
{
    (void)state;
    static void *objects[4096], *again[4096], *others[4096];
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls += 3) {
        struct hz3_span *run = hz3_run_new(cls, 0), *other = hz3_run_new(cls, 0);
        assert_non_null(run);
        assert_non_null(other);
        unsigned n = take_all(run, objects);
        assert_int_equal(take_all(other, others), n);
        assert_int_equal(n, hz3_class_info[cls].objects);
        for (unsigned i = 0; i < n; i++) {
            assert_int_equal((uintptr_t)objects[i], run->start + i * hz3_class_size(cls));
            assert_true(hz3_run_is_object(run, objects[i]));
            assert_false(hz3_run_is_object(run, (char *)objects[i] + 8));
            assert_ptr_equal(hz3_run_of(objects[i]), run);
            assert_int_equal(hz3_class_at(objects[i]), cls);
        }
        for (unsigned i = 0; i < n; i++) hz3_run_retire(run, &objects[(i * 7919u) % n], 1, true); /* each once */
        assert_int_equal(hz3_get(run->live), 0);
        assert_int_equal(take_all(run, again), n);
        assert_memory_equal(objects, again, n * sizeof *objects);
        assert_int_equal(hz3_run_retire(run, objects, n, false), n);
        assert_int_equal(hz3_run_take(other, again, 1), 0);
        assert_int_equal(hz3_run_retire(other, others, n, false), n);
        hz3_run_free(run);
        hz3_run_free(other);
    }
}

static void purge_spares_pages_with_live_objects(void **state)
{
    (void)state;
    static void *objects[4096];
    unsigned cls = hz3_class_of(1008);
    struct hz3_span *run = hz3_run_new(cls, 0);
    unsigned n = take_all(run, objects);
    memset((void *)run->start, 0xee, HZ3_GRANULE);
    for (unsigned i = 0; i < n; i++)
        if (i != 20 && i != 41) hz3_run_retire(run, &objects[i], 1, false);
    size_t purged = hz3_run_purge(run, true);
    assert_in_range(purged, HZ3_GRANULE / 2, HZ3_GRANULE - 2 * 4096);
    unsigned char resident[HZ3_GRANULE / 4096];
    assert_int_equal(mincore((void *)run->start, HZ3_GRANULE, resident), 0);
    for (size_t page = 0; page < sizeof resident; page++) {
        uintptr_t from = run->start + page * 4096, to = from + 4096;
        bool needed = false;
        for (unsigned i = 20; i <= 41; i += 21)
            needed |= (uintptr_t)objects[i] < to && (uintptr_t)objects[i] + 1008 > from;
        assert_int_equal(resident[page] & 1, needed);
    }
    for (unsigned i = 20; i <= 41; i += 21)
        for (unsigned at = 0; at < 1008; at++) assert_int_equal(((unsigned char *)objects[i])[at], 0xee);
    hz3_run_retire(run, &objects[20], 1, false);
    hz3_run_retire(run, &objects[41], 1, false);
    hz3_run_free(run);
}

RUN(cmocka_unit_test(every_object_once_in_order), cmocka_unit_test(purge_spares_pages_with_live_objects))
