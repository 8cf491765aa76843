/* The program that is recorded.  `calls MODE` makes known numbers of calls with known sizes. */
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY 20000
#define LATE 777 /* the size of blocks that are freed when threads, or the process, end */

static void each(void)
{
    void *p[10] = {malloc(1001),
                   calloc(3, 1003),
                   NULL,
                   aligned_alloc(128, 1152),
                   memalign(256, 1013),
                   reallocarray(NULL, 2, 1019),
                   valloc(1021),
                   memalign(0, 1031),
                   memalign(48, 1033)};
    if (posix_memalign(&p[2], 64, 1007)) abort();
    p[0] = realloc(p[0], 100003);
    for (int i = 0; i < 10; i++) free(p[i]);
    void *mapped = mmap(NULL, 3 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(mapped, 3 << 16);
    mmap(NULL, 5 << 16, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* ---- objects that pass between threads, and late frees ---- */

static pthread_key_t key;
static void *passed[4][MANY];
static pthread_barrier_t barrier;

static void free_later(void *p) /* in the last round of destructors */
{
    static __thread int rounds;
    if (++rounds < 4) {
        pthread_setspecific(key, p);
    } else {
        free(p);
    }
}

static void *pass_on(void *of)
{
    long me = (long)of;
    pthread_setspecific(key, malloc(LATE));
    for (int i = 0; i < MANY; i++) passed[me][i] = malloc(100 + i % 100);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < MANY; i++) free(passed[(me + 1) % 4][i]);
    return NULL;
}

static void *last;
static void free_last(void)
{
    free(last);
}

__attribute__((destructor(101))) static void free_after_that(void)
{
    void *p = malloc(last ? LATE : 1);
    free(p);
}

static void threads(void)
{
    pthread_t ids[4];
    pthread_key_create(&key, free_later);
    pthread_barrier_init(&barrier, NULL, 4);
    for (long i = 0; i < 4; i++) pthread_create(&ids[i], NULL, pass_on, (void *)i);
    for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
    last = malloc(LATE);
    atexit(free_last);
}

/* By realloc, which in libc frees. Every thread soon gets what another freed. */
static void *end_by_realloc(void *unused)
{
    for (int i = 0; i < MANY; i++) {
        void *p = malloc(5000);
        if (realloc(p, 0)) abort();
    }
    return unused;
}

static void zero(void)
{
    pthread_t ids[4];
    mallopt(M_ARENA_MAX, 1);
    for (int i = 0; i < 4; i++) pthread_create(&ids[i], NULL, end_by_realloc, NULL);
    for (int i = 0; i < 4; i++) pthread_join(ids[i], NULL);
}

/* ---- a constructor, under the loader's lock, that waits for a thread ---- */

static void *map(void *unused)
{
    munmap(mmap(NULL, 7 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 7 << 16);
    return unused;
}

void wait_for_a_map(void) /* the library calls it */
{
    pthread_t id;
    pthread_create(&id, NULL, map, NULL);
    pthread_join(id, NULL);
}

/* ---- processes ---- */

static void forks(const char *self)
{
    free(malloc(3001));
    if (fork() == 0) {
        free(malloc(3002));
        if (fork() == 0) execl(self, self, "each", (char *)NULL);
        wait(NULL);
        exit(0);
    }
    wait(NULL);
    free(malloc(3003));
}

static void many(int times)
{
    for (int i = 0; i < times; i++) free(malloc(50));
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "each") == 0) each();
    if (strcmp(mode, "threads") == 0) threads();
    if (strcmp(mode, "zero") == 0) zero();
    if (strcmp(mode, "load") == 0 && !dlopen(argv[2], RTLD_NOW)) abort();
    if (strcmp(mode, "fork") == 0) forks(argv[0]);
    if (strcmp(mode, "killed") == 0) many(MANY), raise(SIGKILL);
    if (strcmp(mode, "gone") == 0) many(MANY / 10), unlink(argv[2]), many(MANY);
    if (strcmp(mode, "limit") == 0) {
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){100000, 100000});
        many(10 * MANY);
    }
    if (strcmp(mode, "grow") == 0) /* 96 MiB at the peak, half of it free at the end */
        for (int round = 0; round < 2; round++)
            for (int i = round; i < 3 << 16; i += round + 1) {
                static char *blocks[3 << 16];
                if (round) free(blocks[i]);
                if (!round) memset(blocks[i] = malloc(496), 1, 496);
            }
    printf("done\n");
}
