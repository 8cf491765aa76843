/* A process that had many blocks once, and is idle: how large is a core of it?
 *     cores MIB BYTES KEPT [trim]
 * Fills blocks of so many bytes, MIB in all, and frees all but one in KEPT (0: all).  Then it trims, or waits for the
 * memory to go back, and prints a line. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 4) return 2;
    size_t bytes = strtoul(argv[2], NULL, 10), kept = strtoul(argv[3], NULL, 10);
    size_t count = (strtoul(argv[1], NULL, 10) << 20) / bytes;
    char **blocks = malloc(count * sizeof *blocks);
    if (!blocks) return 1;
    for (size_t i = 0; i < count; i++) {
        if (!(blocks[i] = malloc(bytes))) return 1;
        memset(blocks[i], 1, bytes);
    }
    for (size_t i = 0; i < count; i++)
        if (!kept || i % kept) free(blocks[i]);
    free(blocks);
    if (argc > 4) {
        malloc_trim(0);
    } else {
        sleep(3);
        free(malloc(70000)); /* the heap is used a little */
        sleep(1);
    }
    puts("ready");
    fflush(stdout);
    sleep(60);
}
