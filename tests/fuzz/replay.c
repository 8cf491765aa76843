/* Runs inputs without a fuzzer: one from a file, or random ones.
 *
 *     fuzz FILE
 *     fuzz random SEED COUNT
 *
 * hz3 is not started anew for each input, so a failure may depend on earlier ones.  SEED and COUNT repeat all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint8_t data[4096];

static void run_random(uint64_t seed, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        size_t size = next_random(&seed) % sizeof data;
        for (size_t at = 0; at < size; at++) data[at] = (uint8_t)next_random(&seed);
        LLVMFuzzerTestOneInput(data, size);
    }
    printf("tried=%lu held=%lu\n", count, count);
}

static void run_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    CHECK(file);
    size_t size = fread(data, 1, sizeof data, file);
    CHECK(getc(file) == EOF && !ferror(file));
    fclose(file);
    LLVMFuzzerTestOneInput((const uint8_t *)"##SI", 4); /* AFL++ does this first in each process */
    LLVMFuzzerTestOneInput(data, size);
}

int main(int argc, char **argv)
{
    unsigned long count = argc == 4 && strcmp(argv[1], "random") == 0 ? strtoul(argv[3], NULL, 0) : 0;
    if (count) {
        run_random(strtoull(argv[2], NULL, 0), count);
    } else if (argc == 2) {
        run_file(argv[1]);
    } else {
        fputs("usage: fuzz FILE | random SEED COUNT\n", stderr);
        return 2;
    }
    return 0;
}
