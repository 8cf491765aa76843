/* While there is one thread, objects of a page and more earn room only where misses and overflows take turns. */
#include "unit.h"

#include "base/sizeclass.h"
#include "front/budget.h"
#include "front/cache.h"
#include "front/evict.h"

#include "earn.h"

static void classes_of_pages_earn_by_turns(void **state)
{
    enum { SIZE = 8192, MANY = 300 };
    void *objects[MANY];
    unsigned cls = hz3_class_of(SIZE), smaller = hz3_class_of(2048);
    (void)state;
    if (SIZE < hz3_os.page) skip();
    assert_false(hz3_get(hz3_threads_several));
    unsigned before = hz3_thread.cache.capacity[smaller];
    for (int i = 0; i < MANY; i++) objects[i] = hz3_cache_malloc(cls);
    assert_int_equal(hz3_thread.cache.capacity[cls], 0);
    for (int i = 0; i < MANY; i++) hz3_cache_free(objects[i], cls);
    unsigned once = hz3_thread.cache.capacity[cls];
    assert_true(once > 0 && once < hz3_class_info[cls].load);
    assert_true(capacity_earned(cls) > once);
    for (int i = 0; i < MANY; i++) objects[i] = hz3_cache_malloc(smaller);
    assert_true(hz3_thread.cache.capacity[smaller] > before);
    for (int i = 0; i < MANY; i++) hz3_cache_free(objects[i], smaller);
    hz3_cache_flush();
}

RUN(cmocka_unit_test(classes_of_pages_earn_by_turns))
