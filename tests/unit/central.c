/* Central: taken and retired objects balance, the fullest run serves refills, empty runs go back to the page pool, and
 * held runs do not. */
#include "unit.h"

#include "back/gauges.h"
#include "back/huge_pages.h"
#include "base/sizeclass.h"
#include "middle/central.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { SIZE = 1024, PER_RUN = HZ3_GRANULE / SIZE };

static unsigned take(struct hz3_heap *heap, unsigned cls, void **objects, unsigned n)
{
    enum hz3_refill_source source;
    unsigned got = 0, more;
    while (got < n && (more = hz3_central_refill(heap, cls, objects + got, hz3_min(n - got, 30u), true, &source)))
        got += more;
    return got;
}

static void empty_runs_go_home(void **state)
{
    (void)state;
    struct hz3_heap *heap = &hz3_heaps[1];
    static void *objects[10 * PER_RUN];
    unsigned cls = hz3_class_of(SIZE);
    size_t used = hz3_gauge(HZ3_GAUGE_USED);
    uint64_t retired = hz3_central_retired(cls);
    assert_int_equal(take(heap, cls, objects, 10 * PER_RUN), 10 * PER_RUN);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used + 10 * HZ3_GRANULE);
    for (unsigned i = 0; i < 10 * PER_RUN; i += 20) hz3_central_retire(cls, objects + i, 20);
    assert_int_equal(hz3_central_retired(cls) - retired, 10 * PER_RUN);
    assert_int_equal(hz3_get(heap->taken[cls]), 10 * PER_RUN);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used + HZ3_GRANULE); /* the run that the heap holds */
    hz3_central_release_heap(heap);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_IDLE), 0);
}

static bool is_one_of(const void *p, void *const *objects, unsigned n)
{
    for (unsigned i = 0; i < n; i++)
        if (objects[i] == p) return true;
    return false;
}

static void the_fullest_run_is_refilled_first(void **state)
{
    (void)state;
    struct hz3_heap *heap = &hz3_heaps[2];
    static void *objects[3 * PER_RUN];
    unsigned cls = hz3_class_of(SIZE);
    assert_int_equal(take(heap, cls, objects, 3 * PER_RUN), 3 * PER_RUN);
    /* The second run keeps 60 of 64 objects, the first 10. */
    hz3_central_retire(cls, objects, PER_RUN - 10);
    hz3_central_retire(cls, objects + PER_RUN, 4);
    void *again[4];
    struct hz3_heap *other = &hz3_heaps[4];
    assert_int_equal(take(other, cls, again, 4), 4);
    for (int i = 0; i < 4; i++) assert_true(is_one_of(again[i], objects + PER_RUN, 4)); /* lane secure: random order */
    hz3_central_retire(cls, objects + PER_RUN - 10, 2 * PER_RUN + 10);
    hz3_central_release_heap(heap);
    hz3_central_release_heap(other);
}

static void each_heap_counts_its_own(void **state)
{
    (void)state;
    struct hz3_heap *heaps[] = {&hz3_heaps[1], &hz3_heaps[2]};
    unsigned cls = hz3_class_of(SIZE);
    size_t before[] = {hz3_get(heaps[0]->live), hz3_get(heaps[1]->live)};
    void *objects[6];
    for (unsigned i = 0; i < 6; i++) assert_int_equal(take(heaps[i % 2], cls, &objects[i], 1), 1);
    for (unsigned i = 0; i < 2; i++) assert_int_equal(hz3_get(heaps[i]->live), before[i] + 3 * SIZE);
    hz3_central_retire(cls, objects, 3);
    assert_int_equal(hz3_get(heaps[0]->live), before[0] + SIZE);
    assert_int_equal(hz3_get(heaps[1]->live), before[1] + 2 * SIZE);
    hz3_central_retire(cls, objects + 3, 3);
    for (unsigned i = 0; i < 2; i++) assert_int_equal(hz3_get(heaps[i]->live), before[i]);
    for (unsigned i = 0; i < 2; i++) hz3_central_release_heap(heaps[i]);
}

