/* How the process ends: one line on stderr, then SIGABRT. */
#include "unit.h"

#include "base/check.h"
#include "base/print.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void misuses(void)
{
    hz3_misuse("of all sorts", (void *)0x123450);
}

static void breaks(void)
{
    hz3_assert_failed("a == b");
}

static void expect_end(void (*ends)(void), const char *line)
{
    int from[2];
    char said[256] = "";
    assert_int_equal(pipe(from), 0);
    pid_t child = fork();
    if (child == 0) {
        dup2(from[1], STDERR_FILENO);
        signal(SIGABRT, SIG_DFL); /* cmocka has a handler */
        ends();
        _exit(0);
    }
    close(from[1]);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_int_equal(read(from[0], said, sizeof said - 1), strlen(line));
    assert_string_equal(said, line);
    close(from[0]);
}

static void misuse_is_told_in_a_line_with_the_pointer(void **state)
{
    (void)state;
    expect_end(misuses, "hz3: of all sorts: 0x123450\n");
}

static void nobody_reads_it(void)
{
    int from[2];
    assert_int_equal(pipe(from), 0);
    dup2(from[1], STDERR_FILENO);
    close(from[0]);
    misuses();
}

static void a_misuse_that_nobody_reads_ends_in_the_same_signal(void **state)
{
    (void)state;
    expect_end(nobody_reads_it, "");
}

static void a_broken_invariant_is_quoted(void **state)
{
    (void)state;
    expect_end(breaks, "hz3: broken invariant: a == b: 0x0\n");
}

static void a_text_is_cut_but_its_length_is_told(void **state)
{
    (void)state;
    char buf[8];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_print(&text, "%s", "12345");
    hz3_print(&text, "%s", "67890");
    hz3_print(&text, "%s", "more");
    assert_string_equal(buf, "1234567");
    assert_int_equal(text.length, 14);
}

static void a_name_is_printed_without_what_would_break_a_line(void **state)
{
    (void)state;
    char buf[16];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_print_name(&text, "a\nb]c\x80", ']');
    assert_string_equal(buf, "a?b?c?");
    text.length = 0;
    hz3_print_name(&text, "", 0);
    assert_string_equal(buf, "");
}

RUN(cmocka_unit_test(misuse_is_told_in_a_line_with_the_pointer), cmocka_unit_test(a_broken_invariant_is_quoted),
    cmocka_unit_test(a_misuse_that_nobody_reads_ends_in_the_same_signal),
    cmocka_unit_test(a_text_is_cut_but_its_length_is_told),
    cmocka_unit_test(a_name_is_printed_without_what_would_break_a_line))
