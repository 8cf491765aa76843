/* Free spans: they are found by size and alignment, merge with neighbours of their kind only, and are cut without loss;
 * dirty ones are also found by age.  The tests use a piece of the page pool that nothing else uses. */
#include "unit.h"

#include "back/free_spans.h"
#include "back/gauges.h"
#include "back/pages.h"
#include "back/purge.h"

enum { GRANULES = 64, SINCE = 1000 };
static struct hz3_window *window;
static size_t first; /* the piece's first granule, a multiple of GRANULES */

/* Takes the piece, and cuts it into used spans of one granule each. */
static int take(void **state)
{
    hz3_pages_purge(0, 0, true); /* so that no other span is dirty */
    struct hz3_span *span = hz3_pages_alloc(GRANULES, GRANULES, HZ3_SPAN_LARGE);
    assert_non_null(*state = span);
    window = hz3_window_of((void *)span->start);
    first = hz3_first_granule(window, span);
    hz3_lock(&hz3_pages_lock);
    hz3_spans_unmake(span);
    for (size_t i = 0; i < GRANULES; i++) hz3_spans_make(window, first + i, 1, HZ3_SPAN_LARGE);
    return 0;
}

static int give_back(void **state)
{
    for (size_t i = 0; i < GRANULES; i++)
        if (window->spans[first + i].kind != HZ3_SPAN_NONE) hz3_spans_unmake(&window->spans[first + i]);
    struct hz3_span *span = hz3_spans_make(window, first, GRANULES, HZ3_SPAN_LARGE);
    hz3_unlock(&hz3_pages_lock);
    assert_ptr_equal(span, *state);
    hz3_pages_free(span);
    return 0;
}

/* Makes a part of the piece a free span. */
static struct hz3_span *file(size_t from, size_t granules, enum hz3_span_kind kind, uint32_t since)
{
    for (size_t i = from; i < from + granules; i++) hz3_spans_unmake(&window->spans[first + i]);
    return hz3_spans_file(window, first + from, granules, kind, since);
}

static size_t place(const struct hz3_span *span)
{
    return hz3_first_granule(window, span) - first;
}

static void assert_is(const struct hz3_span *span, size_t from, size_t granules, uint32_t since)
{
    assert_non_null(span);
    assert_int_equal(place(span), from);
    assert_int_equal(span->granules, granules);
    assert_int_equal(span->in_pool.since, since);
}

static void the_smallest_that_fits_is_found(void **state)
{
    (void)state;
    struct hz3_span *three = file(1, 3, HZ3_SPAN_DIRTY, SINCE), *seven = file(5, 7, HZ3_SPAN_DIRTY, SINCE);
    struct hz3_span *twenty = file(20, 20, HZ3_SPAN_DIRTY, SINCE);
    for (size_t granules = 1; granules <= 3; granules++)
        assert_ptr_equal(hz3_spans_find(HZ3_SPAN_DIRTY, granules, 1), three);
    for (size_t granules = 4; granules <= 7; granules++)
        assert_ptr_equal(hz3_spans_find(HZ3_SPAN_DIRTY, granules, 1), seven);
    for (size_t granules = 8; granules <= 20; granules++)
        assert_ptr_equal(hz3_spans_find(HZ3_SPAN_DIRTY, granules, 1), twenty);
    assert_null(hz3_spans_find(HZ3_SPAN_DIRTY, 21, 1));
    hz3_spans_unmake(seven);
    assert_ptr_equal(hz3_spans_find(HZ3_SPAN_DIRTY, 4, 1), twenty);
    hz3_spans_make(window, first + 5, 7, HZ3_SPAN_LARGE);
}

static void alignment_needs_room(void **state)
{
    (void)state;
    struct hz3_span *span = file(1, 8, HZ3_SPAN_DIRTY, SINCE); /* granules 1 .. 8 */
    assert_ptr_equal(hz3_spans_find(HZ3_SPAN_DIRTY, 5, 4), span);
    assert_int_equal(hz3_spans_aligned_start(span, 4) - span->start, 3 * HZ3_GRANULE);
    assert_null(hz3_spans_find(HZ3_SPAN_DIRTY, 6, 4));
    assert_ptr_equal(hz3_spans_find(HZ3_SPAN_DIRTY, 1, 8), span);
    assert_null(hz3_spans_find(HZ3_SPAN_DIRTY, 2, 8));
    assert_null(hz3_spans_find(HZ3_SPAN_DIRTY, 1, 16));
}

