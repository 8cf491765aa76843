/* Proves that hz3 defines every name that it has to.  A missing one would silently be libc's, which then would get
 * pointers that are not its own. */
#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hz3.h"
#include "unit.h"

static const char standard_names[] =
    "malloc free calloc realloc reallocarray memalign aligned_alloc posix_memalign valloc pvalloc "
    "malloc_usable_size free_sized free_aligned_sized cfree "
    "malloc_trim mallinfo mallinfo2 mallopt malloc_stats malloc_info "
    /* new, new[]: plain, nothrow, aligned, aligned and nothrow */
    "_Znwm _ZnwmRKSt9nothrow_t _ZnwmSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t "
    "_Znam _ZnamRKSt9nothrow_t _ZnamSt11align_val_t _ZnamSt11align_val_tRKSt9nothrow_t "
    /* delete, delete[]: plain, sized, nothrow, aligned, sized and aligned, aligned and nothrow */
    "_ZdlPv _ZdlPvm _ZdlPvRKSt9nothrow_t "
    "_ZdlPvSt11align_val_t _ZdlPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t "
    "_ZdaPv _ZdaPvm _ZdaPvRKSt9nothrow_t "
    "_ZdaPvSt11align_val_t _ZdaPvmSt11align_val_t _ZdaPvSt11align_val_tRKSt9nothrow_t";

static const char own_names[] =
    "hz3_malloc hz3_free hz3_calloc hz3_realloc hz3_reallocarray hz3_memalign hz3_aligned_alloc "
    "hz3_posix_memalign hz3_valloc hz3_pvalloc hz3_cfree hz3_free_sized hz3_free_aligned_sized "
    "hz3_malloc_usable_size hz3_malloc_trim hz3_collect "
    "hz3_heap_new hz3_heap_destroy hz3_heap_malloc hz3_heap_calloc hz3_heap_aligned_alloc hz3_heap_realloc "
    "hz3_heap_free hz3_heap_malloc_usable_size "
    "hz3_version hz3_config_string hz3_stats_json hz3_malloc_stats "
    "hz3_control hz3_thread_bytes hz3_profile_pprof";

static void *find(const char *name)
{
    void *found = dlsym(RTLD_DEFAULT, name);
    if (found == NULL) fail_msg("%s is not defined", name);
    return found;
}

static const char *file_of(const char *name)
{
    Dl_info where;
    assert_int_not_equal(dladdr(find(name), &where), 0);
    return where.dli_fname;
}

static void expect_from_hz3(const char *names)
{
    char list[2048];
    assert_true(strlen(names) < sizeof(list));
    strcpy(list, names);
    const char *hz3 = file_of("hz3_config_string");
    for (char *name = strtok(list, " "); name != NULL; name = strtok(NULL, " "))
        if (strcmp(file_of(name), hz3) != 0) fail_msg("%s comes from %s", name, file_of(name));
}

static void standard_names_are_served_by_hz3(void **state)
{
    (void)state;
    expect_from_hz3(standard_names);
}

static void its_own_names_are_there(void **state)
{
    (void)state;
    expect_from_hz3(own_names);
}

static void both_names_share_one_heap(void **state)
{
    (void)state;
    void *(*own_malloc)(size_t);
    void (*own_free)(void *);
    size_t (*own_usable_size)(const void *);
    *(void **)&own_malloc = find("hz3_malloc");
    *(void **)&own_free = find("hz3_free");
    *(void **)&own_usable_size = find("hz3_malloc_usable_size");
    for (size_t size = 1; size < MIB(4); size = size * 3 + 1) {
        void *p = malloc(size), *q = own_malloc(size);
        assert_true(p && q);
        assert_int_equal(own_usable_size(p), malloc_usable_size(p));
        own_free(p);
        free(q);
    }
}

static void statistics_are_cut_as_snprintf_cuts(void **state)
{
    (void)state;
    size_t (*stats_json)(char *, size_t);
    *(void **)&stats_json = find("hz3_stats_json");
    static char whole[1 << 16], part[1 << 16];
    size_t length = stats_json(whole, sizeof(whole));
    assert_in_range(length, 2, sizeof(whole) - 1);
    assert_int_equal(strlen(whole), length);
    assert_int_equal(whole[0], '{');
    assert_int_equal(whole[length - 1], '}');
    assert_true(stats_json(NULL, 0) > 0);
    memset(part, 'x', sizeof(part));
    assert_true(stats_json(part, 10) >= 10);
    assert_int_equal(strlen(part), 9);
    assert_int_equal(part[10], 'x');
}

static void the_version_is_the_header_s_and_the_config_string_s(void **state)
{
    (void)state;
    const char *(*version)(void), *(*config)(void);
    char numbers[32], word[64];
    *(void **)&version = find("hz3_version");
    *(void **)&config = find("hz3_config_string");
    snprintf(numbers, sizeof(numbers), "%d.%d.%d", HZ3_VERSION_MAJOR, HZ3_VERSION_MINOR, HZ3_VERSION_PATCH);
    assert_string_equal(version(), numbers);
    snprintf(word, sizeof(word), " version=%s ", numbers);
    assert_non_null(strstr(config(), word));
}

static void an_array_is_resized_by_either_name(void **state)
{
    (void)state;
    void *(*resize)(void *, size_t, size_t);
    *(void **)&resize = find("hz3_reallocarray");
    char *p = resize(NULL, 3, 50);
    assert_non_null(p);
    memset(p, 'a', 150);
    p = reallocarray(p, 30, 500);
    assert_true(p && malloc_usable_size(p) >= 15000 && p[0] == 'a' && p[149] == 'a');
    errno = 0;
    assert_null(resize(p, SIZE_MAX / 2, 3));
    assert_int_equal(errno, ENOMEM);
    free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_names_are_served_by_hz3),
        cmocka_unit_test(its_own_names_are_there),
        cmocka_unit_test(both_names_share_one_heap),
        cmocka_unit_test(statistics_are_cut_as_snprintf_cuts),
        cmocka_unit_test(the_version_is_the_header_s_and_the_config_string_s),
        cmocka_unit_test(an_array_is_resized_by_either_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
