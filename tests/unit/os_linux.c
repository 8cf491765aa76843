/* A system that says little of itself, files that cannot be written, and a stderr that the program closes. */
#include "folder.h"

#include "gate.h"
#include "os/os.h"
#include "os/price.h"
#include "os/sandbox.h"
#include "support.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static bool has_random = true;

unsigned long __getauxval(unsigned long type); /* libc's */

/* Stands before libc's: there is neither a vDSO nor, as in a static program, a loader. */
unsigned long getauxval(unsigned long type)
{
    if (type == AT_SYSINFO_EHDR || type == AT_BASE || (type == AT_RANDOM && !has_random)) return 0;
    return __getauxval(type);
}

static uint64_t coarse_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void without_a_vdso_the_kernel_tells_the_time(void **state)
{
    (void)state;
    uint64_t before = coarse_ms(), now = hz3_os_now_ms();
    assert_in_range(now, before, coarse_ms());
}

extern void _dl_deallocate_tls(void *thread, bool with_block) __attribute__((weak));

static void without_a_loader_its_part_of_libc_is_known(void **state)
{
    (void)state;
    uintptr_t function = (uintptr_t)_dl_deallocate_tls;
    assert_false(hz3_os_is_loader((const void *)coarse_ms));
    if (!function) skip(); /* another libc */
    assert_true(hz3_os_is_loader((const void *)function) && hz3_os_is_loader((const void *)(function + 100)));
    assert_false(hz3_os_is_loader((const void *)(function - 1)));
}

static void start_without_getrandom(void *unused)
{
    static const int call = SYS_getrandom;
    (void)unused;
    uint64_t words[2];
    memcpy(words, (const void *)getauxval(AT_RANDOM), sizeof words);
    gate_refuse(&call, 1, ENOSYS);
    hz3_os_start();
    CHECK(hz3_os.random && hz3_os.random != words[0] && hz3_os.random != words[1]);
    has_random = false;
    hz3_os_start();
    CHECK(!hz3_os.random);
}

/* libc's own random words serve, but are not told. */
static void without_getrandom_libc_s_words_serve(void **state)
{
    (void)state;
    expect_success(in_child(start_without_getrandom, NULL), 10);
}

static void texts_are_appended_whole_or_it_is_said_why(void **state)
{
    (void)state;
    char path[64], below[80], text[16] = "";
    snprintf(path, sizeof path, "%s/file", folder);
    snprintf(below, sizeof below, "%s/none/file", folder);
    assert_true(hz3_os_can_append(path));
    assert_int_equal(access(path, F_OK), -1);
    assert_true(hz3_os_append(path, "one ", 4) && hz3_os_append(path, "two", 3));
    assert_int_equal(hz3_os_read_file(path, text, sizeof text), 7);
    assert_string_equal(text, "one two");
    assert_true(hz3_os_can_append(path));
    errno = 0;
    assert_true(!hz3_os_can_append(folder) && errno == EISDIR);
    assert_true(!hz3_os_can_append(below) && errno == ENOENT);
    assert_true(!hz3_os_append(below, "x", 1) && errno == ENOENT);
    assert_true(!hz3_os_append("/dev/full", "x", 1) && errno == ENOSPC);
}

static void expect_from(int pipe, const char *text)
{
    char got[16] = "";
    CHECK(read(pipe, got, sizeof got - 1) == (ssize_t)strlen(text) && !strcmp(got, text));
}

static void close_stderr(void *unused)
{
    enum { COPIES = 200 };
    int kept[2], next[2];
    (void)unused;
    CHECK(pipe(kept) == 0 && pipe(next) == 0 && dup2(kept[1], STDERR_FILENO) == STDERR_FILENO);
    hz3_os_keep_stderr();
    errno = 42;
    close(STDERR_FILENO);
    hz3_os_stderr("kept", 4);
    expect_from(kept[0], "kept");
    CHECK(errno == 42);
    int null = open("/dev/null", O_WRONLY);
    for (int fd = null + 1; fd < COPIES; fd++) /* as a daemon does, whose files may get the same numbers */
        if (fd > next[1]) CHECK(dup2(null, fd) == fd);
    CHECK(dup2(next[1], STDERR_FILENO) == STDERR_FILENO);
    hz3_os_stderr("other", 5);
    expect_from(next[0], "other");
    hz3_os_keep_stderr();
    hz3_os_forget_stderr();
    CHECK(dup2(kept[1], STDERR_FILENO) == STDERR_FILENO);
    hz3_os_stderr("two", 3);
    expect_from(kept[0], "two");
    CHECK(dup2(next[1], STDERR_FILENO) == STDERR_FILENO);
    hz3_os_keep_stderr();
    CHECK(dup2(kept[1], STDERR_FILENO) == STDERR_FILENO);
    hz3_sandbox_enter(true);
    hz3_os_stderr("2", 1);
    expect_from(kept[0], "2");
    CHECK(hz3_sandboxed());
}

