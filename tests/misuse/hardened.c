/* Proves about lane secure: the usable size is the size that was asked for; a freed object is used again only after 64
 * further frees; two processes get objects in different orders; in 64 processes 28 bits of the heap's address vary; the
 * memory before a run is inaccessible; so are freed large blocks and blocks of 0 bytes; and freed large blocks, however
 * many, cost the process few mappings. */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

enum { SIZE = 100, WAIT = 64, OBJECTS = 30, STARTS = 64, GRANULE = 1 << 16 };

static void the_usable_size_is_what_was_asked_for(void)
{
    for (size_t size = 0; size < KIB(200); size += 1 + size / 50) {
        void *p = malloc(size);
        CHECK(malloc_usable_size(p) == size);
        p = realloc(p, size + 5);
        CHECK(p != NULL && malloc_usable_size(p) == size + 5);
        free(p);
    }
    void *p = aligned_alloc(4096, 5000);
    CHECK(malloc_usable_size(p) == 5000);
    free(p);
}

static void what_is_freed_waits(void)
{
    static const size_t sizes[] = {1, SIZE, 1000, 5000, 60000};
    for (unsigned i = 0; i < 40 * COUNT_OF(sizes); i++) {
        size_t size = sizes[i % COUNT_OF(sizes)];
        void *p = forget(malloc(size));
        free(p);
        for (int frees = 0; frees < WAIT; frees++) {
            void *q = malloc(size);
            CHECK(forget(q) != p);
            free(q);
        }
    }
    void *p = forget(malloc(SIZE));
    free(p);
    int frees = 0;
    void *q = forget(malloc(SIZE));
    for (; q != p && frees < 10000; frees++) {
        free(q);
        q = forget(malloc(SIZE));
    }
    CHECK(frees >= WAIT && frees < 10000);
    free(q);
}

static void print_order(void)
{
    char *p[OBJECTS];
    for (int i = 0; i < OBJECTS; i++) printf("%zd ", (p[i] = malloc(SIZE)) - p[0]);
}

static void print_place(void)
{
    printf("%zu", (size_t)malloc(SIZE));
}

static struct program_run run(const char *what)
{
    struct program_run one =
        run_program((const char *const[]){"/proc/self/exe", what, NULL}, (const char *const[]){NULL}, 10);
    CHECK(one.status == 0);
    return one;
}

static void orders_differ(void)
{
    struct program_run one = run("print_order"), other = run("print_order");
    CHECK(strcmp(one.out, other.out) != 0);
}

/* The heap starts in one of 128 granules after a random multiple of 16 MiB, in three times 2^44 bytes.  If all 27 bits
 * below bit 44 are fair, the probability that one of them has a value less than 10 times in 64 is one in ten million. */
static void bases_vary(void)
{
    unsigned ones[64] = {0};
    for (int i = 0; i < STARTS; i++) {
        size_t place = strtoull(run("print_place").out, NULL, 10);
        if (place >> 45 == 0) skip_test("the address space is small");
        for (int bit = 0; bit < 64; bit++) ones[bit] += place >> bit & 1;
    }
    for (int bit = 16; bit < 44; bit++) CHECK(bit == 23 || (ones[bit] >= 10 && ones[bit] <= STARTS - 10));
}

/* write() fails if the kernel cannot read p. */
static bool may_be_read(const char *p)
{
    int pair[2];
    CHECK(pipe(pair) == 0);
    bool readable = write(pair[1], p, 1) == 1;
    CHECK(readable || errno == EFAULT);
    close(pair[0]);
    close(pair[1]);
    return readable;
}

/* Runs of these sizes have one granule. */
static void runs_have_guards(void)
{
    for (size_t size = 1; size < 4000; size += 1 + size / 8) {
        char *p = malloc(size);
        uintptr_t run = (uintptr_t)p & ~(uintptr_t)(GRANULE - 1);
        CHECK(may_be_read((char *)run));
        CHECK(!may_be_read((char *)run - 1));
        CHECK(!may_be_read((char *)run - GRANULE));
    }
}

/* ---- large blocks ---- */

enum { LARGE = 300000, WAIT_LARGE = 100 };

static void what_was_large_is_unreadable(void)
{
    char *p = malloc(LARGE);
    fill(p, LARGE, 1);
    CHECK(may_be_read(p + LARGE - 1));
    free(forget(p));
    for (int frees = 0; frees < WAIT_LARGE; frees++) {
        CHECK(!may_be_read(p) && !may_be_read(p + LARGE / 2) && !may_be_read(p + LARGE - 1));
        free(forget(malloc(LARGE)));
    }
}

enum { KEPT = KIB(65), WAIT_KEPT = 15 };

/* Smaller ones keep their pages meanwhile. */
static void what_is_kept_is_unreadable(void)
{
    char *p = malloc(KEPT);
    fill(p, KEPT, 1);
    free(forget(p));
    for (int frees = 0; frees < WAIT_KEPT; frees++) {
        CHECK(!may_be_read(p) && !may_be_read(p + KEPT - 1));
        free(forget(malloc(KEPT)));
    }
}

