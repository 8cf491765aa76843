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

static void turn_round(void **objects, unsigned n)
{
    for (unsigned i = 0; i < n / 2; i++) {
        void *first = objects[i];
        objects[i] = objects[n - 1 - i];
        objects[n - 1 - i] = first;
    }
}

/* From every object of a run to every one of the next 100, up and down, so across the words of its bitmap: these are
 * free then, and no other is. */
static void rows_of_neighbours_go_by_the_word(void **state)
{
    (void)state;
    static void *objects[4096], *again[4096];
    for (unsigned size = 64; size <= 1024; size *= 4) {
        unsigned cls = hz3_class_of(size);
        struct hz3_span *run = hz3_run_new(cls, 0);
        unsigned n = take_all(run, objects);
        for (unsigned from = 0; from < n; from++)
            for (unsigned row = 1; row <= 100 && from + row <= n; row += 1 + row / 3) {
                bool down = (from + row) % 2;
                memcpy(again, objects + from, row * sizeof *again);
                if (down) turn_round(again, row);
                assert_int_equal(hz3_run_retire(run, again, row, row % 2), row);
                assert_int_equal(hz3_get(run->live), n - row);
                assert_int_equal(take_all(run, again), row);
                assert_memory_equal(again, objects + from, row * sizeof *again);
            }
        assert_int_equal(hz3_run_retire(run, objects, n, false), n);
        hz3_run_free(run);
    }
}

/* Neighbours across the border of two runs. */
static void a_row_ends_with_its_run(void **state)
{
    (void)state;
    static void *objects[2][4096];
    unsigned cls = hz3_class_of(64);
    struct hz3_span *run[2] = {hz3_run_new(cls, 0), hz3_run_new(cls, 0)};
    bool turned = run[0]->start > run[1]->start;
    unsigned n = take_all(run[turned], objects[0]);
    take_all(run[!turned], objects[1]);
    void *border[6];
    memcpy(border, objects[0] + n - 3, sizeof border / 2);
    memcpy(border + 3, objects[1], sizeof border / 2);
    assert_int_equal(hz3_run_retire(run[turned], border, 6, false), 3);
    turn_round(border, 6);
    assert_int_equal(hz3_run_retire(run[!turned], border, 6, false), 3);
    assert_int_equal(hz3_run_retire(run[turned], objects[0], n - 3, false), n - 3);
    assert_int_equal(hz3_run_retire(run[!turned], objects[1] + 3, n - 3, false), n - 3);
    hz3_run_free(run[0]);
    hz3_run_free(run[1]);
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

RUN(cmocka_unit_test(every_object_once_in_order), cmocka_unit_test(rows_of_neighbours_go_by_the_word),
    cmocka_unit_test(a_row_ends_with_its_run), cmocka_unit_test(purge_spares_pages_with_live_objects))
