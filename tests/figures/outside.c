/* What a program that allocated next to nothing has, as it is seen by who locks its memory, or scans it for pointers.
 *     outside locked       locks all memory: locked_kib= is resident then
 *     outside scanned      scanned_kib= can be written, but for the stack: that is what a collector reads */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static unsigned long writable_kib(void)
{
    unsigned long kib = 0, start, end;
    char line[512], how[8], name[256];
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps)) {
        *name = 0;
        sscanf(line, "%lx-%lx %7s %*s %*s %*s %255s", &start, &end, how, name);
        if (!memcmp(how, "rw", 2) && strcmp(name, "[stack]")) kib += (end - start) / 1024;
    }
    if (maps) fclose(maps);
    return kib;
}

int main(int argc, char **argv)
{
    if (argc > 1 && !strcmp(argv[1], "locked")) {
        if (mlockall(MCL_CURRENT)) return 77;
        unsigned long pages = 0;
        FILE *statm = fopen("/proc/self/statm", "r");
        if (!statm || fscanf(statm, "%*u %lu", &pages) != 1) return 1;
        printf("locked_kib=%lu\n", pages * (unsigned long)sysconf(_SC_PAGESIZE) / 1024);
        return 0;
    }
    void *volatile object = malloc(10);
    free(object);
    printf("scanned_kib=%lu\n", writable_kib());
}
