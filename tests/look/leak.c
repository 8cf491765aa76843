/* Leaks a known number of bytes in one function, while another function allocates and frees as much.  Then thread
 * "maker" allocates objects that thread "taker" frees. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { SIZE = 400, LEAKED = 500000, BATCHES = 400, BATCH = 1000 };

static void *kept;
static void **batch;
static pthread_barrier_t made, taken;

__attribute__((noinline)) void leaks(void)
{
    void **p = malloc(SIZE);
    *p = kept;
    kept = p;
}

__attribute__((noinline)) void leaks_nothing(size_t size)
{
    void *volatile p = malloc(size);
    p = realloc(p, size + 32);
    free(p);
}

static void *make(void *unused)
{
    for (int i = 0; i < BATCHES; i++) {
        for (int n = 0; n < BATCH; n++) batch[n] = malloc(1024);
        pthread_barrier_wait(&made);
        pthread_barrier_wait(&taken);
    }
    return unused;
}

static void *take(void *unused)
{
    for (int i = 0; i < BATCHES; i++) {
        pthread_barrier_wait(&made);
        for (int n = 0; n < BATCH; n++) free(batch[n]);
        pthread_barrier_wait(&taken);
    }
    return unused;
}

int main(int argc, char **argv)
{
    (void)argv;
    pthread_t maker, taker;
    batch = malloc(BATCH * sizeof *batch);
    pthread_barrier_init(&made, NULL, 2);
    pthread_barrier_init(&taken, NULL, 2);
    for (int i = 0; i < LEAKED; i++) {
        leaks();
        leaks_nothing(100 + i % 1000);
    }
    pthread_create(&maker, NULL, make, NULL);
    pthread_create(&taker, NULL, take, NULL);
    pthread_setname_np(maker, "maker");
    pthread_setname_np(taker, "taker");
    pthread_join(maker, NULL);
    pthread_join(taker, NULL);
    if (argc > 1) puts("ready"), fflush(stdout), pause();
}
