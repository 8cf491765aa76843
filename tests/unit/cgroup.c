/* The limit of a control group, read from folders that imitate the system's. */
#include "folder.h"

#include "os/cgroup.h"

static size_t limit_of(const char *membership)
{
    char path[64];
    write_line("membership", membership);
    snprintf(path, sizeof path, "%s/membership", folder);
    return hz3_cgroup_limit(path, folder);
}

static void without_files_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(hz3_cgroup_limit("/nowhere/at/all", folder), SIZE_MAX);
    assert_int_equal(limit_of("0::/a/b"), SIZE_MAX);
}

static void the_smaller_of_max_and_high_counts(void **state)
{
    (void)state;
    write_line("a/memory.max", "2000000");
    assert_int_equal(limit_of("0::/a"), 2000000);
    write_line("a/memory.high", "max");
    assert_int_equal(limit_of("0::/a"), 2000000);
    write_line("a/memory.high", "1000000");
    assert_int_equal(limit_of("0::/a"), 1000000);
}

static void every_group_above_counts_too(void **state)
{
    (void)state;
    write_line("a/b/c/memory.max", "3000000");
    write_line("a/b/memory.max", "max");
    assert_int_equal(limit_of("0::/a/b/c"), 3000000);
    write_line("a/memory.high", "2000000");
    assert_int_equal(limit_of("0::/a/b/c"), 2000000);
    write_line("memory.max", "1000000"); /* inside a container, its own limit is at the top */
    assert_int_equal(limit_of("0::/a/b/c"), 1000000);
    assert_int_equal(limit_of("0::/"), 1000000);
}

static void neighbours_do_not_count(void **state)
{
    (void)state;
    write_line("a/memory.max", "1000000");
    write_line("ab/memory.max", "2000000");
    assert_int_equal(limit_of("0::/ab"), 2000000);
    assert_int_equal(limit_of("0::/ab/c"), 2000000);
}

static void v1_hierarchies_are_passed_over(void **state)
{
    (void)state;
    write_line("a/memory.max", "1000000");
    assert_int_equal(limit_of("4:memory:/a\n1:name=systemd:/a"), SIZE_MAX);
    assert_int_equal(limit_of("4:memory:/b\n0::/a"), 1000000);
}

RUN(IN_FOLDER(without_files_there_is_none), IN_FOLDER(the_smaller_of_max_and_high_counts),
    IN_FOLDER(every_group_above_counts_too), IN_FOLDER(neighbours_do_not_count),
    IN_FOLDER(v1_hierarchies_are_passed_over))
