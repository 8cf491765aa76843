/* Proves that freed memory may wait for the background thread, if there is one and the user set no bound.  Otherwise it
 * goes back at once: with a bound (argument "given"), or in a process that may not have such a thread.  (A program with
 * one thread never has one: bite/alone.c.) */
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "gate.h"
#include "support.h"

enum { BLOCKS = 640, FIRST = 64, BOUND = 256, SLACK = 48 }; /* MiB */

static void *block[BLOCKS];

static void take(void)
{
    for (int i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(MIB(1))) != NULL);
        memset(block[i], 1, MIB(1));
    }
}

static void release(int from, int to)
{
    for (int i = from; i < to; i++) free(block[i]);
}

static void release_behind_a_filter(void *arg)
{
    release(FIRST, BLOCKS / 2);
    gate_forbid(&(const int){SYS_clone}, 1, true);
    release(BLOCKS / 2, BLOCKS);
    CHECK(resident_bytes() <= *(size_t *)arg + MIB(BOUND + SLACK));
}

/* A thread that waits has begun its work. */
static bool each_thread_has_waited(void)
{
    glob_t tasks;
    bool waited = true;
    CHECK(glob("/proc/self/task/*/status", 0, NULL, &tasks) == 0);
    for (size_t i = 0; i < tasks.gl_pathc; i++)
        waited &= number_in(tasks.gl_pathv[i], "\nvoluntary_ctxt_switches:") > 0;
    globfree(&tasks);
    return waited;
}

static void *say_nothing(void *arg)
{
    return arg;
}

int main(int argc, char **argv)
{
    (void)argv;
    join_thread(start_thread(say_nothing, NULL));
    bool given = argc > 1;
    if (never_overcommits()) skip_test("what is free counts here");
    size_t before = resident_bytes();
    take();
    release(0, FIRST);
    for (double until = now() + 5; status_number("Threads:") < 2 && now() < until;) sleep_for(0.001);
    CHECK(status_number("Threads:") == 2);
    for (double until = now() + 5; !each_thread_has_waited() && now() < until;) sleep_for(0.001);
    expect_success(in_child(release_behind_a_filter, &before), 30);
    release(FIRST, BLOCKS);
    size_t after = resident_bytes();
    if (given)
        CHECK(after <= before + MIB(BOUND + SLACK));
    else
        CHECK(after >= before + MIB(BLOCKS - FIRST - SLACK)); /* the first ones' decay time may be over */
    for (double until = now() + 10; resident_bytes() > before + MIB(SLACK) && now() < until;) sleep_for(0.02);
    CHECK(resident_bytes() <= before + MIB(SLACK));
    return 0;
}
