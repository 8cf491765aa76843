/* The limit of a control group, read from folders that imitate the system's. */
#include "folder.h"

#include "os/cgroup.h"
#include "os/os.h"
#include "support.h"

#include <sys/resource.h>
#include <unistd.h>

static size_t limit_of(const char *membership)
{
    char path[64];
    write_line("membership", membership);
    write_line("cgroup.procs", "1");
    snprintf(path, sizeof path, "%s/membership", folder);
    return hz3_cgroup_limit(path, folder);
}

static void without_files_there_is_none(void **state)
{
    (void)state;
    assert_int_equal(limit_of("0::/a/b"), SIZE_MAX); /* first: there may be a limit where the test runs */
    assert_int_equal(hz3_cgroup_limit("/nowhere/at/all", folder), SIZE_MAX);
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

static void groups_of_version_1_count_too(void **state)
{
    (void)state;
    write_line("memory/a/memory.limit_in_bytes", "9223372036854771712");
    assert_int_equal(limit_of("4:memory:/a\n1:name=systemd:/a"), SIZE_MAX);
    write_line("memory/memory.limit_in_bytes", "3000000");
    assert_int_equal(limit_of("4:memory:/a\n1:name=systemd:/a"), 3000000);
    assert_int_equal(limit_of("4:memory:/elsewhere/a\n0::/"), 3000000); /* a container sees only its own group */
    write_line("memory/a/memory.limit_in_bytes", "2000000");
    assert_int_equal(limit_of("12:cpu,memory:/a/b:c\n"), 2000000);
    assert_int_equal(limit_of("12:cpu,hugememory:/a\n"), SIZE_MAX);
    write_line("b/memory.max", "1000000");
    assert_int_equal(limit_of("4:memory:/a\n0::/b"), 1000000);
    assert_int_equal(limit_of("0::/b\n4:memory:/a"), 1000000);
}

/* Its group, behind 13 lines of so many bytes. */
static size_t limit_behind(int length)
{
    static char text[13 * 2000 + 32];
    text[0] = 0;
    for (int i = 0; i < 13; i++) sprintf(text + strlen(text), "9:cpu:/%0*d\n", length - 8, 0);
    strcat(text, "1:memory:/a");
    return limit_of(text);
}

static void the_line_of_memory_may_come_last(void **state)
{
    (void)state;
    write_line("memory/a/memory.limit_in_bytes", "2000000");
    assert_int_equal(limit_behind(350), 2000000);
    assert_int_equal(limit_behind(2000), SIZE_MAX); /* no more is read */
}

static void what_cannot_be_taken_back_is_charged(void **state)
{
    (void)state;
    assert_int_equal(limit_of("0::/a"), SIZE_MAX);
    assert_int_equal(hz3_cgroup_charged(), HZ3_CGROUP_UNKNOWN);
    write_line("a/memory.max", "1000000");
    write_line("memory.max", "2000000");
    write_line("memory.stat", "anon 1");
    write_line("a/memory.stat", "anon 40000\nfile 500000\nkernel 2000\nkernel_stack 7\nshmem 300\nanon_thp 5");
    assert_int_equal(limit_of("0::/a"), 1000000);
    assert_int_equal(hz3_cgroup_charged(), 42300);
    write_line("a/memory.stat", "anon 40000\nkernel 500000\nshmem 300\nslab_reclaimable 480000\nslab 481000");
    assert_int_equal(hz3_cgroup_charged(), 60300);
    write_line("a/memory.stat", "anon 40000\nshmem 300\nslab_reclaimable 480000"); /* Linux before 5.18 */
    assert_int_equal(hz3_cgroup_charged(), 40300);
    write_line("memory/a/memory.limit_in_bytes", "900000");
    write_line("memory/a/memory.stat", "cache 9\nrss 7\nshmem 8\ntotal_cache 90\ntotal_rss 50000\ntotal_shmem 600");
    assert_int_equal(limit_of("4:memory:/a\n0::/a"), 900000);
    assert_int_equal(hz3_cgroup_charged(), 50600);
    write_line("memory/a/memory.usage_in_bytes", "70000"); /* where memory.stat says nothing of use */
    write_line("memory/a/memory.stat", "");
    assert_int_equal(hz3_cgroup_charged(), 70000);
    write_line("memory/a/memory.usage_in_bytes", "?");
    assert_int_equal(hz3_cgroup_charged(), HZ3_CGROUP_UNKNOWN);
    write_line("memory/a/memory.usage_in_bytes", "70000"); /* it is not asked again */
    assert_int_equal(hz3_cgroup_charged(), HZ3_CGROUP_UNKNOWN);
}

static void while_no_descriptor_is_left_nothing_is_forgotten(void **state)
{
    (void)state;
    struct rlimit usual, none;
    write_line("a/memory.max", "1000000");
    write_line("a/memory.stat", "anon 40000");
    assert_int_equal(limit_of("0::/a"), 1000000);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &usual), 0);
    none = (struct rlimit){0, usual.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
    size_t charged = hz3_cgroup_charged(), limit = hz3_cgroup_limit("/proc/self/cgroup", folder);
    bool changed = hz3_cgroup_limit_changed();
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &usual), 0);
    assert_int_equal(charged, HZ3_CGROUP_UNKNOWN);
    assert_int_equal(limit, HZ3_CGROUP_UNKNOWN);
    assert_false(changed);
    assert_int_equal(hz3_cgroup_charged(), 40000);
    write_line("a/memory.max", "900000");
    assert_true(hz3_cgroup_limit_changed());
}

