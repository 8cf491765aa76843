/* Proves that a parent can still give memory back after a child of vfork has grown the heap, or freed much, before
 * exec; and that the child gives back what the parent, which had a second thread once, makes no call for. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 2000, SIZE = 60000, LARGE = 100000, CHILDS = BLOCKS / 2 };

static char *block[BLOCKS];

static void take(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) CHECK((block[i] = malloc(SIZE)));
}

static void release(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) free(block[i]);
}

static void take_and_release(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) {
        CHECK((block[i] = malloc(LARGE)));
        fill(block[i], LARGE, i);
    }
    release(from, to);
}

static void *end_at_once(void *unused)
{
    return unused;
}

static void by_vfork(void (*body)(size_t from, size_t to))
{
    int status;
    pid_t child = vfork();
    if (child == 0) {
        body(0, CHILDS);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(void)
{
    by_vfork(take);
    take(CHILDS, BLOCKS);
    for (size_t i = 0; i < BLOCKS; i++) fill(block[i], SIZE, i);
    size_t full = resident_bytes();
    by_vfork(release);
    release(CHILDS, BLOCKS);
    double end = now() + 20;
    while (resident_bytes() > full / 4 && now() < end) sleep_for(0.1);
    CHECK(resident_bytes() <= full / 4);
    join_thread(start_thread(end_at_once, NULL));
    sleep_for(1.5); /* giving back at once has an account, which is settled after the decay time */
    by_vfork(take_and_release);
    CHECK(resident_bytes() <= full / 4);
    return 0;
}
