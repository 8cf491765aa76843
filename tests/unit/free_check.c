/* HZ3_FREE_CHECK: of all addresses in a run, exactly the starts of live objects are live.  Large objects have few state
 * bytes, and these are purged with the granules they describe, not with neighbouring ones. */
#include "unit.h"

#include "api/entry.h"
#include "base/sizeclass.h"

#include <sys/mman.h>

enum { OBJECTS = 20 };

static bool is_live_object(char *const *objects, const char *p)
{
    for (unsigned i = 0; i < OBJECTS; i++)
        if (objects[i] == p) return i % 3 != 1;
    return false;
}

static void only_starts_of_live_objects_are_live(void **state)
{
    (void)state;
    if (!HZ3_FREE_CHECK) skip();
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        char *objects[OBJECTS];
        for (unsigned i = 0; i < OBJECTS; i++)
            assert_non_null(objects[i] = hz3_malloc(hz3_seal_usable_at_most(cls, 0)));
        for (unsigned i = 1; i < OBJECTS; i += 3) hz3_free(objects[i]);
        for (unsigned i = 0; i < OBJECTS; i++)
            for (char *p = objects[i]; p < objects[i] + hz3_class_size(cls); p++)
                if (hz3_is_live(p, cls) != is_live_object(objects, p)) fail_msg("class %u, %p", cls, (void *)p);
        for (unsigned i = 0; i < OBJECTS; i++)
            if (i % 3 != 1) hz3_free(objects[i]);
    }
}

/* Pages of the coarsest table that are resident. */
static size_t resident_states(void)
{
    const struct hz3_window *window = &hz3_windows[0];
    unsigned shift = hz3_state_table_shift(HZ3_STATE_TABLES - 1);
    uintptr_t end = window->base + ((uintptr_t)window->frontier << HZ3_GRANULE_SHIFT);
    uint8_t *at = hz3_state_at(window->base, shift);
    size_t pages = 0;
    for (unsigned char resident; at < hz3_state_at(end, shift); at += hz3_os.page)
        pages += mincore(at, 1, &resident) == 0 && resident & 1;
    return pages;
}

static bool is_in_odd_granule(const void *p)
{
    return (uintptr_t)p / HZ3_GRANULE % 2;
}

static void state_bytes_of_large_objects_are_few_and_go_back(void **state)
{
    (void)state;
    if (!HZ3_FREE_CHECK) skip();
    assert_false(hz3_windows[0].reserved);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++)
        assert_int_equal(hz3_state_shift[cls], hz3_class_size(cls) < 64 ? 4 : hz3_class_size(cls) < 256 ? 6 : 8);

    enum { MANY = 16 * 1024, SIZE = 512 - HZ3_SEAL_BYTES };
    static char *many[MANY];
    for (unsigned i = 0; i < MANY; i++) assert_non_null(many[i] = hz3_malloc(SIZE));
    for (unsigned i = 0; i < MANY; i++)
        if (is_in_odd_granule(many[i])) hz3_free(many[i]);
    hz3_collect(true);
    for (unsigned i = 0; i < MANY; i++)
        if (!is_in_odd_granule(many[i])) assert_true(hz3_is_live(many[i], hz3_class_of(512)));

    for (unsigned i = 0; i < MANY; i++)
        if (is_in_odd_granule(many[i])) assert_non_null(many[i] = hz3_malloc(SIZE));
    size_t before = resident_states();
    for (unsigned i = 0; i < MANY; i++) hz3_free(many[i]);
    hz3_collect(true);
    assert_true(resident_states() + MANY * (size_t)SIZE / 256 / hz3_os.page / 2 < before);
}

/* The second test comes last because it leaves memory fragmented. */
RUN(cmocka_unit_test(state_bytes_of_large_objects_are_few_and_go_back),
    cmocka_unit_test(only_starts_of_live_objects_are_live))
