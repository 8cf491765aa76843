/* The player.  play FILE makes the calls of a trace on the preloaded allocator, with as many threads as the program,
 * and prints one line with their cost.  play --facts FILE only prints what is in the trace.
 *
 * It first turns the trace, which is not trusted, into calls that need no further checks.  They are in shared memory,
 * which is not counted as the allocator's.  Then it executes itself again, as a process that has only that memory.
 *
 * Each thread makes its calls in their order.  A call on an object waits until the object exists.  Otherwise threads
 * are not ordered, but no call is made more than AHEAD before its time, so that pauses last as long as they did.  When
 * a block is allocated, its first and last byte and one in each page between are written. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "compose.h"

#define AHEAD (NS / 100)

const char *trace_file;

void *memory(size_t bytes, int flags, int file)
{
    int sharing = file < 0 ? MAP_ANONYMOUS : 0;
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags | sharing, file, 0);
    if (p == MAP_FAILED) REFUSE("no memory for %zu bytes of it: %s", bytes, strerror(errno));
    return p;
}

/* ---- playing ---- */

static const struct score *score;
static const struct thread *threads;
static const struct call *calls;
static _Atomic(char *) *objects;
static struct timespec start;
static sem_t ended;
static size_t page;

static void sleep_until(uint64_t time)
{
    uint64_t until = (uint64_t)start.tv_nsec + time;
    struct timespec at = {start.tv_sec + (time_t)(until / NS), (long)(until % NS)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
}

/* Sleeps if the call's time is more than AHEAD in the future. */
static uint64_t keep_time(uint64_t time, uint64_t known)
{
    if (time <= known + AHEAD) return known;
    sleep_until(time);
    return time;
}

/* A call that is made ahead of its time sleeps until then: asking again and again takes CPU time, which would count as
 * the allocator's. */
static char *wait_for_old(const struct call *call)
{
    char *p;
    for (unsigned tries = 0; !(p = atomic_load_explicit(&objects[call->old], memory_order_acquire)); tries++) {
        if (tries == 100) sleep_until(call->time);
        if (tries > 100) nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        if (tries > 50) sched_yield();
    }
    return p;
}

static void touch(volatile char *p, size_t size)
{
    for (size_t i = 0; i < size; i += page) p[i] = 1;
    if (size > 0) p[size - 1] = 1;
}

static void *allocate(const struct call *call)
{
    void *p = NULL;
    size_t align = (size_t)1 << call->align;
    switch (call->kind) {
    case TRACE_MALLOC: return malloc(call->size);
    case TRACE_CALLOC: return calloc(1, call->size);
    case TRACE_ALIGNED: return posix_memalign(&p, align < sizeof p ? sizeof p : align, call->size) ? NULL : p;
    case TRACE_REALLOC: return realloc(call->old == NONE ? NULL : wait_for_old(call), call->size);
    default:
        p = mmap(NULL, call->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? NULL : p;
    }
}

static void make(const struct call *call)
{
    if (call->object != NONE) {
        char *p = allocate(call);
        if (!p && call->size == 0) p = malloc(1); /* an allocator may return NULL for size 0 */
        if (!p) REFUSE("the allocator had no memory for %llu bytes", (unsigned long long)call->size);
        touch(p, call->size);
        atomic_store_explicit(&objects[call->object], p, memory_order_release);
    } else if (call->old != NONE && call->kind == TRACE_MUNMAP) {
        munmap(wait_for_old(call), call->size);
    } else if (call->old != NONE) {
        free(wait_for_old(call));
    }
}

static void *play_thread(void *of)
{
    const struct thread *t = of;
    uint64_t known = 0;
    for (uint64_t i = 0; i < t->calls; i++) {
        const struct call *call = &calls[t->first + i];
        known = keep_time(call->time, known);
        make(call);
    }
    sem_post(&ended);
    return NULL;
}

static int by_time(const void *one, const void *other)
{
    uint64_t mine = calls[(*(const struct thread *const *)one)->first].time;
    uint64_t others = calls[(*(const struct thread *const *)other)->first].time;
    return (mine > others) - (mine < others);
}

/* Starts the other threads at their times.  The main thread, which allocators may treat specially, plays the first. */
static void *start_threads(void *ordered)
{
    const struct thread **next = ordered;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, 256 << 10);
    uint64_t known = 0;
    for (uint64_t i = 0; i + 1 < score->threads; i++) {
        pthread_t id;
        known = keep_time(calls[next[i]->first].time, known);
        int error = pthread_create(&id, &attributes, play_thread, (void *)next[i]);
        if (error) REFUSE("no thread: %s", strerror(error));
    }
    return NULL;
}

/* Prints which library serves malloc, as all programs of the lab do at the end of their line. */
static void print_server(void)
{
    Dl_info of_malloc = {0}, of_free = {0};
    const char *(*config)(void);
    *(void **)&config = dlsym(RTLD_DEFAULT, "hz3_config_string");
    dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc);
    dladdr(dlsym(RTLD_DEFAULT, "free"), &of_free);
    if (of_malloc.dli_fbase != of_free.dli_fbase) REFUSE("malloc and free come from two libraries");
    const char *path = of_malloc.dli_fname ? of_malloc.dli_fname : "nobody", *name = strrchr(path, '/');
    printf(" alloc=%s alloc_path=\"%s\" config=\"%s\"\n", name ? name + 1 : path, path, config ? config() : "");
}

