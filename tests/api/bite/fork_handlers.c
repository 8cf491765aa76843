/* Proves that pthread_atfork handlers may allocate.  With an argument, this includes handlers that were registered
 * before the allocator's own, as by a library's constructor, and so run while it is prepared to fork. */
#include <stdlib.h>
#include <unistd.h>

#include "churn.h"

static void *prepared;
static int runs;

static void prepare(void)
{
    prepared = malloc(1000);
    CHECK(prepared != NULL);
    fill(prepared, 1000, 1);
    churn(1, 20);
}

static void afterwards(void)
{
    CHECK(is_filled(prepared, 1000, 1));
    free(prepared);
    churn(2, 20);
    runs++;
}

static void before_constructors(int argc, char **argv, char **environment)
{
    (void)argv, (void)environment;
    if (argc == 2) CHECK(pthread_atfork(prepare, afterwards, afterwards) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(int, char **,
                                                                              char **) = before_constructors;

static void live_as_a_child(void *forks)
{
    CHECK(runs == (int)(size_t)forks);
    churn(3, 50);
}

int main(int argc, char **argv)
{
    struct busy busy[2];
    (void)argv;
    alarm(50); /* ends a fork that waits for itself */
    if (argc == 1) CHECK(pthread_atfork(prepare, afterwards, afterwards) == 0);
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_start(&busy[i]);
    for (size_t i = 1; i <= 100; i++) expect_success(in_child(live_as_a_child, (void *)i), 10);
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_stop(&busy[i]);
}
