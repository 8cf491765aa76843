/* mallinfo2's fields as glibc's manual defines them, and malloc_stats, which writes to the stream stderr.  The figure
 * counts what is not so. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "figure.h"
#include "support.h"

enum { LARGE = 3, SMALL = 2000 };

/* hblks: "the total number of chunks allocated with mmap"; hblkhd: "the total size of memory allocated with mmap, in
 * bytes"; ordblks: "the number of chunks not in use". */
static int wrong_fields(void)
{
    static void *small[SMALL];
    void *large[LARGE];
    struct mallinfo2 before = mallinfo2();
    for (int i = 0; i < LARGE; i++) CHECK((large[i] = malloc(MIB(64))));
    struct mallinfo2 with = mallinfo2();
    for (int i = 0; i < LARGE; i++) free(large[i]);
    struct mallinfo2 without = mallinfo2();
    for (int i = 0; i < SMALL; i++) CHECK((small[i] = malloc(5000)));
    for (int i = 0; i < SMALL; i += 2) free(small[i]);
    struct mallinfo2 holes = mallinfo2();
    return (with.hblks - before.hblks != LARGE) + (with.hblkhd - before.hblkhd < LARGE * MIB(64)) +
           (without.hblks != before.hblks) + (without.hblkhd != before.hblkhd) + (holes.ordblks <= before.ordblks);
}

static int missing_from_the_stream(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *kept = stderr, *stream = open_memstream(&text, &size);
    CHECK(stream != NULL);
    stderr = stream;
    malloc_stats();
    stderr = kept;
    CHECK(fclose(stream) == 0);
    free(text);
    return size < 20;
}

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    figure(strcmp(argv[1], "mallinfo2") == 0 ? wrong_fields() : missing_from_the_stream());
}
