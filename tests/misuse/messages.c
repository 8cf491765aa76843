/* Ends as its argument says, to test what expect_abort accepts and refuses. */
#include <stdio.h>
#include <string.h>

#include "misuse.h"

int main(int argc, char **argv)
{
    static char object[64];
    CHECK(argc == 2);
    const char *mode = argv[1];
    char *p = accuse(object);
    if (strcmp(mode, "silent") == 0) abort();
    if (strcmp(mode, "two_lines") == 0) fprintf(stderr, "hz3: warning: nothing\n");
    if (strcmp(mode, "other_pointer") == 0) p++;
    fprintf(stderr, "hz3: %s: %p", strcmp(mode, "other_words") ? "double free" : "interior pointer freed", p);
    int thread = getpid() + !strcmp(mode, "other_thread");
    if (strcmp(mode, "no_call"))
        fprintf(stderr, " (cached by thread %d, called from %s+0x12)", thread,
                strcmp(mode, "other_module") ? "messages" : "libmessages.so");
    if (strcmp(mode, "no_newline")) fputc('\n', stderr);
    if (strcmp(mode, "crashes") == 0) __builtin_trap();
    if (strcmp(mode, "exits") == 0) return 134;
    abort();
}
