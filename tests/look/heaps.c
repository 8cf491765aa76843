/* Fills a heap of its own with objects, free ones among them, and large blocks; beside blocks of malloc.  Prints hz3's
 * own statistics, and waits until its input ends. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OBJECTS = 60000, SIZE = 320, BLOCKS = 20, BLOCK = 500000 };

int main(void)
{
    static void *objects[OBJECTS], *others[OBJECTS];
    char text[8192], c;
    void *(*new)(void) = (void *(*)(void))dlsym(RTLD_DEFAULT, "hz3_heap_new");
    void *(*take)(void *, size_t) = (void *(*)(void *, size_t))dlsym(RTLD_DEFAULT, "hz3_heap_malloc");
    size_t (*says)(char *, size_t) = (size_t (*)(char *, size_t))dlsym(RTLD_DEFAULT, "hz3_stats_json");
    void *heap = new ();
    for (int i = 0; i < OBJECTS; i++) {
        memset(objects[i] = take(heap, SIZE), 1, SIZE);
        memset(others[i] = malloc(SIZE), 1, SIZE);
    }
    for (int i = 0; i < BLOCKS; i++) memset(take(heap, BLOCK), 1, BLOCK);
    for (int i = 0; i < OBJECTS; i += 2) free(objects[i]);
    says(text, sizeof text);
    strcat(text, "\n");
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) return 1;
    return read(STDIN_FILENO, &c, 1) < 0;
}
