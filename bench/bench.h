/* Shared by all benchmark programs, with the headers that it includes: the one line of key=value words that each
 * prints, allocation, idling, threads.  A program begins with its question, which is in usage and line.
 *
 * The programs link no allocator.  LD_PRELOAD chooses it, and the line says which one served malloc.
 * Nothing here calls malloc.  A program's own memory comes from bench_map, is touched before the work starts,
 * and is subtracted from every RSS figure (own_kib in the line).  So RSS is the allocator's, plus some hundred
 * KiB of libc and stacks, which are the same for all. */
#ifndef BENCH_H
#define BENCH_H

#include <dlfcn.h>

#include "latency.h"
#include "parameters.h"

#define BENCH_MAX_THREADS 4096

/* ---- the line ---- */

static inline const char *bench_basename(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Reads the parameters and begins the line.  The program adds its figures with printf. */
static inline void bench_start(int argc, char **argv, struct bench_param *params, size_t count)
{
    /* Otherwise stdio would allocate its buffer from the allocator under test. */
    static char buffer[16384];
    setvbuf(stdout, buffer, _IOFBF, sizeof buffer);
    bench_program.name = bench_basename(argv[0]);
    bench_program.params = params;
    bench_program.count = count;
    bench_parse(argc, argv);
    bench_start_ns = bench_now_ns();
    printf("bench=%s question=\"%s\"", bench_program.name, BENCH_QUESTION);
    for (size_t i = 0; i < count; i++) {
        char word[16];
        const char *name = params[i].name + strspn(params[i].name, "-");
        if (strcmp(params[i].name, BENCH_LATENCY) == 0 && params[i].value) bench_latency_start();
        if (params[i].words && bench_word(params[i].words, params[i].value, word))
            printf(" %s=%s", name, word);
        else
            printf(" %s=%llu", name, (unsigned long long)params[i].value);
    }
}

static inline const char *bench_library_of(const char *function)
{
    Dl_info info;
    void *address = dlsym(RTLD_DEFAULT, function);
    if (!address || !dladdr(address, &info)) bench_die("bench: cannot tell where %s comes from", function);
    return info.dli_fname;
}

/* An op is a call that allocates or frees. */
static inline void bench_print_ops(uint64_t ops, double seconds)
{
    printf(" seconds=%.6f ops=%llu ops_per_s=%.0f", seconds, (unsigned long long)ops, (double)ops / seconds);
}

/* The peak of live memory, for objects of every size from min to max, and the ratio of resident memory to it. */
static inline void bench_print_live_peak(uint64_t objects, uint64_t min, uint64_t max)
{
    double live = (double)objects * (double)(min + max) / 2 / 1024;
    printf(" live_peak_kib=%.0f", live);
    if (objects) printf(" peak_per_live_ratio=%.4f", (double)bench_peak_kib() / live);
}

/* The config string of the library, if it has one. */
static inline const char *bench_config(void)
{
    static const char *const names[] = {"hz3_config_string", "limit_config_string"};
    for (size_t i = 0; i < BENCH_COUNT(names); i++) {
        const char *(*config)(void);
        *(void **)&config = dlsym(RTLD_DEFAULT, names[i]);
        if (config) return config();
    }
    return "";
}

/* Whether the library is in a certain mode, by a function of its own that BENCH_MODE names. */
static inline void bench_print_mode(void)
{
    const char *name = getenv("BENCH_MODE");
    bool (*tells)(void);
    *(void **)&tells = name ? dlsym(RTLD_DEFAULT, name) : NULL;
    if (tells) printf(" mode=%s", tells() ? "on" : "off");
}

/* Ends the line with latencies, RSS, and the library that served malloc and free. */
static inline void bench_finish(void)
{
    uint64_t peak = bench_peak_kib(), end = bench_rss_kib();
    if (bench_latency_on) bench_print_latencies();
    if (bench_sample_count) bench_print_samples();
    bench_print_mode();
    const char *library = bench_library_of("malloc");
    if (strcmp(library, bench_library_of("free")) != 0) bench_die("bench: malloc and free come from two libraries");
    printf(" peak_kib=%llu end_kib=%llu own_kib=%llu alloc=%s alloc_path=\"%s\" config=\"%s\"\n",
           (unsigned long long)peak, (unsigned long long)end, (unsigned long long)atomic_load(&bench_own_bytes) / 1024,
           bench_basename(library), library, bench_config());
    if (fflush(stdout) != 0) bench_die("bench: cannot write the line");
}

/* ---- allocation as in programs ---- */

#define BENCH_TOUCH       1 /* what touching writes */
#define BENCH_TOUCH_WORDS "none|first|all|ends"
enum bench_touch { BENCH_TOUCH_NONE, BENCH_TOUCH_FIRST, BENCH_TOUCH_ALL, BENCH_TOUCH_ENDS };

static inline void *bench_malloc(size_t size)
{
    void *p;
    BENCH_TIMED(BENCH_MALLOC, p = malloc(size));
    if (!p) bench_die("bench: malloc(%zu) failed", size);
    return p;
}

static inline void bench_free(void *p)
{
    BENCH_TIMED(BENCH_FREE, free(p));
}

static inline void *bench_alloc(size_t size, enum bench_touch touch)
{
    char *p = bench_malloc(size);
    if (touch == BENCH_TOUCH_ALL) memset(p, BENCH_TOUCH, size);
    if (touch == BENCH_TOUCH_FIRST || touch == BENCH_TOUCH_ENDS) p[0] = BENCH_TOUCH;
    if (touch == BENCH_TOUCH_ENDS) p[size - 1] = BENCH_TOUCH;
    return p;
}

/* Checks that a live object still has what bench_alloc wrote. */
static inline void bench_check(const void *p, size_t size, enum bench_touch touch)
{
    const char *byte = p;
    bool whole = touch == BENCH_TOUCH_ALL || touch == BENCH_TOUCH_ENDS;
    if ((touch != BENCH_TOUCH_NONE && byte[0] != BENCH_TOUCH) || (whole && byte[size - 1] != BENCH_TOUCH))
        bench_die("bench: an object was lost: somebody wrote to %p", p);
}

static inline void bench_release(void *p, size_t size, enum bench_touch touch)
{
    bench_check(p, size, touch);
    bench_free(p);
}

static inline void bench_check_sizes(uint64_t min, uint64_t max)
{
    if (min < 1 || min > max) bench_refuse("sizes must be 1 <= min <= max");
}

static inline uint64_t bench_random_size(uint32_t random_bits, uint64_t min, uint64_t max)
{
    return min + bench_scale(random_bits, max - min + 1);
}

/* ---- idling ---- */

#define BENCH_IDLE_MAX   60
#define BENCH_IDLE_HERTZ 4

/* Sleeps without calling the allocator, and records RSS.  end_share is the share of the peak that remains. */
static inline void bench_idle(uint64_t seconds)
{
    uint64_t rss = 0;
    for (uint64_t i = 0; i < seconds * BENCH_IDLE_HERTZ; i++) {
        usleep(1000000 / BENCH_IDLE_HERTZ);
        rss = bench_sample_rss();
    }
    printf(" end_share=%.4f", (double)rss / (double)bench_peak_kib());
}

/* ---- threads ---- */

struct bench_thread {
    _Alignas(BENCH_CACHE_LINE) pthread_t thread;
    uint64_t id, start_ns, end_ns;
    void (*body)(uint64_t id);
    pthread_barrier_t *barrier;
};

static inline void *bench_thread_main(void *arg)
{
    struct bench_thread *t = arg;
    pthread_barrier_wait(t->barrier);
    t->start_ns = bench_now_ns();
    t->body(t->id);
    t->end_ns = bench_now_ns();
    return NULL;
}

static inline pthread_t bench_spawn(void *(*body)(void *), void *arg)
{
    pthread_t thread;
    int error = pthread_create(&thread, NULL, body, arg);
    if (error) bench_die("bench: pthread_create: %s", strerror(error));
    return thread;
}

/* Runs body(0) .. body(count - 1) on threads that start together.  Returns the seconds from the first start to
 * the last end.  Each thread reads the clock, as the main thread may wake late on few cores. */
static inline double bench_run_threads(uint64_t count, void (*body)(uint64_t id))
{
    static struct bench_thread *threads; /* kept for the next call */
    static uint64_t room;
    if (count > room) threads = bench_map((room = count) * sizeof *threads);
    pthread_barrier_t barrier;
    if (pthread_barrier_init(&barrier, NULL, (unsigned)count) != 0) bench_die("bench: no barrier");
    for (uint64_t i = 0; i < count; i++) {
        threads[i] = (struct bench_thread){.id = i, .body = body, .barrier = &barrier};
        threads[i].thread = bench_spawn(bench_thread_main, &threads[i]);
    }
    uint64_t start = UINT64_MAX, end = 0;
    for (uint64_t i = 0; i < count; i++) {
        pthread_join(threads[i].thread, NULL);
        if (threads[i].start_ns < start) start = threads[i].start_ns;
        if (threads[i].end_ns > end) end = threads[i].end_ns;
    }
    pthread_barrier_destroy(&barrier);
    return (double)(end - start) / 1e9;
}

#endif
