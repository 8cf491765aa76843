/* Proves that the dlopen-safe library can be loaded into a running process, serves threads from before and after, and
 * survives its own dlclose.  The process's malloc may be hz3's or another. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"

enum { THREADS = 6, BLOCKS = 300 };

static void *(*own_malloc)(size_t);
static void *(*own_realloc)(void *, size_t);
static void (*own_free)(void *);

static void *find(void *library, const char *name)
{
    void *found = dlsym(library, name);
    CHECK(found != NULL);
    return found;
}

static void load(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) fprintf(stderr, "%s\n", dlerror());
    CHECK(library != NULL);
    const char *(*config)(void);
    *(void **)&config = find(library, "hz3_config_string");
    CHECK(strncmp(config(), "hz3-config:", strlen("hz3-config:")) == 0);
    *(void **)&own_malloc = find(library, "hz3_malloc");
    *(void **)&own_realloc = find(library, "hz3_realloc");
    *(void **)&own_free = find(library, "hz3_free");
    CHECK(dlclose(library) == 0);
}

static pthread_barrier_t loaded, filled, checked;
static void *blocks[THREADS][BLOCKS];

static size_t size_of(size_t i)
{
    return i % 50 ? 1 + i * i / 3 : MIB(1) + i;
}

/* Alternates with the process's own malloc, whose blocks hz3 must not take for its own. */
static void *live(void *arg)
{
    size_t me = (size_t)arg, next = (me + 1) % THREADS;
    pthread_barrier_wait(&loaded);
    for (size_t i = 0; i < BLOCKS; i++) {
        void *others = malloc(size_of(i));
        blocks[me][i] = own_malloc(size_of(i) / 2 + 8);
        CHECK(others != NULL && blocks[me][i] != NULL);
        fill(blocks[me][i], 8, me);
        blocks[me][i] = own_realloc(blocks[me][i], size_of(i));
        CHECK(blocks[me][i] != NULL && (size_of(i) < 8 || is_filled(blocks[me][i], 8, me)));
        fill(blocks[me][i], size_of(i), me);
        free(others);
    }
    pthread_barrier_wait(&filled);
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK(is_filled(blocks[next][i], size_of(i), next));
        own_free(blocks[next][i]);
    }
    pthread_barrier_wait(&checked);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    CHECK(argc == 2 || (argc == 3 && strcmp(argv[2], "beside_hz3") == 0));
    CHECK((dlsym(RTLD_DEFAULT, "hz3_malloc") == NULL) == (argc == 2)); /* hz3 is preloaded only if asked */
    pthread_barrier_init(&loaded, NULL, THREADS);
    pthread_barrier_init(&filled, NULL, THREADS);
    pthread_barrier_init(&checked, NULL, THREADS);
    for (size_t i = 0; i < THREADS / 2; i++) threads[i] = start_thread(live, (void *)i);
    load(argv[1]);
    for (size_t i = THREADS / 2; i < THREADS; i++) threads[i] = start_thread(live, (void *)i);
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
}
