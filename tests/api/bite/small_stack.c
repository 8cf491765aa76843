/* Proves that malloc and free get by with little stack while they look after threads that sleep: a coroutine may have
 * no more.  Behind the end of this one's lies a page that cannot be accessed. */
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "support.h"

enum { SLEEPERS = 8, OBJECTS = 300, STACK = 4096 };

static ucontext_t outside, inside;

static void earn(void)
{
    static _Thread_local void *object[OBJECTS];
    for (int round = 0; round < 8; round++) {
        for (int i = 0; i < OBJECTS; i++) CHECK((object[i] = malloc(512)) != NULL);
        for (int i = 0; i < OBJECTS; i++) free(object[i]);
    }
}

static void *earn_and_sleep(void *unused)
{
    earn();
    pause();
    return unused;
}

static void allocate(void)
{
    for (double end = now() + 2; now() < end;) earn();
    swapcontext(&inside, &outside);
}

int main(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), room = (STACK + page - 1) / page * page;
    for (int i = 0; i < SLEEPERS; i++) start_thread(earn_and_sleep, NULL);
    for (double end = now() + 0.01; now() < end;) earn(); /* what is done once is done on a usual stack */
    char *stack = mmap(NULL, page + room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(stack != MAP_FAILED && mprotect(stack, page, PROT_NONE) == 0);
    CHECK(getcontext(&inside) == 0);
    inside.uc_stack.ss_sp = stack + page;
    inside.uc_stack.ss_size = STACK;
    inside.uc_link = NULL;
    makecontext(&inside, allocate, 0);
    CHECK(swapcontext(&outside, &inside) == 0);
    return 0;
}
