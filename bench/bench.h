/* Shared by all benchmark programs: parameters, clock, random numbers, threads, latencies, RSS, and the one
 * line of key=value words that each prints.  A program begins with its question, which is in usage and line.
 *
 * The programs link no allocator.  LD_PRELOAD chooses it, and the line says which one served malloc.
 * Nothing here calls malloc.  A program's own memory comes from bench_map, is touched before the work starts,
 * and is subtracted from every RSS figure (own_kib in the line).  So RSS is the allocator's, plus some hundred
 * KiB of libc and stacks, which are the same for all. */
#ifndef BENCH_H
#define BENCH_H

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "histogram.h"

#ifndef BENCH_QUESTION
#error "define BENCH_QUESTION before bench.h is included"
#endif

#define BENCH_CACHE_LINE  64
#define BENCH_MAX_THREADS 4096
#define BENCH_COUNT(a)    (sizeof(a) / sizeof((a)[0]))

__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_die(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    _exit(1); /* exit would flush half a line to stdout, which would look like a result */
}

/* ---- clock and random numbers ---- */

static inline uint64_t bench_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* splitmix64.  Any seed is good, so a thread's seed is its number. */
static inline uint64_t bench_random(uint64_t *state)
{
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* 32 random bits to a number below n. */
static inline uint64_t bench_scale(uint32_t random_bits, uint64_t n)
{
    return random_bits * n >> 32;
}

/* ---- the program's own memory, and RSS ---- */

static _Atomic uint64_t bench_own_bytes;

/* Zeroed, touched and page-aligned memory, mapped past the allocator. */
static inline void *bench_map(size_t bytes)
{
    bytes = (bytes + 4095) & ~(size_t)4095;
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (p == MAP_FAILED) bench_die("bench: cannot map %zu bytes", bytes);
    atomic_fetch_add(&bench_own_bytes, bytes);
    return p;
}

static inline uint64_t bench_proc_kib(const char *path, const char *field)
{
    char text[4096];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (length < 0) bench_die("bench: cannot read %s", path);
    close(fd);
    text[length] = '\0';
    const char *found = strstr(text, field);
    if (!found) bench_die("bench: no %s in %s", field, path);
    return strtoull(found + strlen(field), NULL, 10) - atomic_load(&bench_own_bytes) / 1024;
}

/* smaps_rollup walks the page tables and is exact.  The counters behind statm lag by some pages per core. */
static inline uint64_t bench_rss_kib(void)
{
    return bench_proc_kib("/proc/self/smaps_rollup", "Rss:");
}

/* ru_maxrss survives exec, so it would include the parent's RSS.  The kernel takes VmHWM from counters that lag
 * a little, so it may be some hundred KiB below an exact RSS. */
static inline uint64_t bench_peak_kib(void)
{
    return bench_proc_kib("/proc/self/status", "VmHWM:");
}

/* RSS over time, for programs that ask about it. */
#define BENCH_SAMPLES 512

static uint64_t bench_start_ns;
static size_t bench_sample_count;
static struct {
    uint64_t ms, kib;
} bench_sample[BENCH_SAMPLES];

/* Records RSS with the time since the start, and returns it. */
static inline uint64_t bench_sample_rss(void)
{
    uint64_t kib = bench_rss_kib();
    if (bench_sample_count == BENCH_SAMPLES) bench_die("bench: too many samples of RSS");
    bench_sample[bench_sample_count].ms = (bench_now_ns() - bench_start_ns) / 1000000;
    bench_sample[bench_sample_count++].kib = kib;
    return kib;
}

static inline void bench_print_samples(void)
{
    for (size_t i = 0; i < bench_sample_count; i++)
        printf("%s%llu:%llu", i ? "," : " rss_over_time=", (unsigned long long)bench_sample[i].ms,
               (unsigned long long)bench_sample[i].kib);
}

/* ---- latencies ----
 *
 * With the switch BENCH_LATENCY every call is timed and counted in histograms of the calling thread.  When it
 * ends, other threads take these over.  Without the switch a call costs one branch more. */

#define BENCH_LATENCY "--latency"

enum bench_call { BENCH_MALLOC, BENCH_FREE, BENCH_CALLS }; /* calls that allocate; calls that free */

struct bench_latencies {
    struct histogram of[BENCH_CALLS];
    atomic_bool taken;
    struct bench_latencies *next;
};

static bool bench_latency_on;
static pthread_key_t bench_latency_key;
static _Atomic(struct bench_latencies *) bench_latency_all;

static inline void bench_latency_release(void *mine)
{
    atomic_store(&((struct bench_latencies *)mine)->taken, false);
}

static inline void bench_latency_start(void)
{
    if (pthread_key_create(&bench_latency_key, bench_latency_release) != 0) bench_die("bench: no thread key");
    bench_latency_on = true;
}

static inline struct bench_latencies *bench_latency_take(void)
{
    struct bench_latencies *mine = atomic_load(&bench_latency_all);
    while (mine && atomic_exchange(&mine->taken, true)) mine = mine->next;
    if (!mine) {
        mine = bench_map(sizeof *mine);
        atomic_store(&mine->taken, true);
        mine->next = atomic_load(&bench_latency_all);
        while (!atomic_compare_exchange_weak(&bench_latency_all, &mine->next, mine)) {
        }
    }
    pthread_setspecific(bench_latency_key, mine);
    return mine;
}

static inline void bench_latency_add(enum bench_call call, uint64_t ns)
{
    struct bench_latencies *mine = pthread_getspecific(bench_latency_key);
    histogram_add(&(mine ? mine : bench_latency_take())->of[call], ns);
}

#define BENCH_TIMED(kind, call) \
    do { \
        uint64_t timed_from = bench_latency_on ? bench_now_ns() : 0; \
        call; \
        if (bench_latency_on) bench_latency_add(kind, bench_now_ns() - timed_from); \
    } while (0)

static inline void bench_print_percentiles(const char *what, const struct histogram *h)
{
    static const struct {
        const char *name;
        double share;
    } percentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p999", 0.999}, {"p9999", 0.9999}};
    for (size_t i = 0; i < BENCH_COUNT(percentiles); i++)
        printf(" %s_%s_ns=%llu", what, percentiles[i].name,
               (unsigned long long)histogram_percentile(h, percentiles[i].share));
    printf(" %s_max_ns=%llu", what, (unsigned long long)h->max);
}

/* clock_ns is what timing adds to every latency.  It is not subtracted. */
static inline void bench_print_latencies(void)
{
    static struct histogram sum[BENCH_CALLS], empty;
    for (struct bench_latencies *l = atomic_load(&bench_latency_all); l; l = l->next)
        for (int call = 0; call < BENCH_CALLS; call++) histogram_merge(&sum[call], &l->of[call]);
    for (int i = 0; i < 1000; i++) {
        uint64_t from = bench_now_ns();
        histogram_add(&empty, bench_now_ns() - from);
    }
    printf(" clock_ns=%llu malloc_calls=%llu free_calls=%llu", (unsigned long long)histogram_percentile(&empty, 0.5),
           (unsigned long long)sum[BENCH_MALLOC].count, (unsigned long long)sum[BENCH_FREE].count);
    bench_print_percentiles("malloc", &sum[BENCH_MALLOC]);
    bench_print_percentiles("free", &sum[BENCH_FREE]);
}

/* ---- parameters and the line ---- */

/* A row is a positional number or an option ("--name").  Usage, parser and printed line are made from the rows.
 * With words ("none|first") the value is the index of one of them.  An option without words is a switch. */
struct bench_param {
    const char *name;
    const char *words;
    uint64_t value;    /* the default, unless it is required */
    uint64_t min, max; /* of a number; 0 as max means UINT32_MAX, so that a product of two never overflows */
    bool required;
};

static struct {
    const char *name;
    struct bench_param *params;
    size_t count;
} bench_program;

static inline bool bench_is_option(const struct bench_param *p)
{
    return p->name[0] == '-';
}

/* Copies the index-th of words to out.  Returns false if there are fewer. */
static inline bool bench_word(const char *words, uint64_t index, char out[16])
{
    for (; index > 0; index--) {
        words = strchr(words, '|');
        if (!words) return false;
        words++;
    }
    snprintf(out, 16, "%.*s", (int)strcspn(words, "|"), words);
    return true;
}

/* Ends a run that cannot do what was asked for.  exit would flush half a line to stdout. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void bench_refuse(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "%s: ", bench_program.name);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\nusage: %s", bench_program.name);
    for (size_t i = 0; i < bench_program.count; i++) {
        const struct bench_param *p = &bench_program.params[i];
        fprintf(stderr, " %s%s%s%s%s", p->required ? "<" : "[", p->name, p->words ? " " : "", p->words ? p->words : "",
                p->required ? ">" : "]");
    }
    fprintf(stderr, "\n%s\n", BENCH_QUESTION);
    _exit(2);
}

static inline void bench_parse_word(struct bench_param *p, const char *text)
{
    char word[16];
    for (p->value = 0; bench_word(p->words, p->value, word); p->value++)
        if (strcmp(word, text) == 0) return;
    bench_refuse("%s must be one of %s, not %s", p->name, p->words, text);
}

static inline void bench_parse_number(struct bench_param *p, const char *text)
{
    char *end = NULL;
    uint64_t max = p->max ? p->max : UINT32_MAX;
    p->value = text[0] >= '0' && text[0] <= '9' ? strtoull(text, &end, 10) : 0;
    if (!end || *end || p->value < p->min || p->value > max)
        bench_refuse("%s must be a number from %llu to %llu, not %s", p->name, (unsigned long long)p->min,
                     (unsigned long long)max, text);
}

/* The row of this argument.  *position is the row after the last positional one that was given. */
static inline struct bench_param *bench_param_of(const char *argument, size_t *position)
{
    struct bench_param *params = bench_program.params;
    if (argument[0] == '-') {
        for (size_t i = 0; i < bench_program.count; i++)
            if (strcmp(params[i].name, argument) == 0) return &params[i];
        bench_refuse("no option %s", argument);
    }
    while (*position < bench_program.count && bench_is_option(&params[*position])) ++*position;
    if (*position == bench_program.count) bench_refuse("too many arguments at %s", argument);
    return &params[(*position)++];
}

static inline void bench_parse(int argc, char **argv)
{
    size_t position = 0;
    for (int i = 1; i < argc; i++) {
        struct bench_param *p = bench_param_of(argv[i], &position);
        bool value_follows = bench_is_option(p) && p->words;
        if (value_follows && ++i == argc) bench_refuse("%s needs one of %s", p->name, p->words);
        if (bench_is_option(p) && !p->words)
            p->value = 1;
        else if (p->words)
            bench_parse_word(p, argv[i]);
        else
            bench_parse_number(p, argv[i]);
    }
    for (; position < bench_program.count; position++)
        if (bench_program.params[position].required) bench_refuse("%s is missing", bench_program.params[position].name);
}

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