static void a_limit_that_changes_is_seen(void **state)
{
    (void)state;
    assert_int_equal(limit_of("0::/a"), SIZE_MAX);
    assert_false(hz3_cgroup_limit_changed());
    write_line("a/memory.max", "1000000");
    write_line("a/memory.high", "max");
    write_line("memory.max", "2000000");
    assert_int_equal(limit_of("0::/a"), 1000000);
    assert_false(hz3_cgroup_limit_changed());
    write_line("a/memory.max", "?");
    assert_false(hz3_cgroup_limit_changed());
    write_line("a/memory.max", "3000000");
    assert_true(hz3_cgroup_limit_changed());
    assert_int_equal(limit_of("0::/a"), 2000000);
    write_line("memory.max", "max");
    assert_true(hz3_cgroup_limit_changed());
}

/* The process changed its root, and has no such files there. */
static void a_limit_that_is_out_of_sight_goes_on_counting(void **state)
{
    (void)state;
    char membership[64];
    snprintf(membership, sizeof membership, "%s/membership", folder);
    write_line("a/memory.max", "1000000");
    assert_int_equal(limit_of("0::/a"), 1000000);
    assert_int_equal(hz3_cgroup_limit("/nowhere", folder), 1000000);
    assert_int_equal(hz3_cgroup_limit(membership, "/nowhere"), 1000000);
    assert_int_equal(hz3_cgroup_limit(membership, "/"), 1000000); /* a folder that is no root of groups */
    assert_false(hz3_cgroup_limit_changed());
    write_line("a/memory.max", "max");
    assert_int_equal(limit_of("0::/a"), SIZE_MAX);
    assert_int_equal(hz3_cgroup_limit("/nowhere", folder), SIZE_MAX);
}

static void tell_of_nonsense(void *unused)
{
    int ends[2];
    char said[1024] = "";
    (void)unused;
    CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    hz3_os_verbose = true;
    write_line("a/memory.max", "-1");
    write_line("a/memory.high", "99999999999999999999999");
    write_line("memory.max", "5000000");
    CHECK(limit_of("0::/a") == 5000000);
    for (int i = 0; i < 2; i++) CHECK(hz3_cgroup_limit("/nowhere", folder) == 5000000);
    CHECK(limit_behind(2000) == SIZE_MAX);
    CHECK(read(ends[0], said, sizeof said - 1) > 0);
    CHECK(strstr(said, "/a/memory.max is ignored: it makes no sense\n") && strstr(said, "/a/memory.high is ignored: "));
    const char *nowhere = strstr(said, "hz3: /nowhere is ignored: No such file or directory\n");
    CHECK(nowhere && !strstr(strchr(nowhere, '\n'), "/nowhere") && !strstr(said, "s/memory.max is"));
    CHECK(strstr(said, "/membership is ignored: File too large\n"));
}

static void nonsense_leaves_the_default_and_a_line(void **state)
{
    (void)state;
    expect_success(in_child(tell_of_nonsense, NULL), 5);
}

RUN(IN_FOLDER(without_files_there_is_none), IN_FOLDER(the_smaller_of_max_and_high_counts),
    IN_FOLDER(every_group_above_counts_too), IN_FOLDER(neighbours_do_not_count),
    IN_FOLDER(groups_of_version_1_count_too), IN_FOLDER(the_line_of_memory_may_come_last),
    IN_FOLDER(what_cannot_be_taken_back_is_charged), IN_FOLDER(while_no_descriptor_is_left_nothing_is_forgotten),
    IN_FOLDER(a_limit_that_changes_is_seen), IN_FOLDER(a_limit_that_is_out_of_sight_goes_on_counting),
    IN_FOLDER(nonsense_leaves_the_default_and_a_line))
