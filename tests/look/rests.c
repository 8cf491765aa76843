/* Threads allocate, free each other's objects, and keep some.  When all of them sleep, the program prints hz3's own
 * statistics, and waits until its input ends.
 *
 *     rests fork     a child does so, which has but a copy of what the threads cached */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, OBJECTS = 20000, KEPT = 3 };
static void *objects[THREADS][OBJECTS];
static pthread_barrier_t barrier;

static void *work(void *number)
{
    size_t self = (size_t)number, next = (self + 1) % THREADS;
    for (size_t i = 0; i < OBJECTS; i++) memset(objects[self][i] = malloc(16 + i * 37 % 3000), 1, 16);
    pthread_barrier_wait(&barrier);
    for (size_t i = 0; i < OBJECTS; i++)
        if (i % KEPT) free(objects[next][i]);
    void *large = calloc(1, 1 << 20);
    pthread_barrier_wait(&barrier);
    if (self) pause();
    return large;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    char text[8192], c;
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (size_t i = 1; i < THREADS; i++) pthread_create(&thread, NULL, work, (void *)i);
    work(0);
    usleep(100000); /* until the others sleep */
    (void)argv;
    if (argc > 1 && fork()) return wait(NULL) < 0;
    size_t (*says)(char *, size_t) = (size_t(*)(char *, size_t))dlsym(RTLD_DEFAULT, "hz3_stats_json");
    says(text, sizeof text);
    strcat(text, "\n");
    if (write(STDOUT_FILENO, text, strlen(text)) < 0) return 1; /* unlike printf, write does not allocate */
    return read(STDIN_FILENO, &c, 1) < 0;
}
