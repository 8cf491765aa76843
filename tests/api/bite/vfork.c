/* Proves that a child of vfork that frees much on its way to exec leaves its parent able to give memory back. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 2000, SIZE = 60000, CHILDS = BLOCKS / 2 };

static char *block[BLOCKS];

static void release(size_t from, size_t to)
{
    for (size_t i = from; i < to; i++) free(block[i]);
}

int main(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(SIZE);
        CHECK(block[i] != NULL);
        fill(block[i], SIZE, i);
    }
    size_t full = resident_bytes();
    int status;
    pid_t child = vfork();
    if (child == 0) {
        release(0, CHILDS);
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0);
    release(CHILDS, BLOCKS);
    double end = now() + 20;
    while (resident_bytes() > full / 4 && now() < end) sleep_for(0.1);
    CHECK(resident_bytes() <= full / 4);
    return 0;
}