static long faults(void)
{
    struct rusage usage;
    CHECK(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

/* 1,000 blocks, one after the other, need a tenth of the page faults that new pages would cost. */
static void what_is_kept_is_not_faulted_in_again(void)
{
    enum { ROUNDS = 1000, PAGES = KEPT / 4096 };
    long before = faults();
    for (int round = 0; round < ROUNDS; round++) {
        char *p = malloc(KEPT);
        CHECK(is_zero(p, KEPT));
        fill(p, KEPT, (size_t)round);
        free(forget(p));
    }
    CHECK(faults() - before < ROUNDS * PAGES / 10);
}

/* What realloc gives up is unreadable, too. */
static void what_was_moved_is_unreadable(void)
{
    char *p = malloc(MIB(8)), *other = malloc(MIB(1));
    fill_sparsely(p, MIB(8), KIB(64), 2);
    char *less = realloc(forget(p), MIB(1));
    CHECK(less != NULL && !may_be_read(p + MIB(7)));
    char *more = realloc(forget(less), MIB(64));
    CHECK(more != NULL && (more == less || !may_be_read(less)));
    free(more);
    free(other);
}

static void no_large_block_has_old_contents(void)
{
    static char *blocks[64];
    for (int round = 0; round < 20; round++) {
        for (size_t i = 0; i < COUNT_OF(blocks); i++) {
            size_t size = KIB(70) + KIB(16) * ((i + (size_t)round) % 7);
            blocks[i] = malloc(size);
            CHECK(blocks[i] != NULL && is_zero(blocks[i], size));
            fill(blocks[i], size, i);
        }
        for (size_t i = 0; i < COUNT_OF(blocks); i++) free(blocks[i]);
    }
}

static size_t mappings(void)
{
    size_t lines = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    for (int c; (c = getc(maps)) != EOF;) lines += c == '\n';
    fclose(maps);
    return lines;
}

/* 20,000 blocks; of each two the first is freed. */
static void freed_blocks_cost_few_mappings(void)
{
    static char *blocks[20000];
    for (size_t i = 0; i < COUNT_OF(blocks); i++) CHECK((blocks[i] = malloc(KIB(65))) != NULL);
    size_t before = mappings();
    for (size_t i = 0; i < COUNT_OF(blocks); i += 2) free(blocks[i]);
    CHECK(mappings() <= before + 600);
    for (size_t i = 1; i < COUNT_OF(blocks); i += 2) free(blocks[i]);
    CHECK(mappings() <= before + 600);
}

/* ---- blocks of 0 bytes ---- */

static void empty_blocks_are_inaccessible(void)
{
    void *aligned = NULL;
    CHECK(posix_memalign(&aligned, 256, 0) == 0 && (uintptr_t)aligned % 256 == 0);
    char *made[] = {malloc(0),        malloc(0),         calloc(0, 8), calloc(8, 0),
                    realloc(NULL, 0), memalign(4096, 0), aligned,      reallocarray(NULL, 0, 9)};
    for (size_t i = 0; i < COUNT_OF(made); i++) {
        CHECK(made[i] != NULL && !may_be_read(made[i]) && malloc_usable_size(made[i]) == 0);
        for (size_t j = 0; j < i; j++) CHECK(made[j] != made[i]);
    }
    char *more = realloc(made[0], 10);
    CHECK(more != NULL && may_be_read(more) && malloc_usable_size(more) == 10);
    free(more);
    CHECK(realloc(made[1], 0) == NULL);
    for (size_t i = 2; i < COUNT_OF(made); i++) free(made[i]);
}

/* More than there are places for. */
static void many_blocks_may_be_empty(void)
{
    enum { MANY = 1200000 };
    char **made = malloc(MANY * sizeof *made);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < MANY; i++) CHECK((made[i] = malloc(0)) != NULL && (uintptr_t)made[i] % 16 == 0);
        for (int i = 0; i < MANY; i++) free(made[i]);
    }
    free(made);
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    const struct {
        const char *name;
        void (*body)(void);
    } cases[] = {{"usable", the_usable_size_is_what_was_asked_for},
                 {"quarantine", what_is_freed_waits},
                 {"order", orders_differ},
                 {"base", bases_vary},
                 {"guards", runs_have_guards},
                 {"large", what_was_large_is_unreadable},
                 {"kept", what_is_kept_is_unreadable},
                 {"faults", what_is_kept_is_not_faulted_in_again},
                 {"moved", what_was_moved_is_unreadable},
                 {"refilled", no_large_block_has_old_contents},
                 {"mappings", freed_blocks_cost_few_mappings},
                 {"empty", empty_blocks_are_inaccessible},
                 {"many_empty", many_blocks_may_be_empty},
                 {"print_order", print_order},
                 {"print_place", print_place}};
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (strcmp(argv[1], cases[i].name) == 0) return cases[i].body(), 0;
    return 1;
}
