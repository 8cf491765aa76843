/* Proves that calloc of a large block that was used before costs memory only where the program writes (case sparse),
 * unless it writes much: a block that is written whole each time keeps its pages (case whole).  Where a block was
 * written in some parts and not in others, all of it is zero (case parts). */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "support.h"

enum { ROUNDS = 20, WARM = 8, PAGE = 4096, SPARSE = 200, WHOLE = 24 };

/* Writes every nth page, from the first'th on. */
static void touch(char *p, size_t bytes, size_t first, size_t nth)
{
    for (size_t i = first * PAGE; i < bytes; i += nth * PAGE) {
        CHECK(p[i] == 0);
        p[i] = 1;
    }
}

/* Other pages each time, so nothing must add up. */
static void sparse(void)
{
    size_t before = resident_bytes(), most = 0;
    for (size_t round = 0; round < ROUNDS; round++) {
        char *p = calloc(1, MIB(SPARSE));
        CHECK(p != NULL);
        touch(p, MIB(SPARSE), round * 7, 100);
        size_t now = resident_bytes();
        if (now > most) most = now;
        free(p);
    }
    CHECK(ANY_MALLOC || most < before + MIB(10)); /* 2 MiB of them are written */
}

static long faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

static void whole(void)
{
    long before = 0;
    for (int round = 0; round < ROUNDS; round++) {
        if (round == WARM) before = faults();
        char *p = calloc(WHOLE, MIB(1));
        CHECK(p != NULL);
        touch(p, MIB(WHOLE), 0, 1);
        free(p);
    }
    CHECK(ANY_MALLOC || faults() - before < (long)(MIB(WHOLE) / PAGE));
}

static void parts(void)
{
    for (size_t size = MIB(1) + 1; size < MIB(80); size = size * 2 + 12345) {
        for (int round = 0; round < 4; round++) {
            char *p = calloc(1, size);
            CHECK(p != NULL && is_zero(p, size));
            memset(p, 1, size / 3);
            memset(p + size / 2, 2, size / 7);
            p[size - 1] = 3;
            free(p);
        }
    }
}

static const struct {
    const char *name;
    void (*live)(void);
} cases[] = {{"sparse", sparse}, {"whole", whole}, {"parts", parts}};

int main(int argc, char **argv)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (argc != 2 || strcmp(argv[1], cases[i].name) != 0) continue;
        cases[i].live();
        return 0;
    }
    return 1;
}
