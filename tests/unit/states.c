/* The tables of state bytes are mapped in parts: with the first run that needs them and not before, few for
 * much memory.  A run is not made where its part is refused, nor where somebody else's mapping is, which stays. */
#include "unit.h"

#include "back/arena.h"
#include "back/pages.h"
#include "back/run.h"
#include "back/states.h"
#include "base/sizeclass.h"
#include "pool.h"

enum { STRETCH = 256, PART = 16, MANY = 4 * STRETCH }; /* granules: of a part of the coarsest and of the finest table */

static bool is_mapped(const uint8_t *at)
{
    unsigned char resident;
    return mincore((void *)((uintptr_t)at & ~(hz3_os.page - 1)), 1, &resident) == 0;
}

/* A span that no run was in yet: it has whole parts of each table. */
static struct hz3_span *fresh_stretch(void)
{
    for (int i = 0; i < 4; i++) { /* the first of them may be those of earlier tests */
        struct hz3_span *span = hz3_pages_alloc(STRETCH, STRETCH, HZ3_SPAN_LARGE);
        assert_non_null(span);
        unsigned mapped = 0;
        for (unsigned table = 0; table < HZ3_STATE_TABLES; table++)
            mapped += is_mapped(hz3_state_at(span->start, hz3_state_table_shift(table)));
        if (!mapped) return span;
    }
    fail();
    return NULL;
}

static void parts_come_with_runs_that_need_them(void **state)
{
    (void)state;
    if (!hz3_state_tables) skip();
    struct hz3_span *span = fresh_stretch();
    size_t sizes[HZ3_STATE_TABLES] = {48, 240, HZ3_SMALL_MAX}, before = hz3_arena_metadata_bytes();
    for (unsigned table = 0; table < HZ3_STATE_TABLES; table++) {
        unsigned cls = hz3_class_of(sizes[table]);
        struct hz3_span run = {.start = span->start, .granules = 1};
        for (int i = 0; i < 2; i++) assert_int_equal(hz3_states_cover(&run, cls), HZ3_MAPPED);
        assert_int_equal(hz3_arena_metadata_bytes(), before + (table + 1) * (size_t)HZ3_GRANULE);
        for (unsigned other = 0; other < HZ3_STATE_TABLES; other++)
            assert_int_equal(is_mapped(hz3_state_at(span->start, hz3_state_table_shift(other))), other <= table);
        assert_int_equal(*hz3_state_of((void *)span->start, cls), 0);
    }
    /* Over the end of a part of the finest table. */
    struct hz3_span run = {.start = span->start + (PART - 1) * (uintptr_t)HZ3_GRANULE, .granules = 2};
    assert_int_equal(hz3_states_cover(&run, 1), HZ3_MAPPED);
    assert_int_equal(hz3_arena_metadata_bytes(), before + (HZ3_STATE_TABLES + 1) * (size_t)HZ3_GRANULE);
    hz3_pages_free(span);
}

static void runs_without_state_bytes_are_not_made(void **state)
{
    (void)state;
    if (!hz3_state_tables) skip();
    hz3_pages_free(fresh_stretch());
    size_t bytes = all_bytes(), used = hz3_gauge(HZ3_GAUGE_USED), metadata = hz3_arena_metadata_bytes();
    struct hz3_span *runs[MANY];
    size_t n = 0;
    no_mappings = true;
    while (n < MANY && (runs[n] = hz3_run_new(1, 0))) n++;
    no_mappings = false;
    assert_true(n < STRETCH); /* though there is room for them */
    assert_int_equal(all_bytes(), bytes);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used + (n << HZ3_GRANULE_SHIFT));
    assert_int_equal(hz3_arena_metadata_bytes(), metadata);
    while (n) hz3_run_free(runs[--n]);
    assert_non_null(runs[0] = hz3_run_new(1, 0));
    hz3_run_free(runs[0]);
}

/* Unmapping free spans would make no room there. */
static void in_a_reservation_nothing_gives_way(void **state)
{
    (void)state;
    if (!hz3_state_tables) skip();
    struct hz3_span *span = fresh_stretch(), run = {.start = span->start, .granules = 1};
    struct hz3_window *window = hz3_window_of((void *)span->start);
    bool reserved = window->reserved;
    size_t bytes = all_bytes(), unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
    no_mappings = window->reserved = true;
    assert_int_equal(hz3_states_cover(&run, 1), HZ3_MAP_NOMEM);
    no_mappings = false;
    window->reserved = reserved;
    assert_int_equal(all_bytes(), bytes);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), unmapped);
    hz3_pages_free(span);
}

static void taken_parts_are_left_alone(void **state)
{
    (void)state;
    if (!hz3_state_tables || HZ3_SECURE) skip(); /* in lane secure a run takes no rest of a span */
    struct hz3_span *span = fresh_stretch();
    struct hz3_window *window = hz3_window_of((void *)span->start);
    size_t first = hz3_first_granule(window, span);
    uintptr_t start = span->start, end = start + PART * (uintptr_t)HZ3_GRANULE;
    uint8_t *theirs = hz3_state_at(start, HZ3_UNIT_SHIFT);
    assert_ptr_equal(mmap(theirs, hz3_os.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), theirs);
    *theirs = 42;
    hz3_pages_free(span);
    static struct hz3_span *runs[MANY];
    for (unsigned n = 0; n < MANY; n++) {
        assert_non_null(runs[n] = hz3_run_new(1, 0));
        assert_false(runs[n]->start >= start && runs[n]->start < end);
    }
    assert_int_equal(hz3_class_at((void *)start), HZ3_CLASS_NONE);
    assert_false(hz3_map_was_used((void *)start));
    for (unsigned n = 0; n < MANY; n++) hz3_run_free(runs[n]);
    hz3_states_purge(window, first, first + STRETCH);
    assert_int_equal(*theirs, 42);
}

static void parts_grow_with_the_heap(void **state)
{
    (void)state;
    if (!hz3_state_tables) skip();
    struct hz3_window *window = hz3_arena_open_window(HZ3_MIB(1));
    enum { FAR = 1 << 16 }; /* granules */
    if (!window || hz3_arena_extend(window, FAR) < 0) skip();
    int64_t granule = hz3_arena_extend(window, 1);
    assert_true(granule >= FAR);
    struct hz3_span run = {window->base + ((uintptr_t)granule << HZ3_GRANULE_SHIFT), .granules = 1};
    assert_int_equal(hz3_states_cover(&run, 1), HZ3_MAPPED);
    assert_true(window->state_bytes >= FAR / 128 * (size_t)HZ3_GRANULE >> HZ3_UNIT_SHIFT);
    assert_true(window->state_bytes <= FAR / 32 * (size_t)HZ3_GRANULE >> HZ3_UNIT_SHIFT);
}

RUN(cmocka_unit_test(parts_come_with_runs_that_need_them), cmocka_unit_test(runs_without_state_bytes_are_not_made),
    cmocka_unit_test(in_a_reservation_nothing_gives_way), cmocka_unit_test(taken_parts_are_left_alone),
    cmocka_unit_test(parts_grow_with_the_heap))
