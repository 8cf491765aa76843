/* Seams, against a flag for every address. */
#include "unit.h"

#include <stdlib.h>

#include "back/seams.h"

enum { PLACES = 200, STEP = HZ3_GRANULE, BASE = 16 * STEP };
static bool seam[PLACES + 1];

static uintptr_t at(size_t place)
{
    return BASE + place * STEP;
}

static void model_move(size_t to, size_t from, size_t places)
{
    for (size_t i = 0; i < places; i++) {
        seam[to + i] = i == 0 || seam[from + i];
        seam[from + i] = false;
    }
    seam[to + places] = true;
}

/* One place at a time: whether each of them has a seam; afterwards none has. */
static void drop_all_and_compare(void)
{
    for (size_t i = 0; i <= PLACES; i++) {
        assert_int_equal(hz3_seams_drop(at(i), STEP), seam[i]);
        seam[i] = false;
    }
    assert_true(hz3_seams_none());
}

static void random_moves_and_drops_leave_what_the_flags_say(void **state)
{
    (void)state;
    srand(1);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 40; i++) {
            size_t places = 1 + (size_t)rand() % 30, one = (size_t)rand() % (PLACES / 2 - places),
                   other = PLACES / 2 + (size_t)rand() % (PLACES / 2 - places);
            bool up = rand() % 2;
            size_t to = up ? other : one, from = up ? one : other;
            if (rand() % 4) {
                hz3_seams_move(at(to), at(from), places * STEP);
                model_move(to, from, places);
            } else {
                bool any = false;
                for (size_t place = to; place < to + places; place++) {
                    any |= seam[place];
                    seam[place] = false;
                }
                assert_int_equal(hz3_seams_drop(at(to), places * STEP), any);
            }
        }
        drop_all_and_compare();
    }
}

static void it_fills_up_and_forgets_no_more_than_what_is_above(void **state)
{
    (void)state;
    size_t blocks = 0;
    for (; !hz3_seams_full(); blocks++) hz3_seams_move(at(10 * blocks), at(10 * blocks + 5), 2 * STEP);
    assert_int_equal(blocks, HZ3_SEAMS_MAX / 2);
    hz3_seams_move(at(10 * blocks), at(10 * blocks + 5), 2 * STEP);
    assert_true(hz3_seams_full());
    assert_false(hz3_seams_drop(at(10 * blocks), 10 * STEP));
    for (size_t i = 0; i < blocks; i++) {
        assert_true(hz3_seams_drop(at(10 * i), STEP));
        assert_true(hz3_seams_drop(at(10 * i + 2), STEP));
    }
    assert_true(hz3_seams_none());
}

RUN(cmocka_unit_test(random_moves_and_drops_leave_what_the_flags_say),
    cmocka_unit_test(it_fills_up_and_forgets_no_more_than_what_is_above))
