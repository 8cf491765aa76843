/* Times that wrap, and how the vDSO's clock is found. */
#define _GNU_SOURCE
#include "unit.h"

#include "os/os.h"
#include "os/vdso.h"

#include <link.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>

enum { DAY = 24 * 3600 * 1000 };

static void time_passes_over_the_wrap(void **state)
{
    (void)state;
    for (uint32_t then = UINT32_MAX - 10; then != 10; then++) {
        if (!then) continue;
        assert_true(hz3_ms_passed(then, 0, then));
        assert_false(hz3_ms_passed(then, 1, then));
        assert_true(hz3_ms_passed(then, 1000, then + 1000));
        assert_false(hz3_ms_passed(then, 1000, then + 999));
        assert_true(hz3_ms_passed(then, 1000, then + 30u * DAY));
        assert_true(hz3_ms_passed(then, 1000, then + 49u * DAY));
    }
}

static void what_never_was_is_long_ago(void **state)
{
    (void)state;
    for (uint32_t now = UINT32_MAX - DAY; now > UINT32_MAX - DAY - 1 || now < DAY; now += 1000)
        assert_true(hz3_ms_passed(0, 1000, now));
}

static void what_is_to_come_has_not_passed(void **state)
{
    (void)state;
    for (uint32_t now = UINT32_MAX - 10; now != 10; now++) {
        if (now + 1) assert_false(hz3_ms_passed(now + 1, 0, now));
        assert_false(hz3_ms_passed(now + 250, 0, now));
    }
}

/* A copy of the vDSO that has only one of its two hash tables.  had: whether the vDSO has that one. */
static char *copy_with_only(ElfW(Sxword) kept, uintptr_t image, bool *had)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)image;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(image + header->e_phoff);
    size_t size = 0, dynamic = 0;
    for (int i = 0; i < header->e_phnum; i++) {
        if (segment[i].p_type == PT_LOAD) size = segment[i].p_offset + segment[i].p_filesz;
        if (segment[i].p_type == PT_DYNAMIC) dynamic = segment[i].p_offset;
    }
    assert_true(size > 0 && dynamic > 0);
    char *copy = memcpy(malloc(size), (const void *)image, size);
    *had = false;
    for (ElfW(Dyn) *entry = (ElfW(Dyn) *)(copy + dynamic); entry->d_tag != DT_NULL; entry++) {
        if (entry->d_tag == kept)
            *had = true;
        else if (entry->d_tag == DT_HASH || entry->d_tag == DT_GNU_HASH)
            entry->d_tag = DT_DEBUG;
    }
    return copy;
}

static void either_hash_table_of_the_vdso_is_enough(void **state)
{
    (void)state;
    static const char *const names[] = {"__vdso_clock_gettime", "__kernel_clock_gettime", "clock_gettime_of_nobody"};
    static const ElfW(Sxword) tables[] = {DT_HASH, DT_GNU_HASH};
    uintptr_t image = getauxval(AT_SYSINFO_EHDR);
    if (!image) skip();
    assert_true(!hz3_vdso_function(image, names[0]) != !hz3_vdso_function(image, names[1]));
    assert_null(hz3_vdso_function(image, names[2]));
    for (int t = 0; t < 2; t++) {
        bool had;
        char *copy = copy_with_only(tables[t], image, &had);
        for (int i = 0; i < 3; i++) {
            char *there = hz3_vdso_function(image, names[i]), *here = hz3_vdso_function((uintptr_t)copy, names[i]);
            assert_ptr_equal(here, had && there ? copy + (there - (char *)image) : NULL);
        }
        free(copy);
    }
}

static void time_is_the_coarse_clock_s(void **state)
{
    (void)state;
    struct timespec before, after;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
    uint64_t now = hz3_os_now_ms();
    clock_gettime(CLOCK_MONOTONIC_COARSE, &after);
    assert_in_range(now, (uint64_t)before.tv_sec * 1000 + (uint64_t)before.tv_nsec / 1000000,
                    (uint64_t)after.tv_sec * 1000 + (uint64_t)after.tv_nsec / 1000000);
}

RUN(cmocka_unit_test(time_passes_over_the_wrap), cmocka_unit_test(what_never_was_is_long_ago),
    cmocka_unit_test(what_is_to_come_has_not_passed), cmocka_unit_test(either_hash_table_of_the_vdso_is_enough),
    cmocka_unit_test(time_is_the_coarse_clock_s))
