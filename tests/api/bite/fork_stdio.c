/* Proves that fork does not deadlock with threads that allocate under locks of libc which fork takes as well: those of
 * streams, of the list of streams, of the loader, and of thread-local data.  The children's heaps are intact.
 *
 *     fork_stdio [PLUGIN]     loads that library (plugin_library.c), too, again and again */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "churn.h"

enum { FORKING = 4, READING = 8, FORKS = 40, LINES = 20, LINE = 40000, PATIENCE = 40 };

static const char *plugin;
static bool stop;
static char path[] = "/tmp/hz3-fork-stdio-XXXXXX";

static bool stopped(void)
{
    return __atomic_load_n(&stop, __ATOMIC_ACQUIRE);
}

static void live(void *unused)
{
    (void)unused;
    churn(3, 60);
}

static void *fork_often(void *unused)
{
    for (int i = 0; i < FORKS; i++) expect_success(in_child(live, NULL), PATIENCE);
    return unused;
}

/* Each line is longer than the last, so that getline grows its buffer, which it does under the stream's lock. */
static void *read_lines(void *unused)
{
    while (!stopped()) {
        FILE *file = fopen(path, "r");
        char *line = NULL;
        size_t room = 0, lines = 0;
        CHECK(file != NULL);
        while (getline(&line, &room, file) > 0) lines++;
        CHECK(lines == LINES);
        free(line);
        CHECK(fclose(file) == 0);
    }
    return unused;
}

static void *flush_all(void *unused)
{
    while (!stopped()) CHECK(fflush(NULL) == 0);
    return unused;
}

static void *live_and_return(void *unused)
{
    live(NULL);
    return unused;
}

/* The plugin's thread-local data is allocated in its first call in each thread. */
static void *use_plugin(void *library)
{
    void *(*make)(size_t);
    void (*drop)(void *, size_t);
    *(void **)&make = dlsym(library, "plugin_make");
    *(void **)&drop = dlsym(library, "plugin_drop");
    CHECK(make != NULL && drop != NULL);
    drop(make(1000), 1000);
    return library;
}

static void *load_plugin(void *unused)
{
    while (plugin != NULL && !stopped()) {
        void *library = dlopen(plugin, RTLD_NOW);
        CHECK(library != NULL);
        pthread_t other = start_thread(use_plugin, library);
        use_plugin(library);
        join_thread(other);
        CHECK(dlclose(library) == 0);
    }
    return unused;
}

static void *load(void *unused)
{
    while (!stopped()) {
        void *library = dlopen("libutil.so.1", RTLD_NOW); /* not in use otherwise, so it is loaded each time */
        if (library) CHECK(dlclose(library) == 0);
        join_thread(start_thread(live_and_return, NULL));
    }
    return unused;
}

static void write_lines(void)
{
    int fd = mkstemp(path);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    CHECK(file != NULL);
    for (int line = 1; line <= LINES; line++) CHECK(fprintf(file, "%*d\n", line * LINE, line) > 0);
    CHECK(fclose(file) == 0);
}

static void run(void *unused)
{
    (void)unused;
    pthread_t forking[FORKING], others[READING + 3];
    for (size_t i = 0; i < READING; i++) others[i] = start_thread(read_lines, NULL);
    others[READING] = start_thread(flush_all, NULL);
    others[READING + 1] = start_thread(load, NULL);
    others[READING + 2] = start_thread(load_plugin, NULL);
    for (size_t i = 0; i < FORKING; i++) forking[i] = start_thread(fork_often, NULL);
    for (size_t i = 0; i < FORKING; i++) join_thread(forking[i]);
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    for (size_t i = 0; i < COUNT_OF(others); i++) join_thread(others[i]);
}

int main(int argc, char **argv)
{
    plugin = argc > 1 ? argv[1] : NULL;
    write_lines();
    expect_success(in_child(run, NULL), PATIENCE);
    CHECK(unlink(path) == 0);
    printf("tried=%d held=%d\n", FORKING * FORKS, FORKING * FORKS);
}
