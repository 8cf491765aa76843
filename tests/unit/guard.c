/* Guard pages without address space for them, and beside a program's own SIGSEGV handler.  tests/cli/test_guard.py has
 * the messages on misuse. */
#include "unit.h"

#include "support.h"
#include "watch/guard.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

static void refused(void *resource)
{
    struct rlimit none = {0, 0};
    CHECK(setrlimit((__rlimit_resource_t)(intptr_t)resource, &none) == 0);
    CHECK(!hz3_guard_start());
    CHECK(!hz3_guard_has(&none) && !hz3_guard_alloc(16, 16));
}

/* Neither without address space, nor where none may be made writable. */
static void without_room_there_are_none(void **state)
{
    (void)state;
    if (unit_is_shadowed()) skip();
    expect_success(in_child(refused, (void *)RLIMIT_AS), 10);
    expect_success(in_child(refused, (void *)RLIMIT_DATA), 10);
}

/* More failures than there are pages for blocks: each failure returns its page. */
static void allocate_in_vain(void *unused)
{
    struct rlimit before;
    void *p;
    (void)unused;
    CHECK(hz3_guard_start() && getrlimit(RLIMIT_DATA, &before) == 0);
    CHECK(setrlimit(RLIMIT_DATA, &(struct rlimit){1, before.rlim_max}) == 0);
    errno = 42;
    for (int i = 0; i < 1000; i++) CHECK(!hz3_guard_alloc(16, 16) && errno == 42);
    CHECK(setrlimit(RLIMIT_DATA, &before) == 0);
    CHECK((p = hz3_guard_alloc(16, 16)) && hz3_guard_has(p));
    hz3_guard_free(p, "free");
}

static void a_page_that_cannot_be_had_is_not_lost(void **state)
{
    (void)state;
    if (unit_is_shadowed()) skip();
    expect_success(in_child(allocate_in_vain, NULL), 10);
}

static void leave(int signal)
{
    _exit(signal == SIGSEGV ? 0 : 1);
}

static void leave_knowing(int signal, siginfo_t *info, void *context)
{
    (void)context;
    _exit(signal == SIGSEGV && info->si_pid == getpid() ? 0 : 1);
}

static void raise_it(void *knowing)
{
    struct sigaction own = {0};
    if (knowing) {
        own.sa_sigaction = leave_knowing;
        own.sa_flags = SA_SIGINFO;
    } else {
        own.sa_handler = leave;
    }
    CHECK(sigaction(SIGSEGV, &own, NULL) == 0);
    CHECK(hz3_guard_start());
    raise(SIGSEGV);
    CHECK(false);
}

static void what_is_not_about_them_goes_to_the_handler_before(void **state)
{
    (void)state;
    expect_success(in_child(raise_it, NULL), 10);
    expect_success(in_child(raise_it, state), 10);
}

RUN(cmocka_unit_test(without_room_there_are_none), cmocka_unit_test(a_page_that_cannot_be_had_is_not_lost),
    cmocka_unit_test(what_is_not_about_them_goes_to_the_handler_before))