static void idle_runs_are_purged_once(void **state)
{
    (void)state;
    struct hz3_heap *heap = &hz3_heaps[3];
    static void *objects[4 * PER_RUN];
    unsigned cls = hz3_class_of(SIZE);
    assert_int_equal(take(heap, cls, objects, 4 * PER_RUN), 4 * PER_RUN);
    for (unsigned i = 0; i < 4 * PER_RUN; i++) memset(objects[i], 1, SIZE);
    for (unsigned i = 0; i < 3 * PER_RUN; i++)
        if (i % PER_RUN > 1)
            hz3_central_retire(cls, &objects[i], 1); /* each of three runs keeps its first two objects */
    assert_true(hz3_gauge(HZ3_GAUGE_IDLE) >= 2 * (PER_RUN - 2) * SIZE);
    assert_int_equal(hz3_central_purge(cls, 60000, true), 0);
    assert_int_equal(hz3_central_purge(cls + 1, 0, true), 0);
    assert_true(hz3_central_purge(cls, 0, true) >= 2 * (HZ3_GRANULE - 4096));
    assert_int_equal(hz3_gauge(HZ3_GAUGE_IDLE), 0);
    assert_int_equal(hz3_central_purge(cls, 0, true), 0);
    for (unsigned i = 0; i < 3; i++) assert_int_equal(*(char *)objects[i * PER_RUN], 1);
    size_t purged = hz3_gauge(HZ3_GAUGE_PURGED);
    for (unsigned i = 0; i < 3; i++) hz3_central_retire(cls, &objects[i * PER_RUN + 1], 1);
    assert_true(hz3_central_purge(cls, 0, true) >= 2 * (HZ3_GRANULE - 4096));
    assert_in_range(hz3_gauge(HZ3_GAUGE_PURGED) - purged, 2 * SIZE, 3 * SIZE); /* the rest went before */
    for (unsigned i = 0; i < 3; i++) hz3_central_retire(cls, &objects[i * PER_RUN], 1);
    hz3_central_retire(cls, objects + 3 * PER_RUN, PER_RUN);
    hz3_central_release_heap(heap);
}

/* An object retired into a held run counts as idle, but not once it is taken again. */
static void what_was_taken_again_is_not_idle(void **state)
{
    (void)state;
    struct hz3_heap *heap = &hz3_heaps[5];
    unsigned cls = hz3_class_of(8 * SIZE);
    void *objects[2];
    assert_int_equal(take(heap, cls, objects, 2), 2);
    size_t idle = hz3_gauge(HZ3_GAUGE_IDLE);
    hz3_central_retire(cls, objects, 1);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_IDLE), idle + 8 * SIZE);
    assert_int_equal(take(heap, cls, objects, 1), 1);
    hz3_central_release_heap(heap);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_IDLE), idle);
    hz3_central_retire(cls, objects, 2);
    hz3_central_release_heap(heap);
}

/* A pass that spares huge pages cannot purge a run smaller than one.  The next pass, which does not spare them, can. */
static void what_was_spared_waits_on(void **state)
{
    (void)state;
    struct hz3_heap *heap = &hz3_heaps[7];
    unsigned cls = hz3_class_of(16 * SIZE), many = HZ3_GRANULE / (16 * SIZE);
    size_t huge = hz3_os.huge_page;
    void *objects[HZ3_GRANULE / (16 * SIZE)];
    assert_int_equal(take(heap, cls, objects, many), many);
    for (unsigned i = 0; i < many; i++) memset(objects[i], 1, 16 * SIZE);
    hz3_central_release_heap(heap);
    hz3_central_retire(cls, objects + 1, many - 1);
    hz3_central_release_heap(heap);
    hz3_os.huge_page = HZ3_MIB(2);
    hz3_set(hz3_small_pages_bytes, 0);
    usleep(20000);
    assert_int_equal(hz3_central_purge(cls, 1, false), 0);
    usleep(20000);
    assert_true(hz3_central_purge(cls, 1, true) >= HZ3_GRANULE / 2);
    hz3_os.huge_page = huge;
    hz3_central_retire(cls, objects, 1);
}

static void **to_retire; /* one is retired during each purge, as if by another thread */

/* Replaces libc's. */
int madvise(void *at, size_t bytes, int advice)
{
    if (to_retire && *to_retire) {
        usleep(20000);
        void *object = *to_retire++;
        hz3_central_retire(hz3_class_of(4 * SIZE), &object, 1);
    }
    return (int)syscall(SYS_madvise, at, bytes, advice);
}

static void a_purge_ends_though_others_go_on(void **state)
{
    (void)state;
    enum { RUNS = 10, EACH = PER_RUN / 4 };
    struct hz3_heap *heap = &hz3_heaps[6];
    unsigned cls = hz3_class_of(4 * SIZE);
    void *objects[RUNS * EACH], *first[RUNS + 1] = {NULL};
    assert_int_equal(take(heap, cls, objects, RUNS * EACH), RUNS * EACH);
    for (unsigned i = 0; i < RUNS; i++) first[i] = objects[i * EACH];
    hz3_central_retire(cls, first, 1);
    to_retire = first + 1;
    assert_true(hz3_central_purge(cls, 0, true) >= 4 * SIZE);
    assert_in_range(to_retire - first, 2, 3);
    for (; *to_retire; to_retire++) hz3_central_retire(cls, to_retire, 1);
    for (unsigned i = 0; i < RUNS; i++) hz3_central_retire(cls, objects + i * EACH + 1, EACH - 1);
    hz3_central_release_heap(heap);
    to_retire = NULL;
}

RUN(cmocka_unit_test(empty_runs_go_home), cmocka_unit_test(the_fullest_run_is_refilled_first),
    cmocka_unit_test(each_heap_counts_its_own), cmocka_unit_test(idle_runs_are_purged_once),
    cmocka_unit_test(what_was_taken_again_is_not_idle), cmocka_unit_test(what_was_spared_waits_on),
    cmocka_unit_test(a_purge_ends_though_others_go_on))
