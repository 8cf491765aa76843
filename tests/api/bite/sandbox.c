/* Proves that only a filter of seccomp changes what hz3 does, and only in the threads that it binds.  Giving up
 * privileges changes nothing, nor does a filter of another thread, or of a child of vfork, which has its parent's
 * memory: an idle process still gives memory back.  A thread that is bound starts no thread and opens no file. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { BLOCKS = 40000, SIZE = 5000 };

static const int forbidden[] = {SYS_openat, SYS_clone, SYS_clone3, SYS_fstat, SYS_newfstatat};
static void *block[BLOCKS];

static void take(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(SIZE)));
        fill(block[i], SIZE, i);
    }
}

static void release(void)
{
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
}

static void burst(void)
{
    take();
    release();
}

static void burst_and_idle(void)
{
    take();
    size_t full = resident_bytes();
    release();
    for (double end = now() + 20; resident_bytes() > full / 4 && now() < end;) sleep_for(0.1);
    CHECK(resident_bytes() <= full / 4);
}

static void give_up_privileges(void *unused)
{
    (void)unused;
    CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    burst_and_idle();
}

static void by_vfork(void (*body)(void))
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        body();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

static void no_new_privileges(void)
{
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void filter(void)
{
    gate_forbid(forbidden, COUNT_OF(forbidden), false);
}

static void filter_all(void)
{
    gate_forbid(forbidden, COUNT_OF(forbidden), true);
}

/* It may not even ask for its number. */
static void filter_strictly(void)
{
    static const int calls[] = {SYS_openat, SYS_clone, SYS_clone3, SYS_fstat, SYS_newfstatat, SYS_getpid, SYS_gettid};
    gate_forbid(calls, COUNT_OF(calls), false);
    for (int i = 0; i < 100; i++) CHECK((block[i] = malloc(MIB(1))));
    for (int i = 0; i < 100; i++) free(block[i]);
}

static void have_children(void *unused)
{
    (void)unused;
    by_vfork(no_new_privileges);
    by_vfork(filter);
    by_vfork(filter_all);
    burst_and_idle();
    by_vfork(filter_strictly);
}

static pthread_barrier_t turn;

static void *be_bound(void *unused)
{
    free(forget(malloc(100)));
    filter();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    burst();
    pthread_barrier_wait(&turn);
    return unused;
}

static void beside_a_bound_thread(void *unused)
{
    (void)unused;
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    pthread_t other = start_thread(be_bound, NULL);
    pthread_barrier_wait(&turn);
    burst_and_idle();
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    join_thread(other);
}

static void *use_much(void *unused)
{
    burst();
    return unused;
}

/* The filter comes by libc's `syscall`, and the second time by prctl. */
static void be_bound_and_start_threads(void *by_prctl)
{
    static const int files[] = {SYS_openat, SYS_fstat, SYS_newfstatat};
    free(forget(malloc(100)));
    gate_forbid(files, COUNT_OF(files), !by_prctl);
    join_thread(start_thread(use_much, NULL));
    gate_forbid(forbidden, COUNT_OF(forbidden), !by_prctl);
    burst();
    sleep_for(1.5);
    burst();
}

static void *stay(void *unused)
{
    free(forget(malloc(100)));
    pthread_barrier_wait(&turn);
    return unused;
}

/* There is no filter without a program. */
static void a_refused_filter_changes_nothing(void *unused)
{
    struct sock_fprog none = {0};
    (void)unused;
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    pthread_t other = start_thread(stay, NULL);
    CHECK(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none, 0, 0) == -1);
    CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &none) == -1);
    CHECK(syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &none, 0, 0) == -1);
    burst_and_idle();
    pthread_barrier_wait(&turn);
    join_thread(other);
}

/* By a call that returns a descriptor, or by the number of prctl. */
static void be_bound_in_other_ways(void *by_number)
{
    join_thread(start_thread(use_much, NULL));
    if (by_number)
        gate_forbid_by_number(forbidden, COUNT_OF(forbidden));
    else
        gate_forbid_and_listen(forbidden, COUNT_OF(forbidden));
    burst();
    sleep_for(1.5);
    burst();
}

/* A child that libc does not know of. */
static void be_bound_in_a_clone(void *unused)
{
    (void)unused;
    int status;
    pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0) {
        filter_strictly();
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    burst_and_idle();
}

/* hz3 hears libc's `syscall`, too, and must pass on all of its words and errors. */
static void calls_are_passed_on(void)
{
    FILE *file = tmpfile();
    CHECK(file && fputs("first line\n", file) >= 0 && fflush(file) == 0 && ftruncate(fileno(file), 8192) == 0);
    char *page = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 4096);
    char *first = (char *)syscall(SYS_mmap, NULL, 4096, PROT_READ, MAP_PRIVATE, fileno(file), 0);
    CHECK(page != MAP_FAILED && *page == 0 && first != MAP_FAILED && *first == 'f');
    errno = 0;
    CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
    errno = 0;
    CHECK(syscall(SYS_seccomp, 1, 0, NULL) == -1 && errno == EFAULT); /* a question, and no filter */
    CHECK(syscall(SYS_getpid) == getpid() && errno == EFAULT);
    fclose(file);
}

int main(int argc, char **argv)
{
    (void)argc;
    calls_are_passed_on();
    expect_success(in_child(give_up_privileges, NULL), 30);
    expect_success(in_child(have_children, NULL), 30);
    expect_success(in_child(beside_a_bound_thread, NULL), 30);
    expect_success(in_child(be_bound_and_start_threads, NULL), 30);
    expect_success(in_child(be_bound_and_start_threads, argv), 30);
    expect_success(in_child(a_refused_filter_changes_nothing, NULL), 30);
    expect_success(in_child(be_bound_in_other_ways, NULL), 30);
    expect_success(in_child(be_bound_in_other_ways, argv), 30);
    expect_success(in_child(be_bound_in_a_clone, NULL), 30);
    return 0;
}
