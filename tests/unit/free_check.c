/* HZ3_FREE_CHECK: of all addresses in and between objects of a class, the starts of live ones are live and no others.
 */
#include "unit.h"

#include "api/entry.h"
#include "base/sizeclass.h"

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
        for (unsigned i = 0; i < OBJECTS; i++) assert_non_null(objects[i] = hz3_malloc(hz3_class_size(cls)));
        for (unsigned i = 1; i < OBJECTS; i += 3) hz3_free(objects[i]);
        for (unsigned i = 0; i < OBJECTS; i++)
            for (char *p = objects[i]; p < objects[i] + hz3_class_size(cls); p++)
                if (hz3_is_live(p, cls) != is_live_object(objects, p)) fail_msg("class %u, %p", cls, (void *)p);
        for (unsigned i = 0; i < OBJECTS; i++)
            if (i % 3 != 1) hz3_free(objects[i]);
    }
}

RUN(cmocka_unit_test(only_starts_of_live_objects_are_live))
