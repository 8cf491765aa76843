/* The table of the heap profile has the right lines for allocations, frees and resizes, with the threads that made
 * them. */
#include "unit.h"

#include "hz3.h"
#include "base/sizeclass.h"
#include "support.h"
#include "watch/profile.h"
#include "watch/sample.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

static char *table;
static size_t table_length;

static void put(const char *text, size_t length)
{
    table = realloc(table, table_length + length + 1);
    memcpy(table + table_length, text, length + 1);
    table_length += length;
}

struct line {
    size_t count, stack, bytes;
    unsigned by, to, age;
};

/* The sum of all lines of this kind about blocks of this size. */
static struct line sum(const char *kind, size_t bytes)
{
    struct line all = {0};
    table_length = 0;
    hz3_profile_write(put);
    for (char *save, *text = strtok_r(table, "\n", &save); text; text = strtok_r(NULL, "\n", &save)) {
        struct line line = {0};
        char word[16];
        if (sscanf(text, "%15s %zu %zu %zu %u %u %u", word, &line.count, &line.stack, &line.bytes, &line.by, &line.to,
                   &line.age) < 5)
            continue;
        if (strcmp(word, kind) || line.bytes != bytes) continue;
        line.count += all.count;
        all = line;
    }
    return all;
}

static int begin(void **state)
{
    (void)state;
    hz3_set(hz3_profile_wanted, 1); /* samples every allocation */
    hz3_profile_set(1);
    assert_int_equal(hz3_sample_rate(), 1);
    return 0;
}

static int finish(void **state)
{
    (void)state;
    hz3_set(hz3_profile_wanted, 0);
    hz3_profile_set(0);
    return 0;
}

static void a_free_is_told_with_its_allocation(void **state)
{
    (void)state;
    char *p = hz3_malloc(1008);
    struct line allocated = sum("allocated", 1008);
    assert_int_equal(allocated.count, 1);
    assert_true(allocated.stack && allocated.by);
    assert_int_equal(sum("freed", 1008).count, 0);
    memset(p, 1, 1008);
    hz3_free(p);
    struct line freed = sum("freed", 1008);
    assert_int_equal(freed.count, 1);
    assert_int_equal(freed.stack, allocated.stack);
    assert_int_equal(freed.by, allocated.by);
    assert_int_equal(freed.to, allocated.by);
}

static void *free_it(void *p)
{
    hz3_free(p);
    return NULL;
}

static void another_thread_s_free_is_told_as_such(void **state)
{
    (void)state;
    pthread_t thread;
    void *p = hz3_malloc(2000);
    assert_int_equal(pthread_create(&thread, NULL, free_it, p), 0);
    pthread_join(thread, NULL);
    struct line freed = sum("freed", 2000);
    assert_int_equal(freed.count, 1);
    assert_true(freed.to && freed.to != freed.by);
}

static void sizes_and_ways_of_all_kinds_are_seen(void **state)
{
    (void)state;
    void *p[] = {hz3_calloc(3, 1024), hz3_malloc(100000), hz3_calloc(1, 200000), hz3_aligned_alloc(256, 3328),
                 hz3_aligned_alloc(1 << 20, 300000)};
    size_t bytes[] = {3072, 100000, 200000, 3328, 300000};
    for (int i = 0; i < 5; i++) assert_int_equal(sum("allocated", bytes[i]).count, 1);
    assert_int_equal((uintptr_t)p[3] % 256, 0);
    assert_int_equal((uintptr_t)p[4] % (1 << 20), 0);
    for (int i = 0; i < 3072; i++) assert_int_equal(((char *)p[0])[i], 0);
    for (int i = 0; i < 5; i++) hz3_free(p[i]);
    for (int i = 0; i < 5; i++) assert_int_equal(sum("freed", bytes[i]).count, 1);
}

/* Both where the block moves and where it stays. */
static void a_resize_is_a_free_and_an_allocation(void **state)
{
    (void)state;
    size_t bytes[] = {4000, 8000, 150000, 700000, 5008};
    char *p = hz3_malloc(bytes[0]);
    memset(p, 7, bytes[0]);
    for (int i = 1; i < 5; i++) {
        assert_non_null(p = hz3_realloc(p, bytes[i]));
        assert_int_equal(p[3999], 7);
        assert_int_equal(sum("freed", bytes[i - 1]).count, 1);
        assert_int_equal(sum("allocated", bytes[i]).count, 1);
    }
    hz3_free(p);
    assert_int_equal(sum("freed", bytes[4]).count, 1);
}