/* Replaces unusual characters, as a program's name in a trace may have any. */
static void print_word(const char *key, const char *word)
{
    printf(" %s=", key);
    for (; *word; word++)
        putchar((*word >= '0' && *word <= '9') || (*word >= 'A' && *word <= 'Z') || (*word >= 'a' && *word <= 'z') ||
                        strchr("/._-+", *word)
                    ? *word
                    : '_');
}

static void print_facts(void)
{
    printf("threads=%llu events=%llu objects=%llu event_bytes=%.2f span=%.3f recorded_cpu=%.3f recorded_peak=%llu",
           (unsigned long long)score->threads, (unsigned long long)score->calls, (unsigned long long)score->objects,
           (double)score->bytes / (double)score->calls, (double)score->end_ns / (double)NS, (double)score->cpu_us / 1e6,
           (unsigned long long)score->peak_kib);
    print_word("program", score->program);
    print_word("recorded_on", score->allocator);
}

static void find_score(int file)
{
    struct stat status;
    if (fstat(file, &status) < 0) REFUSE("%s", strerror(errno));
    score = memory((size_t)status.st_size, MAP_SHARED | MAP_POPULATE, file);
    threads = (const struct thread *)(score + 1);
    calls = (const struct call *)(threads + score->threads);
}

static void play(void)
{
    page = (size_t)getpagesize();
    const struct thread **ordered = memory(score->threads * sizeof *ordered, MAP_SHARED | MAP_POPULATE, -1);
    for (uint64_t i = 0; i < score->threads; i++) ordered[i] = &threads[i];
    qsort(ordered + 1, score->threads - 1, sizeof *ordered, by_time);
    objects = memory(score->objects * sizeof *objects, MAP_SHARED | MAP_POPULATE, -1);
    sem_init(&ended, 0, 0);
    uint64_t base = trace_memory().anonymous;
    uint64_t before = trace_cpu_us();
    pthread_t id;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (score->threads > 1 && pthread_create(&id, NULL, start_threads, ordered + 1)) REFUSE("no thread");
    play_thread((void *)ordered[0]);
    for (uint64_t i = 0; i < score->threads; i++) sem_wait(&ended);
    uint64_t after = trace_cpu_us();
    uint64_t peak = trace_peak(trace_memory());
    print_facts();
    printf(" cpu_s=%.6f peak_kib=%llu", (double)(after - before) / 1e6,
           (unsigned long long)(peak > base ? peak - base : 0));
    print_server();
}

int main(int argc, char **argv)
{
    bool facts = argc == 3 && strcmp(argv[1], "--facts") == 0;
    trace_file = argv[argc - 1];
    if (argc == 4 && strcmp(argv[1], "--score") == 0) {
        find_score(atoi(argv[2]));
        play();
        return 0;
    }
    if (argc != 2 && !facts) return fprintf(stderr, "usage: %s [--facts] FILE\n", argv[0]), 2;
    int file = compose();
    if (facts) {
        find_score(file);
        print_facts();
        putchar('\n');
        return 0;
    }
    char number[16];
    snprintf(number, sizeof number, "%d", file);
    execl("/proc/self/exe", argv[0], "--score", number, trace_file, (char *)NULL);
    REFUSE("cannot begin anew: %s", strerror(errno));
}
