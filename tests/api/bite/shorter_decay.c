/* Proves that a shorter decay time counts at once, though the background thread waits for a share of the longer one;
 * and that the thread ends at once where the program wants none any more. */
#include <dirent.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

enum { THREADS = 2, SIZES = 24, BLOCKS = 12, SECONDS = 3 };

static bool done;
static pid_t busy[THREADS];

/* In each class as much comes and goes as two magazines hold. */
static void *work(void *number)
{
    busy[(size_t)number] = gettid();
    while (!__atomic_load_n(&done, __ATOMIC_RELAXED)) {
        for (size_t i = 0; i < SIZES; i++) {
            void *block[BLOCKS];
            size_t size = KIB(16) + i * KIB(2);
            for (int b = 0; b < BLOCKS; b++) CHECK((block[b] = malloc(size)) != NULL);
            for (int b = 0; b < BLOCKS; b++) free(block[b]);
        }
        sleep_for(0.01);
    }
    return NULL;
}

static bool is_ours(pid_t thread)
{
    bool ours = thread == getpid();
    for (int i = 0; i < THREADS; i++) ours |= thread == busy[i];
    return ours;
}

/* The background thread; 0: there is none. */
static pid_t other(void)
{
    pid_t found = 0;
    DIR *dir = opendir("/proc/self/task");
    CHECK(dir != NULL);
    for (struct dirent *entry; (entry = readdir(dir));) {
        pid_t thread = (pid_t)strtol(entry->d_name, NULL, 10);
        if (thread && !is_ours(thread)) found = thread;
    }
    closedir(dir);
    return found;
}

/* How often it has waited. */
static long waits_of(pid_t thread)
{
    char path[64], line[256];
    long waits = -1;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", thread);
    FILE *file = fopen(path, "r");
    if (file == NULL) return -1;
    while (fgets(line, sizeof line, file)) sscanf(line, "voluntary_ctxt_switches: %ld", &waits);
    fclose(file);
    return waits;
}

/* How often the background thread waits in so many seconds; -1: there is none. */
static long waits_in(double seconds)
{
    pid_t thread = other();
    long before = thread ? waits_of(thread) : -1;
    sleep_for(seconds);
    long after = thread ? waits_of(thread) : -1;
    return before < 0 || after < 0 ? -1 : after - before;
}

static void set(const char *option, size_t value)
{
    int (*control)(const char *, void *, size_t *, const void *, size_t) = dlsym(RTLD_DEFAULT, "hz3_control");
    CHECK(control == NULL || control(option, NULL, NULL, &value, sizeof value) == 0);
}

/* The thread waits for a share of an hour. */
static void expect_end_of_wait(void)
{
    for (double until = now() + 30; !ANY_MALLOC && !other() && now() < until;) sleep_for(0.1);
    sleep_for(0.5);
    set("HZ3_DECAY", 100);
    CHECK(ANY_MALLOC || waits_in(SECONDS) >= SECONDS);
}

static void expect_no_thread(void)
{
    set("HZ3_DECAY", 3600 * 1000);
    sleep_for(0.5);
    CHECK(ANY_MALLOC || other());
    set("HZ3_BACKGROUND", 0);
    for (double until = now() + 5; other() && now() < until;) sleep_for(0.1);
    CHECK(!other());
}

int main(void)
{
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(work, (void *)i);
    expect_end_of_wait();
    expect_no_thread();
    __atomic_store_n(&done, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
}
