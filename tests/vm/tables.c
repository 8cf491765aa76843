/* How much memory a small program has, and how much of it in huge pages that are not the heap's.
 *     tables once      it allocates one object
 *     tables sparse    runs of small objects begin 300 MiB into the heap, of which the rest was never touched
 * Prints dirty= and huge=, in KiB. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 300 << 20, OBJECTS = 10000, OBJECT = 32 };
static void *objects[OBJECTS];
static uintptr_t lowest = UINTPTR_MAX, highest;

static void *take(size_t bytes)
{
    void *volatile block = malloc(bytes);
    if (!block) abort();
    if ((uintptr_t)block < lowest) lowest = (uintptr_t)block;
    if ((uintptr_t)block + bytes > highest) highest = (uintptr_t)block + bytes;
    return block;
}

static void spread(void)
{
    take(BLOCK);
    free(take(BLOCK));
    for (int i = 0; i < OBJECTS; i++) memset(objects[i] = take(OBJECT), 1, OBJECT);
    for (int i = 0; i < OBJECTS; i += 2) free(objects[i]);
}

int main(int argc, char **argv)
{
    static char line[4096];
    unsigned long from, to, start = 0, end = 0, kib, dirty = 0, huge = 0;
    if (argc > 1 && !strcmp(argv[1], "sparse"))
        spread();
    else
        take(10);
    FILE *maps = fopen("/proc/self/smaps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2) start = from, end = to;
        if (sscanf(line, "Anonymous: %lu", &kib) == 1) dirty += kib;
        if (sscanf(line, "AnonHugePages: %lu", &kib) == 1 && (end <= lowest || start >= highest)) huge += kib;
    }
    printf("dirty=%lu huge=%lu\n", dirty, huge);
}
