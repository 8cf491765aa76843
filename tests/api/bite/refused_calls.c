/* Proves that hz3 works on if the kernel starts to refuse mmap, munmap, madvise, mprotect, mremap or new threads.
 * It does not crash, returns no wrong result, and loses no memory however long this lasts.
 *
 *     refused_calls [STEP [FIRST]]     every STEP-th of these cases (each call, all calls, threads), from FIRST on */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>

#include "gate.h"
#include "hardship.h"
#include "support.h"

enum { LARGEST = MIB(4), SETTLING = 3, ROUNDS = 12 };

/* If each round lost one of the largest blocks, 48 MiB would be lost at the end. */
static void live_with(const int *calls, size_t count, int error)
{
    endure(LARGEST);
    gate_refuse(calls, count, error);
    size_t mapped = 0, resident = 0;
    for (int round = 0; round < SETTLING + ROUNDS; round++) {
        if (round == SETTLING) {
            mapped = status_bytes("VmSize:");
            resident = resident_bytes();
        }
        endure(LARGEST);
    }
    CHECK(resident_bytes() < resident + MIB(24));
    CHECK(status_bytes("VmSize:") < mapped + MIB(24));
}

static void without_one(void *call)
{
    live_with((const int *)call, 1, ENOMEM);
}

static void without_any(void *nothing)
{
    (void)nothing;
    live_with(memory_calls, memory_calls_count, ENOMEM);
}

static void without_new_threads(void *nothing)
{
    static const int calls[] = {SYS_clone, SYS_clone3};
    (void)nothing;
    live_with(calls, COUNT_OF(calls), EAGAIN);
}

static void without(size_t kind)
{
    if (kind < memory_calls_count)
        expect_success(in_child(without_one, (void *)&memory_calls[kind]), 20);
    else
        expect_success(in_child(kind == memory_calls_count ? without_any : without_new_threads, NULL), 20);
}

int main(int argc, char **argv)
{
    size_t step = argc > 1 ? strtoul(argv[1], NULL, 10) : 1, first = argc > 2 ? strtoul(argv[2], NULL, 10) : 1,
           tried = 0;
    CHECK(step > 0 && first > 0);
    for (size_t kind = first - 1; kind < memory_calls_count + 2; kind += step, tried++) without(kind);
    printf("tried=%zu held=%zu\n", tried, tried);
}
