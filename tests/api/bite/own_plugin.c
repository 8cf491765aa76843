/* Proves that blocks go back to whoever gave them if a program opens a library that exports a malloc of its own.
 *
 *     own_plugin LIBRARY local|deepbind own|shared
 *
 * own: the library calls its own functions.  shared: it calls the program's, as symbols are looked up in the program
 * first; hz3 leaves RTLD_DEEPBIND out, with which they are not. */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "churn.h"

enum { ROUNDS = 20 };

static void *(*make)(size_t);
static void (*drop)(void *, size_t);
static bool (*owns)(const void *);
static size_t (*live)(void);
static bool is_own;

static void *use(void *arg)
{
    static const size_t sizes[] = {1, 100, 5000, 70000, MIB(2)};
    void *theirs[COUNT_OF(sizes)], *ours[COUNT_OF(sizes)];
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        theirs[i] = make(sizes[i]);
        ours[i] = malloc(sizes[i]);
        CHECK(ours[i] != NULL && !owns(ours[i]) && owns(theirs[i]) == is_own);
        fill(ours[i], sizes[i], i);
    }
    CHECK(live() == (is_own ? COUNT_OF(sizes) : 0));
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        drop(theirs[i], sizes[i]);
        CHECK(is_filled(ours[i], sizes[i], i));
        free(ours[i]);
    }
    CHECK(live() == 0);
    return arg;
}

int main(int argc, char **argv)
{
    CHECK(argc == 4);
    int deepbind = strcmp(argv[2], "deepbind") == 0 ? RTLD_DEEPBIND : 0;
    is_own = strcmp(argv[3], "own") == 0;
    for (int round = 0; round < ROUNDS; round++) {
        void *library = dlopen(argv[1], deepbind | RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        *(void **)&make = dlsym(library, "plugin_make");
        *(void **)&drop = dlsym(library, "plugin_drop");
        *(void **)&owns = dlsym(library, "plugin_owns");
        *(void **)&live = dlsym(library, "plugin_live");
        CHECK(make != NULL && drop != NULL && owns != NULL && live != NULL);
        for (int times = 0; times < 5; times++) use(NULL);
        join_thread(start_thread(use, NULL));
        churn((uint64_t)round, 20);
        CHECK(dlclose(library) == 0);
    }
    churn(1, 100);
}
