/* Proves that blocks which realloc moved do not use up the process's mappings.  Their number stays far below the
 * system's limit, and is small again when the blocks are free. */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 22000, SIZE = KIB(600), LARGER = KIB(1300), SMALLER = KIB(900), FEW = 1000, MOST = 40000, ROUNDS = 45 };

/* A round that leaves a mapping for each of its thousand blocks would be too many before the last. */
static char *block[BLOCKS], *kept[ROUNDS * 1000];
static size_t keeping;

static size_t mappings(void)
{
    char text[4096];
    int fd = open("/proc/self/maps", O_RDONLY);
    CHECK(fd >= 0);
    size_t lines = 0;
    for (ssize_t n; (n = read(fd, text, sizeof(text))) > 0;)
        while (n--) lines += text[n] == '\n';
    close(fd);
    return lines;
}

static void resize_all(size_t size)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = realloc(block[i], size);
        CHECK(block[i] != NULL && is_filled(block[i] + 5000, 24, i));
    }
    CHECK(mappings() < MOST);
}

static char *touched(size_t size)
{
    char *p = malloc(size);
    CHECK(p != NULL);
    *p = 1;
    return p;
}

/* Moved blocks are freed and cut up for others.  Those in the middle stay. */
static void keep_middles_of_moved(void)
{
    static char *moved[1000], *between[1000], *front[1000], *back[1000];
    for (size_t i = 0; i < 1000; i++) {
        moved[i] = touched(KIB(576));
        between[i] = touched(KIB(192));
        moved[i] = realloc(moved[i], KIB(704));
        back[i] = touched(KIB(192));
    }
    for (size_t i = 0; i < 1000; i++) free(moved[i]);
    for (size_t i = 0; i < 1000; i++) {
        front[i] = touched(KIB(192));
        kept[keeping++] = touched(KIB(192));
        moved[i] = touched(KIB(320));
    }
    for (size_t i = 0; i < 1000; i++) free(front[i]), free(moved[i]), free(between[i]), free(back[i]);
    malloc_trim(0);
    CHECK(mappings() < MOST);
}

/* Moved blocks are freed and become smaller blocks, and every second of these is freed. */
static void purge_parts_of_moved(void)
{
    enum { MOVED = 3000, BATCH = 150, PARTS = 11 * BATCH };
    static char *part[PARTS];
    for (size_t i = 0; i < MOVED; i++) {
        block[i] = touched(KIB(1152));
        kept[keeping++] = touched(KIB(192));
        block[i] = realloc(block[i], KIB(1408));
        CHECK(block[i] != NULL);
    }
    size_t before = mappings();
    for (size_t first = 0; first < MOVED; first += BATCH) {
        for (size_t i = first; i < first + BATCH; i++) free(block[i]);
        for (size_t i = 0; i < PARTS; i++) part[i] = touched(KIB(128));
        for (size_t i = 0; i < PARTS; i += 2) free(part[i]);
        malloc_trim(0);
    }
    CHECK(before > FEW && mappings() <= before);
}

int main(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(SIZE);
        CHECK(block[i] != NULL);
        fill(block[i] + 5000, 24, i);
        block[i] = realloc(block[i], LARGER); /* moves, as the memory behind it is in use */
        CHECK(block[i] != NULL && is_filled(block[i] + 5000, 24, i));
    }
    CHECK(mappings() < MOST);
    resize_all(SMALLER);
    resize_all(LARGER);
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    malloc_trim(0);
    CHECK(mappings() < FEW);
    for (int round = 0; round < ROUNDS; round++) keep_middles_of_moved();
    while (keeping) free(kept[--keeping]);
    malloc_trim(0);
    CHECK(mappings() < FEW);
    purge_parts_of_moved();
    return 0;
}
