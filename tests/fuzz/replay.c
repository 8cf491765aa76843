/* Runs inputs without a fuzzer: those of files, or made up by chance.
 *
 *     fuzz FILE...
 *     fuzz random SEED COUNT
 *
 * hz3 is not started anew for each, so an input may need those before it: SEED and COUNT repeat all of them. */
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
    printf("%lu inputs\n", count);
}

static void run_file(const char *name)
{
    FILE *file = fopen(name, "rb");
    CHECK(file);
    LLVMFuzzerTestOneInput(data, fread(data, 1, sizeof data, file));
    CHECK(!ferror(file));
    fclose(file);
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "random") == 0)
        run_random(strtoull(argv[2], NULL, 0), strtoul(argv[3], NULL, 0));
    else
        for (int i = 1; i < argc; i++) run_file(argv[i]);
    return 0;
}
