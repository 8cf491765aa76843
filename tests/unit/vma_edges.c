/* Edges, compared with a model that knows for each place the move that brought it. */
#include "unit.h"

#include <stdlib.h>

#include "back/vma_edges.h"

enum { PLACES = 200, STEP = HZ3_GRANULE, BASE = 16 * STEP };
static int origin[PLACES + 1]; /* for each place the number of its move; 0: it was never moved */

static uintptr_t at(size_t place)
{
    return BASE + place * STEP;
}

static void model_move(size_t to, size_t to_places, size_t from, size_t places)
{
    static int last;
    int before = -1;
    for (size_t i = 0; i < places; i++) {
        last += origin[from + i] != before;
        before = origin[from + i];
        origin[to + i] = last;
        origin[from + i] = 0;
    }
    for (size_t i = places; i < to_places; i++) origin[to + i] = last;
}

static int origin_before(size_t place)
{
    return place ? origin[place - 1] : 0;
}

static bool is_edge(size_t place)
{
    return origin[place] != origin_before(place);
}

static void compare(void)
{
    for (size_t i = 0; i < PLACES; i++) assert_int_equal(hz3_vma_edges_inside(at(i), 2 * STEP), is_edge(i + 1));
    size_t from = (size_t)rand() % PLACES, to = from + (size_t)rand() % (PLACES - from), had = 0, has;
    for (size_t i = from; i <= to; i++) had += is_edge(i);
    uintptr_t start = at(from);
    size_t bytes = (to - from) * STEP;
    bool fewer = hz3_vma_edges_narrow(&start, &bytes);
    for (; from < to && !is_edge(from); from++) continue;
    for (; to > from && !is_edge(to); to--) continue;
    has = (origin_before(from) != 0) + (origin[to] != 0);
    assert_int_equal(fewer, had >= 2 && has < had);
    if (!fewer) return;
    assert_int_equal(start, at(from));
    assert_int_equal(bytes, (to - from) * STEP);
}

static void they_are_between_places_of_two_origins(void **state)
{
    (void)state;
    srand(1);
    assert_false(hz3_vma_edges_full());
    for (int i = 0; i < 10000; i++) {
        size_t places = 1 + (size_t)rand() % 30, to_places = places + (size_t)rand() % 2 * 5;
        size_t one = (size_t)rand() % (PLACES / 2 - to_places),
               other = PLACES / 2 + (size_t)rand() % (PLACES / 2 - to_places);
        bool up = rand() % 2;
        size_t to = up ? other : one, from = up ? one : other;
        if (rand() % 2) {
            hz3_vma_edges_move(at(to), to_places * STEP, at(from), places * STEP);
            model_move(to, to_places, from, places);
        } else {
            hz3_vma_edges_drop(at(to), places * STEP);
            memset(&origin[to], 0, places * sizeof(*origin));
        }
        compare();
    }
    hz3_vma_edges_drop(at(0), PLACES * STEP);
    assert_true(hz3_vma_edges_none());
}

static void it_fills_up_and_goes_on(void **state)
{
    (void)state;
    size_t blocks = 0;
    for (; !hz3_vma_edges_full(); blocks++)
        hz3_vma_edges_move(at(10 * blocks), 2 * STEP, at(10 * blocks + 5), 2 * STEP);
    assert_int_equal(blocks, HZ3_VMA_EDGES_FULL / 2);
    for (size_t more = 0; more < HZ3_VMA_EDGES_MAX; more++, blocks++)
        hz3_vma_edges_move(at(10 * blocks), 2 * STEP, at(10 * blocks + 5), 2 * STEP);
    for (size_t i = 0; i < HZ3_VMA_EDGES_MAX / 2; i++) {
        assert_true(hz3_vma_edges_inside(at(10 * i + 1), 2 * STEP));
        hz3_vma_edges_drop(at(10 * i), 5 * STEP);
    }
    assert_true(hz3_vma_edges_none());
}

RUN(cmocka_unit_test(they_are_between_places_of_two_origins), cmocka_unit_test(it_fills_up_and_goes_on))
