/* Proves that hz3 makes its thread by libc's pthread_create, past the program's own, which holds a lock while it
 * allocates; and that the thread has hz3's name, not that of whoever freed. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { BLOCKS = 40000, SIZE = 2000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static bool is_there(const char *name)
{
    bool found = false;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        char path[300], comm[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (!file) continue;
        found |= fgets(comm, sizeof comm, file) && strcmp(comm, name) == 0;
        fclose(file);
    }
    closedir(dir);
    return found;
}

static void burst(void)
{
    static void *block[BLOCKS];
    for (size_t i = 0; i < BLOCKS; i++) {
        CHECK((block[i] = malloc(SIZE)));
        memset(block[i], 1, SIZE);
    }
    for (size_t i = 0; i < BLOCKS; i++) free(block[i]);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    CHECK(pthread_mutex_trylock(&lock) == 0);
    burst();
    int error = real(thread, attributes, body, arg);
    pthread_mutex_unlock(&lock);
    return error;
}

static void *sleep_on(void *unused)
{
    free(forget(malloc(100)));
    pause();
    return unused;
}

int main(void)
{
    for (int i = 0; i < 3; i++) start_thread(sleep_on, NULL);
    bool seen = false;
    for (double until = now() + 5; !seen && now() < until; sleep_for(0.01)) seen = is_there("hz3\n");
    CHECK(seen);
    return 0;
}
