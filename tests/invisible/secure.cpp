// What lane secure ends the process for.  The figure counts those misuses that pass.
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/wait.h>
#include <unistd.h>

#include "figure.h"
#include "support.h"

static const size_t LARGE = KIB(256);

static char *freed_large()
{
    char *block = static_cast<char *>(malloc(LARGE));
    memset(block, 'A', LARGE);
    free(block);
    return static_cast<char *>(forget(block));
}

static char read_of_a_freed_large_block()
{
    return *static_cast<volatile char *>(freed_large() + 100);
}

static char write_to_a_freed_large_block()
{
    *static_cast<volatile char *>(freed_large() + 70000) = 'B';
    return 0;
}

static char write_to_no_bytes()
{
    *static_cast<volatile char *>(forget(malloc(0))) = 'Z';
    return 0;
}

static char delete_of_32_bytes_instead_of_1()
{
    operator delete(forget(operator new(1)), static_cast<size_t>(32));
    return 0;
}

static char delete_of_128_aligned_bytes_instead_of_64()
{
    std::align_val_t alignment{64};
    operator delete(forget(operator new(64, alignment)), static_cast<size_t>(128), alignment);
    return 0;
}

static int passes(char (*misuse)())
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        forget(reinterpret_cast<void *>(static_cast<uintptr_t>(misuse())));
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return !WIFSIGNALED(status);
}

/* The next block must not be the freed one, nor have its content. */
static int is_handed_out_again()
{
    char *freed = freed_large(), *next = static_cast<char *>(forget(malloc(LARGE)));
    return freed == next || memchr(next, 'A', LARGE) != nullptr;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    if (strcmp(argv[1], "freed") == 0)
        figure(passes(read_of_a_freed_large_block) + passes(write_to_a_freed_large_block) + is_handed_out_again() +
               passes(write_to_no_bytes));
    else
        figure(passes(delete_of_32_bytes_instead_of_1) + passes(delete_of_128_aligned_bytes_instead_of_64));
}
