/* Proves that hz3's background thread lives under a filter that the program began with, and of which hz3 cannot hear:
 * one that kills who changes a thread's processors, policy or priority, as systemd's `~@resources` does.  Also where
 * the program is one for the background (argument: its policy), as systemd's CPUSchedulingPolicy makes it. */
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "gate.h"
#include "support.h"

enum { BLOCKS = 40000, SIZE = 2000 };

static const int forbidden[] = {SYS_sched_setaffinity, SYS_sched_setscheduler, SYS_sched_setparam, SYS_sched_setattr,
                                SYS_setpriority};

static void *sleep_on(void *unused)
{
    free(forget(malloc(100)));
    pause();
    return unused;
}

static void burst_and_idle(void)
{
    static void *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(SIZE)));
        memset(block[i], 1, SIZE);
    }
    size_t full = resident_bytes();
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    for (double end = now() + 20; resident_bytes() > full / 2 && now() < end;) sleep_for(0.1);
    CHECK(resident_bytes() <= full / 2);
}

int main(int argc, char **argv)
{
    if (argc == 1 || strcmp(argv[1], "filtered") != 0) {
        const int policy = argc == 1 ? SCHED_OTHER : strcmp(argv[1], "idle") == 0 ? SCHED_IDLE : SCHED_BATCH;
        CHECK(sched_setscheduler(0, policy, &(const struct sched_param){0}) == 0);
        gate_forbid(forbidden, COUNT_OF(forbidden), false);
        execl(argv[0], argv[0], "filtered", (char *)NULL);
        return 1;
    }
    start_thread(sleep_on, NULL);
    burst_and_idle();
    return 0;
}
