/* Every size gets the smallest class that holds it, at most 12.5 % larger.  Runs waste less than 1/16.  The division of
 * offsets by multiplication is exact. */
#include "unit.h"

#include "base/sizeclass.h"

static void smallest_class_that_holds(void **state)
{
    (void)state;
    for (size_t size = 1; size <= HZ3_SMALL_MAX; size++) {
        unsigned cls = hz3_class_of(size);
        assert_in_range(cls, 1, HZ3_CLASSES);
        assert_true(hz3_class_size(cls) >= size);
        assert_true(cls == 1 || hz3_class_size(cls - 1) < size);
        assert_int_equal(hz3_class_table_of_malloc[hz3_units_of(size)], cls);
    }
    assert_int_equal(hz3_class_of(0), 1);
}

static void waste_is_bounded(void **state)
{
    (void)state;
    for (size_t size = 129; size <= HZ3_SMALL_MAX; size++)
        assert_true((hz3_class_size(hz3_class_of(size)) - size) * 8 <= size);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        const struct hz3_class_info *info = &hz3_class_info[cls];
        size_t run = (size_t)info->granules * HZ3_GRANULE, used = (size_t)info->objects * info->size;
        assert_true(used <= run);
        assert_true((run - used) * 16 < run);
        assert_int_equal(info->size % HZ3_UNIT, 0);
    }
}

static void offsets_divide_exactly(void **state)
{
    (void)state;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        const struct hz3_class_info *info = &hz3_class_info[cls];
        for (size_t i = 0; i < info->objects; i++) {
            size_t first = i * info->size, last = first + info->size - 1;
            assert_int_equal(first * info->magic >> 40, i);
            assert_int_equal(last * info->magic >> 40, i);
        }
    }
}

static void aligned_classes(void **state)
{
    (void)state;
    for (size_t alignment = 16; alignment <= HZ3_SMALL_MAX; alignment *= 2)
        for (size_t size = 0; size <= HZ3_SMALL_MAX; size += 513) {
            unsigned cls = hz3_class_aligned(size, alignment);
            assert_int_not_equal(cls, 0);
            assert_true(hz3_class_size(cls) >= size);
            assert_int_equal(hz3_class_size(cls) % alignment, 0);
        }
    assert_int_equal(hz3_class_aligned(1, 2 * HZ3_SMALL_MAX), 0);
    assert_int_equal(hz3_class_aligned(HZ3_SMALL_MAX + 1, 16), 0);
}

RUN(cmocka_unit_test(smallest_class_that_holds), cmocka_unit_test(waste_is_bounded),
    cmocka_unit_test(offsets_divide_exactly), cmocka_unit_test(aligned_classes))
