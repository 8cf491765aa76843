/* Proves that blocks which realloc moved leave no mappings behind: their number stays far from what the system allows,
 * and is small again when the blocks are free. */
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 22000, SIZE = KIB(600), LARGER = KIB(1300), SMALLER = KIB(900), FEW = 1000, MOST = 40000 };

static char *block[BLOCKS];

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

int main(void)
{
    for (size_t i = 0; i < BLOCKS; i++) {
        block[i] = malloc(SIZE);
        CHECK(block[i] != NULL);
        fill(block[i] + 5000, 24, i);
        block[i] = realloc(block[i], LARGER); /* with nothing free behind it: it moves */
        CHECK(block[i] != NULL && is_filled(block[i] + 5000, 24, i));
    }
    CHECK(mappings() < MOST);
    resize_all(SMALLER);
    resize_all(LARGER);
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
    malloc_trim(0);
    CHECK(mappings() < FEW);
    return 0;
}
