/* The size of the huge pages that the system makes unasked, or on request, read from folders that imitate its own. */
#include "folder.h"

#include "os/os.h"

static void size(size_t kib, const char *text)
{
    char name[64];
    snprintf(name, sizeof name, "hugepages-%zukB/enabled", kib);
    write_line(name, text);
}

static size_t unasked(void)
{
    return hz3_os_huge_page_size(folder, "[always]");
}

static size_t asked(void)
{
    return hz3_os_huge_page_size(folder, "[madvise]");
}

/* Kernels start so: 2 MiB inherits the general setting, and no other size is made. */
static void standard(const char *text)
{
    write_line("enabled", text);
    for (size_t kib = 16; kib < 2048; kib *= 2) size(kib, "always inherit madvise [never]");
    size(2048, "always [inherit] madvise never");
}

static void there_may_be_none(void **state)
{
    (void)state;
    assert_int_equal(unasked(), 0);
    standard("always [madvise] never");
    assert_int_equal(unasked(), 0);
}

static void where_there_is_one_size_it_is_2_mib(void **state)
{
    (void)state;
    write_line("enabled", "[always] madvise never");
    assert_int_equal(unasked(), HZ3_MIB(2));
    write_line("enabled", "always madvise [never]");
    assert_int_equal(unasked(), 0);
}

static void a_size_may_inherit_and_need_not(void **state)
{
    (void)state;
    standard("[always] madvise never");
    assert_int_equal(unasked(), HZ3_MIB(2));
    standard("always madvise [never]");
    size(2048, "[always] inherit madvise never");
    assert_int_equal(unasked(), HZ3_MIB(2));
}

static void where_each_says_never_there_is_none(void **state)
{
    (void)state;
    standard("[always] madvise never");
    size(2048, "always inherit madvise [never]");
    assert_int_equal(unasked(), 0);
}

static void of_several_the_largest_counts(void **state)
{
    (void)state;
    standard("always [madvise] never");
    size(64, "[always] inherit madvise never");
    assert_int_equal(unasked(), HZ3_KIB(64));
    size(512, "[always] inherit madvise never");
    assert_int_equal(unasked(), HZ3_KIB(512));
}

static void some_have_to_be_asked_for(void **state)
{
    (void)state;
    assert_int_equal(asked(), 0);
    write_line("enabled", "always madvise [never]");
    assert_int_equal(asked(), 0);
    write_line("enabled", "always [madvise] never");
    assert_int_equal(asked(), HZ3_MIB(2));
    standard("always [madvise] never");
    assert_int_equal(asked(), HZ3_MIB(2));
    size(2048, "always inherit madvise [never]");
    assert_int_equal(asked(), 0);
    size(128, "always inherit [madvise] never");
    assert_int_equal(asked(), HZ3_KIB(128));
}

static void larger_ones_count_as_2_mib(void **state)
{
    (void)state;
    size_t page = hz3_os.page;
    hz3_os.page = HZ3_KIB(16);
    write_line("enabled", "[always] madvise never");
    size(32768, "always [inherit] madvise never");
    assert_int_equal(unasked(), HZ3_MIB(2));
    hz3_os.page = page;
}

RUN(IN_FOLDER(there_may_be_none), IN_FOLDER(where_there_is_one_size_it_is_2_mib),
    IN_FOLDER(a_size_may_inherit_and_need_not), IN_FOLDER(where_each_says_never_there_is_none),
    IN_FOLDER(of_several_the_largest_counts), IN_FOLDER(some_have_to_be_asked_for),
    IN_FOLDER(larger_ones_count_as_2_mib))