static void *read_late(void *from)
{
    char some[4096];
    ssize_t got = 0, last = 0;
    sleep_for(0.02);
    for (int fd = *(int *)from; (got = read(fd, some, sizeof some)) > 0; last = got) continue;
    CHECK(last >= 4 && !memcmp(some + last - 4, "last", 4));
    return from;
}

/* Programs whose event loop has made stderr one that does not block. */
static void fill_stderr(void *unused)
{
    int ends[2];
    static const char some[4096];
    (void)unused;
    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    while (write(STDERR_FILENO, some, sizeof some) > 0) continue;
    CHECK(errno == EAGAIN);
    pthread_t reader = start_thread(read_late, &ends[0]);
    hz3_os_stderr("last", 4);
    CHECK(errno == EAGAIN && close(ends[1]) == 0 && close(STDERR_FILENO) == 0);
    join_thread(reader);
}

static void a_reader_that_is_behind_is_waited_for(void **state)
{
    (void)state;
    expect_success(in_child(fill_stderr, NULL), 10);
}

static void *be_made(void *made_by_free)
{
    hz3_sandbox_join(made_by_free);
    return hz3_sandboxed() ? made_by_free : NULL;
}

static void bind_one_thread(void *unused)
{
    void *bound = &bound;
    hz3_sandbox_join(false);
    hz3_sandbox_enter(false);
    CHECK(pthread_join(start_thread(be_made, &bound), &bound) == 0 && !bound);
    CHECK(hz3_sandboxed());
    hz3_sandbox_enter(true);
    bound = NULL;
    CHECK(pthread_join(start_thread(be_made, &bound), &bound) == 0 && bound);
    (void)unused;
}

static void who_was_made_by_a_free_thread_is_free(void **state)
{
    (void)state;
    expect_success(in_child(bind_one_thread, NULL), 10);
}

static void stderr_is_reached_while_it_can_be(void **state)
{
    (void)state;
    expect_success(in_child(close_stderr, NULL), 10);
}

static void ask_for_limits(void *unused)
{
    int ends[2];
    char said[256] = "";
    (void)unused;
    CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
    size_t none = SIZE_MAX / 1024;
    hz3_os_verbose = true;
    CHECK(setrlimit(RLIMIT_DATA, &(struct rlimit){1, RLIM_INFINITY}) == 0 && hz3_os_bytes_allowed(RLIMIT_DATA) == none);
    gate_refuse(&(const int){SYS_prlimit64}, 1, EPERM);
    errno = 42;
    CHECK(hz3_os_bytes_allowed(RLIMIT_AS) == none && errno == 42);
    CHECK(read(ends[0], said, sizeof said - 1) > 0);
    CHECK(!strcmp(said, "hz3: RLIMIT_DATA is ignored: it makes no sense\n"
                        "hz3: RLIMIT_AS is ignored: Operation not permitted\n"));
}

static void limits_that_cannot_be_are_none_and_are_named(void **state)
{
    (void)state;
    expect_success(in_child(ask_for_limits, NULL), 5);
}

static void refuse_to_purge(void *unused)
{
    static const int call = SYS_madvise;
    (void)unused;
    gate_refuse(&call, 1, EINVAL);
    CHECK(hz3_os_page_price() == 1000);
}

/* Pages that stay cost nothing to touch again: that is no price. */
static void where_no_page_goes_back_the_price_is_a_usual_one(void **state)
{
    (void)state;
    expect_success(in_child(refuse_to_purge, NULL), 10);
}

static void a_refused_purge_breaks_no_huge_page(void **state)
{
    (void)state;
    size_t broken = hz3_get(hz3_os_broken);
    char *page = mmap(NULL, hz3_os.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(page != MAP_FAILED && (*page = 1));
    if (mlock(page, hz3_os.page)) skip();
    assert_false(hz3_os_purge((uintptr_t)page, hz3_os.page, HZ3_MIB(2)));
    assert_int_equal(hz3_get(hz3_os_broken), broken);
    assert_int_equal(munlock(page, hz3_os.page), 0);
    assert_true(hz3_os_purge((uintptr_t)page, hz3_os.page, HZ3_MIB(2)));
    assert_int_equal(hz3_get(hz3_os_broken), broken + hz3_os.page);
}

RUN(cmocka_unit_test(without_a_vdso_the_kernel_tells_the_time),
    cmocka_unit_test(without_a_loader_its_part_of_libc_is_known),
    cmocka_unit_test(where_no_page_goes_back_the_price_is_a_usual_one),
    cmocka_unit_test(a_refused_purge_breaks_no_huge_page), cmocka_unit_test(without_getrandom_libc_s_words_serve),
    IN_FOLDER(texts_are_appended_whole_or_it_is_said_why), cmocka_unit_test(a_reader_that_is_behind_is_waited_for),
    cmocka_unit_test(who_was_made_by_a_free_thread_is_free), cmocka_unit_test(stderr_is_reached_while_it_can_be),
    cmocka_unit_test(limits_that_cannot_be_are_none_and_are_named))