static void neighbours_of_a_kind_merge_and_the_largest_tells_the_age(void **state)
{
    (void)state;
    file(1, 3, HZ3_SPAN_DIRTY, 10);
    file(8, 2, HZ3_SPAN_DIRTY, 20);
    assert_is(file(4, 4, HZ3_SPAN_DIRTY, 30), 1, 9, 30);
    assert_is(file(10, 1, HZ3_SPAN_DIRTY, 40), 1, 10, 30);
    assert_is(file(0, 1, HZ3_SPAN_DIRTY, 50), 0, 11, 30);
    assert_is(hz3_spans_neighbour(window, first, HZ3_SPAN_DIRTY), 0, 11, 30);
    assert_is(hz3_spans_neighbour(window, first + 10, HZ3_SPAN_DIRTY), 0, 11, 30);
    assert_null(hz3_spans_neighbour(window, first + 5, HZ3_SPAN_DIRTY));
}

static void kinds_stay_apart(void **state)
{
    (void)state;
    file(1, 3, HZ3_SPAN_DIRTY, 10);
    assert_is(file(4, 3, HZ3_SPAN_CLEAN, 20), 4, 3, 20);
    assert_is(file(7, 3, HZ3_SPAN_UNMAPPED, 30), 7, 3, 30);
    assert_is(hz3_spans_neighbour(window, first + 3, HZ3_SPAN_DIRTY), 1, 3, 10);
    assert_null(hz3_spans_neighbour(window, first + 3, HZ3_SPAN_CLEAN));
    hz3_spans_refile(&window->spans[first + 4], HZ3_SPAN_DIRTY, 40);
    assert_is(hz3_spans_neighbour(window, first + 6, HZ3_SPAN_DIRTY), 1, 6, 40);
}

static void what_is_cut_out_leaves_the_rest_as_it_was(void **state)
{
    (void)state;
    struct hz3_span *span = file(10, 20, HZ3_SPAN_DIRTY, 10);
    struct hz3_span *got = hz3_spans_cut(span, first + 14, 4, HZ3_SPAN_LARGE);
    assert_int_equal(place(got), 14);
    assert_int_equal(got->granules, 4);
    assert_int_equal(got->kind, HZ3_SPAN_LARGE);
    assert_false(got->zeroed);
    assert_is(hz3_spans_neighbour(window, first + 13, HZ3_SPAN_DIRTY), 10, 4, 10);
    assert_is(hz3_spans_neighbour(window, first + 18, HZ3_SPAN_DIRTY), 18, 12, 10);
    hz3_spans_refile(got, HZ3_SPAN_CLEAN, 20);
    assert_true(hz3_spans_cut(got, first + 14, 4, HZ3_SPAN_LARGE)->zeroed);
}

static void the_oldest_is_the_one_that_was_filed_first(void **state)
{
    (void)state;
    assert_null(hz3_spans_oldest());
    struct hz3_span *spans[4];
    for (size_t i = 0; i < 4; i++) spans[i] = file(2 * i, 1, HZ3_SPAN_DIRTY, SINCE);
    file(20, 1, HZ3_SPAN_CLEAN, SINCE - 1); /* clean spans have no age */
    for (size_t i = 0; i < 4; i++) {
        assert_ptr_equal(hz3_spans_oldest(), spans[i]);
        hz3_spans_refile(spans[i], HZ3_SPAN_UNMAPPED, 0);
    }
    assert_null(hz3_spans_oldest());
}

static void gauges_say_what_there_is(void **state)
{
    (void)state;
    size_t used = hz3_gauge(HZ3_GAUGE_USED);
    size_t clean = hz3_gauge(HZ3_GAUGE_CLEAN), unmapped = hz3_gauge(HZ3_GAUGE_UNMAPPED);
    file(0, 5, HZ3_SPAN_DIRTY, SINCE);
    file(5, 7, HZ3_SPAN_CLEAN, SINCE);
    file(12, 9, HZ3_SPAN_UNMAPPED, SINCE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), 5 * HZ3_GRANULE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_CLEAN), clean + 7 * HZ3_GRANULE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_UNMAPPED), unmapped + 9 * HZ3_GRANULE);
    assert_int_equal(hz3_gauge(HZ3_GAUGE_USED), used - 21 * HZ3_GRANULE);
}

#define IN_THE_PIECE(test) cmocka_unit_test_setup_teardown(test, take, give_back)
RUN(IN_THE_PIECE(the_smallest_that_fits_is_found), IN_THE_PIECE(alignment_needs_room),
    IN_THE_PIECE(neighbours_of_a_kind_merge_and_the_largest_tells_the_age), IN_THE_PIECE(kinds_stay_apart),
    IN_THE_PIECE(what_is_cut_out_leaves_the_rest_as_it_was), IN_THE_PIECE(the_oldest_is_the_one_that_was_filed_first),
    IN_THE_PIECE(gauges_say_what_there_is))