static void samples_are_used_again(void **state)
{
    (void)state;
    enum { TIMES = 3000 };
    for (int i = 0; i < TIMES; i++) hz3_free(hz3_malloc(6000));
    assert_int_equal(sum("allocated", 6000).count, TIMES);
    assert_int_equal(sum("freed", 6000).count, TIMES);
    assert_non_null(strstr(table, "hz3 heap profile 1"));
}

/* A rate that was set from outside takes effect at a later slow call. */
static void it_is_what_is_wanted(void **state)
{
    (void)state;
    void *p[600];
    for (int round = 0; round < 2; round++) {
        hz3_set(hz3_profile_wanted, round ? 0 : 4096);
        for (int i = 0; i < 600; i++) p[i] = hz3_malloc(2500);
        for (int i = 0; i < 600; i++) hz3_free(p[i]);
        assert_int_equal(hz3_sample_rate(), round ? 0 : 4096);
    }
}

static void want_from_outside(size_t rate)
{
    hz3_set(hz3_profile_wanted, rate);
    if (rate) memset(hz3_class_table_of_malloc, HZ3_CLASS_NONE, sizeof hz3_class_table_of_malloc);
}

/* A loop that never leaves its magazine. */
static void a_steady_program_begins_and_ends_too(void **state)
{
    (void)state;
    want_from_outside(4096);
    for (int i = 0; i < 10; i++) hz3_free(hz3_malloc(96));
    assert_int_equal(hz3_sample_rate(), 4096);
    want_from_outside(0);
    for (int i = 0; i < 2000; i++) hz3_free(hz3_malloc(96));
    assert_int_equal(hz3_sample_rate(), 0);
    assert_int_not_equal(hz3_class_table_of_malloc[6], HZ3_CLASS_NONE);
    want_from_outside(4096);
    want_from_outside(0); /* before it began */
    hz3_free(hz3_malloc(96));
    assert_int_equal(hz3_sample_rate(), 0);
    assert_int_not_equal(hz3_class_table_of_malloc[6], HZ3_CLASS_NONE);
}

static void want_in_vain(void *resource)
{
    struct rlimit none = {0, 0};
    CHECK(setrlimit((__rlimit_resource_t)(intptr_t)resource, &none) == 0);
    hz3_set(hz3_profile_wanted, 4096);
    hz3_profile_set(4096);
    CHECK(hz3_sample_rate() == 0 && hz3_get(hz3_profile_wanted) == 0 && hz3_class_table_of_malloc[1] != HZ3_CLASS_NONE);
}

/* Neither without address space, nor where none may be made writable. */
static void without_room_for_its_tables_there_is_none(void **state)
{
    (void)state;
    if (unit_is_shadowed()) skip();
    expect_success(in_child(want_in_vain, (void *)RLIMIT_AS), 10);
    expect_success(in_child(want_in_vain, (void *)RLIMIT_DATA), 10);
}

/* glibc's dlopen, which finds the unwinder, may end the process then. */
static void want_while_libraries_come(void *unused)
{
    (void)unused;
    struct r_debug *loader = dlsym(RTLD_DEFAULT, "_r_debug");
    loader->r_state = RT_ADD;
    hz3_set(hz3_profile_wanted, 4096);
    hz3_profile_set(4096);
    CHECK(hz3_sample_rate() == 0 && hz3_get(hz3_profile_wanted) == 4096);
    loader->r_state = RT_CONSISTENT;
    hz3_free(hz3_malloc(100000));
    CHECK(hz3_sample_rate() == 4096);
}

static void it_begins_when_the_loader_is_done(void **state)
{
    (void)state;
    if (!dlsym(RTLD_DEFAULT, "_r_debug")) skip();
    expect_success(in_child(want_while_libraries_come, NULL), 10);
}

#define PROFILED(test) cmocka_unit_test_setup_teardown(test, begin, finish)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(without_room_for_its_tables_there_is_none),
        cmocka_unit_test(it_begins_when_the_loader_is_done),
        PROFILED(a_free_is_told_with_its_allocation),
        PROFILED(another_thread_s_free_is_told_as_such),
        PROFILED(sizes_and_ways_of_all_kinds_are_seen),
        PROFILED(a_resize_is_a_free_and_an_allocation),
        PROFILED(samples_are_used_again),
        cmocka_unit_test(it_is_what_is_wanted),
        cmocka_unit_test(a_steady_program_begins_and_ends_too),
    };
    return cmocka_run_group_tests(tests, unit_start, NULL);
}
