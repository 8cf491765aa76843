/* The process's mappings, and which pages are in memory. */
#include "unit.h"

#include "os/sandbox.h"
#include "os/mappings.h"
#include "os/os.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 1000, TOUCHED = 700 };

struct sought {
    uintptr_t at;
    size_t bytes;
    unsigned seen;
    uintptr_t before;
};

static bool look(const struct hz3_mapping *mapping, void *to)
{
    struct sought *sought = to;
    assert_true(mapping->start >= sought->before && mapping->end > mapping->start);
    sought->before = mapping->end;
    sought->seen++;
    if (sought->at - mapping->start >= mapping->end - mapping->start) return true;
    assert_true(mapping->readable && mapping->writable && !mapping->executable);
    sought->bytes = mapping->end - mapping->start;
    return false;
}

/* Inaccessible pages on both sides keep the system from merging the mapping with others. */
static char *map(void)
{
    size_t page = hz3_os.page;
    char *at = mmap(NULL, (PAGES + 2) * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED && mprotect(at + page, PAGES * page, PROT_READ | PROT_WRITE) == 0);
    assert_int_equal(madvise(at + page, PAGES * page, MADV_NOHUGEPAGE), 0);
    for (size_t i = 0; i < TOUCHED; i++) at[(1 + i) * page] = 1;
    return at + page;
}

static void pages_that_were_touched_are_in_memory(void **state)
{
    (void)state;
    size_t page = hz3_os.page;
    char *at = map();
    unsigned char pages[PAGES];
    memset(pages, 0xff, sizeof pages);
    errno = 42;
    hz3_os_in_memory((uintptr_t)at, PAGES, pages);
    for (size_t i = 0; i < PAGES; i++) assert_int_equal(pages[i], i < TOUCHED);
    munmap(at, PAGES * page);
    hz3_os_in_memory((uintptr_t)at, PAGES, pages);
    for (size_t i = 0; i < PAGES; i++) assert_int_equal(pages[i], 0);
    assert_int_equal(errno, 42);
}

static void mappings_come_in_order(void **state)
{
    (void)state;
    char *at = map();
    struct sought sought = {.at = (uintptr_t)at}, none = {.at = 1};
    assert_true(hz3_os_each_mapping(look, &sought));
    assert_int_equal(sought.bytes, PAGES * hz3_os.page);
    assert_true(hz3_os_each_mapping(look, &none));
    assert_true(none.seen > sought.seen);
    munmap(at, PAGES * hz3_os.page);
}

static void *look_when_cancelled(void *looked)
{
    struct sought none = {.at = 1};
    pthread_cancel(pthread_self());
    *(bool *)looked = hz3_os_each_mapping(look, &none);
    pthread_testcancel();
    return NULL;
}

/* The asking thread is inside the gate.  If it were cancelled there, a fork would wait for it without end. */
static void asking_is_no_point_of_cancellation(void **state)
{
    (void)state;
    if (__asan_init) skip(); /* it takes a cancelled thread's end for a stack overflow */
    pthread_t thread;
    bool looked = false;
    void *result;
    assert_int_equal(pthread_create(&thread, NULL, look_when_cancelled, &looked), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_true(looked && result == PTHREAD_CANCELED);
}

static void a_program_that_locked_itself_in_gets_none(void **state)
{
    (void)state;
    struct sought none = {.at = 1};
    hz3_set(hz3_sandbox, HZ3_SANDBOX_ALL);
    assert_false(hz3_os_each_mapping(look, &none));
    hz3_set(hz3_sandbox, HZ3_SANDBOX_NONE);
    assert_int_equal(none.seen, 0);
}

RUN(cmocka_unit_test(pages_that_were_touched_are_in_memory), cmocka_unit_test(mappings_come_in_order),
    cmocka_unit_test(asking_is_no_point_of_cancellation), cmocka_unit_test(a_program_that_locked_itself_in_gets_none))
