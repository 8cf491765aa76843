/* Frees nine in ten objects of one size, waits until all pages that can go back have, and then sleeps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { OBJECTS = 400000, SIZE = 320, KEPT = 10 };
static void *objects[OBJECTS];

int main(void)
{
    char c;
    for (int i = 0; i < OBJECTS; i++) memset(objects[i] = malloc(SIZE), 1, SIZE);
    for (int i = 0; i < OBJECTS; i++)
        if (i % KEPT) free(objects[i]);
    dprintf(STDOUT_FILENO, "there\n");
    return read(STDIN_FILENO, &c, 1) < 0;
}
