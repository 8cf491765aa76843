/* The player: play FILE makes the calls of a trace on whatever allocator is preloaded, with as many threads, and prints
 * one line of what they cost.  play --facts FILE only says what is in the trace.
 *
 * It first turns the trace, of which it believes nothing, into calls that need no more thought, in memory that is
 * shared and so is not counted as the allocator's; then it begins anew, as a process that has that memory and nothing
 * else.
 *
 * What is played: each thread's calls in their order.  A call on an object waits until the object is there; nothing
 * else between threads is ordered, but none is more than AHEAD before its time, so that pauses last as long as they
 * did.  The first byte of a block, the last, and one in each page between are written when it is allocated. */
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
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "format.h"

#define NS      UINT64_C(1000000000)
#define AHEAD   (NS / 100)
#define THREADS (UINT64_C(1) << 16)
#define SIZES   (UINT64_C(1) << 47)
#define TIMES   (UINT64_C(1) << 62)
#define NONE    UINT32_MAX

struct call {
    uint64_t time; /* ns from the first one of all */
    uint64_t size : 48, kind : 8, align : 8;
    uint32_t object, old; /* numbers, or NONE: allocated before the recording */
};

struct thread {
    uint64_t first, calls; /* among all calls */
};

/* What the playing process finds in the shared memory; then the threads, then the calls. */
struct score {
    uint64_t threads, calls, objects, bytes, end_ns, cpu_us, peak_kib, base_kib;
    char program[sizeof((struct trace_head *)0)->program], allocator[sizeof((struct trace_head *)0)->allocator];
};

static const char *file_name;

#define REFUSE(format, ...) (fprintf(stderr, "hz3: %s: " format "\n", file_name, ##__VA_ARGS__), exit(1))

static void *memory(size_t bytes, int flags, int file)
{
    int sharing = file < 0 ? MAP_ANONYMOUS : 0;
    void *p = mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, flags | sharing, file, 0);
    if (p == MAP_FAILED) REFUSE("no memory for %zu bytes of it: %s", bytes, strerror(errno));
    return p;
}

/* ---- reading: from bytes to events ---- */

struct chunk {
    const unsigned char *events, *end;
    uint64_t start_ns, next; /* of its thread, or 0 */
};

struct reader {
    const struct chunk *chunks;
    uint64_t chunk; /* that is read, or 0 at the end */
    const unsigned char *at;
    uint64_t time, address;
};

struct event {
    uint64_t time, took, size, address, old;
    unsigned kind, align;
};

static const unsigned char *whole; /* the file */

static bool take(struct reader *r, uint64_t *value)
{
    const unsigned char *end = r->chunks[r->chunk].end;
    *value = 0;
    for (unsigned shift = 0; shift < 64 && r->at < end; shift += 7) {
        *value |= (uint64_t)(*r->at & 127) << shift;
        if (*r->at++ < 128) return true;
    }
    return false;
}

static bool take_address(struct reader *r, uint64_t *address)
{
    uint64_t differs = 0;
    bool taken = take(r, &differs);
    *address = r->address += differs >> 1 ^ -(differs & 1);
    return taken;
}

static void enter(struct reader *r, uint64_t chunk)
{
    r->chunk = chunk;
    r->address = 0;
    if (chunk == 0) return;
    r->at = r->chunks[chunk].events;
    r->time = r->chunks[chunk].start_ns;
}

/* False at the end. */
static bool next_event(struct reader *r, struct event *e)
{
    if (r->chunk == 0) return false;
    uint64_t since = 0, align = 0;
    *e = (struct event){0};
    bool taken = take(r, &since);
    e->kind = since & ((1 << TRACE_KIND_BITS) - 1);
    since >>= TRACE_KIND_BITS;
    e->time = r->time += since;
    if (e->kind == TRACE_ALIGNED) taken = taken && take(r, &align);
    if (e->kind == TRACE_REALLOC) taken = taken && take(r, &e->took) && take_address(r, &e->old);
    if (e->kind != TRACE_FREE) taken = taken && take(r, &e->size);
    taken = taken && take_address(r, &e->address);
    if (!taken || e->kind >= TRACE_KINDS || align > TRACE_ALIGN_MAX || e->size >= SIZES || e->took > since)
        REFUSE("damaged: the events at byte %td make no sense", r->chunks[r->chunk].events - whole);
    e->align = (unsigned)align;
    if (r->at == r->chunks[r->chunk].end) enter(r, r->chunks[r->chunk].next);
    return true;
}

struct trace {
    struct trace_head head;
    struct chunk *chunks; /* from 1 */
    uint64_t chunk_count, bytes, cpu_us, peak_kib, *first, *last;
    bool ended;
};

static void check_head(struct trace *t, uint64_t bytes)
{
    if (bytes >= sizeof t->head) memcpy(&t->head, whole, sizeof t->head);
    if (bytes < sizeof t->head || memcmp(t->head.magic, TRACE_MAGIC, sizeof t->head.magic) != 0)
        REFUSE("no trace of hz3 record");
    if (le64toh(t->head.version) != TRACE_VERSION)
        REFUSE("of another version of hz3: it has %llu, not %d", (unsigned long long)le64toh(t->head.version),
               TRACE_VERSION);
    if (le64toh(t->head.check) != trace_check(&t->head, offsetof(struct trace_head, check)))
        REFUSE("damaged: its head");
    t->head.program[sizeof t->head.program - 1] = t->head.allocator[sizeof t->head.allocator - 1] = 0;
}

/* Bytes of the chunk, or 0 where its end is missing. */
static uint64_t take_chunk(struct trace *t, uint64_t at, uint64_t bytes)
{
    struct trace_chunk head;
    memcpy(&head, whole + at, sizeof head);
    uint64_t sum = trace_check(whole + at + TRACE_CHECKED, sizeof head - TRACE_CHECKED);
    uint64_t events = le64toh(head.bytes), thread = le64toh(head.thread), start = le64toh(head.start_ns);
    const unsigned char *from = whole + at + sizeof head;
    bool good = le64toh(head.magic) == CHUNK_MAGIC && sum == le64toh(head.check) && thread < THREADS && start < TIMES;
    if (good && events > bytes - sizeof head) return 0;
    if (!good || trace_check(from, events) != le64toh(head.events_check))
        REFUSE("damaged at byte %llu", (unsigned long long)at);
    if (le64toh(head.cpu_us) > t->cpu_us) t->cpu_us = le64toh(head.cpu_us);
    if (le64toh(head.peak_kib) > t->peak_kib) t->peak_kib = le64toh(head.peak_kib);
    t->ended = t->ended || events == 0;
    if (events == 0) return sizeof head;
    uint64_t mine = ++t->chunk_count, *before = t->last[thread] ? &t->chunks[t->last[thread]].next : &t->first[thread];
    t->chunks[mine] = (struct chunk){from, from + events, start, 0};
    *before = t->last[thread] = mine;
    return sizeof head + events;
}

static struct trace read_trace(void)
{
    struct stat status;
    int file = open(file_name, O_RDONLY | O_CLOEXEC);
    if (file < 0 || fstat(file, &status) < 0) REFUSE("%s", strerror(errno));
    if (!S_ISREG(status.st_mode)) REFUSE("no file");
    uint64_t bytes = 0, size = (uint64_t)status.st_size;
    unsigned char *to = memory(size, MAP_PRIVATE, -1);
    for (ssize_t got; bytes < size && (got = read(file, to + bytes, size - bytes)) != 0; bytes += (uint64_t)got)
        if (got < 0) REFUSE("%s", strerror(errno));
    close(file);
    whole = to;
    struct trace t = {.bytes = sizeof t.head};
    check_head(&t, bytes);
    t.chunks = memory((bytes / sizeof(struct trace_chunk) + 1) * sizeof *t.chunks, MAP_PRIVATE, -1);
    t.first = memory(2 * THREADS * sizeof *t.first, MAP_PRIVATE, -1);
    t.last = t.first + THREADS;
    while (bytes - t.bytes >= sizeof(struct trace_chunk)) {
        uint64_t more = take_chunk(&t, t.bytes, bytes - t.bytes);
        if (more == 0) break;
        t.bytes += more;
    }
    if (t.bytes < bytes || !t.ended)
        fprintf(stderr, "hz3: %s: its end is missing: read up to byte %llu of %llu\n", file_name,
                (unsigned long long)t.bytes, (unsigned long long)bytes);
    return t;
}

/* ---- ordering: from events to calls ---- */

/* A thread whose next event is known.  Of a realloc, the old object goes before the new one comes: that is two steps.
 */
struct head_of_thread {
    struct reader reader;
    struct event event;
    struct call *call;
    bool second;
};

struct addresses {
    struct place {
        uint64_t address, size;
        uint32_t object; /* or NONE: it was freed */
        bool used, mapped;
    } *places;
    uint64_t mask;
};

static struct place *place_of(struct addresses *a, uint64_t address)
{
    uint64_t at = address * UINT64_C(0x9e3779b97f4a7c15);
    for (at ^= at >> 32;; at++) {
        struct place *place = &a->places[at & a->mask];
        if (place->used && place->address != address) continue;
        if (!place->used) *place = (struct place){.address = address, .object = NONE, .used = true};
        return place;
    }
}

/* When its next step was; of two at the same time what goes is first, since its address may come again at once. */
static uint64_t key(const struct head_of_thread *h)
{
    const struct event *e = &h->event;
    bool goes = e->kind == TRACE_FREE || e->kind == TRACE_MUNMAP || (e->kind == TRACE_REALLOC && !h->second);
    return (e->time - (goes ? e->took : 0)) << 1 | !goes;
}

static void sink(struct head_of_thread **heap, uint64_t count, uint64_t at)
{
    for (uint64_t child; (child = 2 * at + 1) < count; at = child) {
        if (child + 1 < count && key(heap[child + 1]) < key(heap[child])) child++;
        if (key(heap[at]) <= key(heap[child])) return;
        struct head_of_thread *h = heap[at];
        heap[at] = heap[child];
        heap[child] = h;
    }
}

static uint64_t live, most; /* bytes */

/* The object, if it is one that the call can end; of munmap no more goes than there is. */
static uint32_t leaves(struct addresses *a, uint64_t address, struct call *call)
{
    struct place *place = place_of(a, address);
    uint32_t object = place->object;
    if (object == NONE || place->mapped != (call->kind == TRACE_MUNMAP)) return NONE;
    if (place->mapped && call->size > place->size) call->size = place->size;
    live -= place->size;
    place->object = NONE;
    return object;
}

static uint32_t comes(struct addresses *a, const struct event *e, struct score *score)
{
    struct place *place = place_of(a, e->address);
    live += e->size; /* and where the free of what was there was not seen, that stays */
    if (live > most)
        REFUSE("%llu MiB are live in it at once, more than this machine has", (unsigned long long)live >> 20);
    place->size = e->size;
    place->mapped = e->kind == TRACE_MMAP;
    return place->object = (uint32_t)score->objects++;
}

/* False when the event needs another step. */
static bool step(struct head_of_thread *h, struct addresses *a, struct score *score)
{
    const struct event *e = &h->event;
    struct call *call = h->call;
    if (!h->second) {
        if (e->time > score->end_ns) score->end_ns = e->time;
        *call = (struct call){e->time, e->size, e->kind, e->align, NONE, NONE};
        if (e->kind == TRACE_FREE || e->kind == TRACE_MUNMAP) call->old = leaves(a, e->address, call);
        if (e->kind == TRACE_REALLOC) call->old = leaves(a, e->old, call);
        h->second = e->kind == TRACE_REALLOC;
        if (h->second) return false;
    }
    h->second = false;
    if (e->kind != TRACE_FREE && e->kind != TRACE_MUNMAP) call->object = comes(a, e, score);
    h->call++;
    return true;
}

/* Counts what the threads have, and believes nothing after it. */
static uint64_t count(const struct trace *t, struct thread *threads, uint64_t *began)
{
    uint64_t calls = 0;
    *began = UINT64_MAX;
    for (uint64_t i = 0; i < THREADS; i++) {
        struct reader r = {.chunks = t->chunks};
        uint64_t time = 0;
        threads[i].first = calls;
        enter(&r, t->first[i]);
        for (struct event e; next_event(&r, &e); time = e.time, calls++) {
            if (e.time - e.took < time || e.time >= TIMES)
                REFUSE("damaged: the times of thread %llu", (unsigned long long)i);
            if (e.time - e.took < *began) *began = e.time - e.took;
        }
        threads[i].calls = calls - threads[i].first;
    }
    if (calls == 0) REFUSE("nothing was recorded in it");
    if (calls >= NONE) REFUSE("more calls than the player takes: %llu", (unsigned long long)calls);
    return calls;
}

static void order(const struct trace *t, const struct thread *threads, struct score *score, struct call *calls)
{
    struct addresses a = {.mask = 15};
    while (a.mask < 2 * score->calls)
        a.mask = a.mask << 1 | 1; /* an event has one address, or two of which one is known */
    a.mask = a.mask << 1 | 1;
    a.places = memory((a.mask + 1) * sizeof *a.places, MAP_PRIVATE, -1);
    struct head_of_thread *heads = memory(THREADS * (sizeof *heads + sizeof heads), MAP_PRIVATE, -1);
    struct head_of_thread **heap = (void *)(heads + THREADS);
    uint64_t running = 0;
    most = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)getpagesize();
    for (uint64_t i = 0; i < THREADS; i++) {
        struct head_of_thread *h = &heads[i];
        *h = (struct head_of_thread){.reader.chunks = t->chunks, .call = calls + threads[i].first};
        enter(&h->reader, t->first[i]);
        if (next_event(&h->reader, &h->event)) heap[running++] = h;
    }
    for (uint64_t i = running; i-- > 0;) sink(heap, running, i);
    while (running > 0) {
        if (step(heap[0], &a, score) && !next_event(&heap[0]->reader, &heap[0]->event)) heap[0] = heap[--running];
        sink(heap, running, 0);
    }
}

/* Into shared memory, which it returns. */
static int compose(const struct trace *t)
{
    struct thread *all = memory(THREADS * sizeof *all, MAP_PRIVATE, -1);
    uint64_t began, calls = count(t, all, &began), threads = 0;
    for (uint64_t i = 0; i < THREADS; i++) threads += all[i].calls > 0;
    size_t bytes = sizeof(struct score) + threads * sizeof *all + calls * sizeof(struct call);
    int file = memfd_create("trace", 0);
    if (file < 0 || ftruncate(file, (off_t)bytes) < 0) REFUSE("no memory for it: %s", strerror(errno));
    struct score *score = memory(bytes, MAP_SHARED, file);
    *score = (struct score){.threads = threads, .calls = calls, .bytes = t->bytes, .cpu_us = t->cpu_us};
    uint64_t base = le64toh(t->head.base_kib);
    score->peak_kib = t->peak_kib > base ? t->peak_kib - base : 0;
    memcpy(score->program, t->head.program, sizeof score->program);
    memcpy(score->allocator, t->head.allocator, sizeof score->allocator);
    struct thread *kept = (struct thread *)(score + 1);
    struct call *to = (struct call *)(kept + threads);
    order(t, all, score, to);
    for (uint64_t i = 0; i < calls; i++) to[i].time -= began;
    score->end_ns -= began;
    for (uint64_t i = 0; i < THREADS; i++)
        if (all[i].calls > 0) *kept++ = all[i];
    return file;
}

/* ---- playing ---- */

static const struct score *score;
static const struct thread *threads;
static const struct call *calls;
static _Atomic(char *) *objects;
static struct timespec start;
static sem_t ended;
static size_t page;

/* Sleeps where the time is further ahead than it may be. */
static uint64_t keep_time(uint64_t time, uint64_t known)
{
    if (time <= known + AHEAD) return known;
    uint64_t until = (uint64_t)start.tv_nsec + time;
    struct timespec at = {start.tv_sec + (time_t)(until / NS), (long)(until % NS)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) continue;
    return time;
}

static char *wait_for(uint32_t object)
{
    char *p;
    for (unsigned tries = 0; !(p = atomic_load_explicit(&objects[object], memory_order_acquire)); tries++) {
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
    case TRACE_REALLOC: return realloc(call->old == NONE ? NULL : wait_for(call->old), call->size);
    default:
        p = mmap(NULL, call->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        return p == MAP_FAILED ? NULL : p;
    }
}

static void make(const struct call *call)
{
    if (call->object != NONE) {
        char *p = allocate(call);
        if (!p && call->size == 0) p = malloc(1); /* where an allocator has nothing of size 0 */
        if (!p) REFUSE("the allocator had no memory for %llu bytes", (unsigned long long)call->size);
        touch(p, call->size);
        atomic_store_explicit(&objects[call->object], p, memory_order_release);
    } else if (call->old != NONE && call->kind == TRACE_MUNMAP) {
        munmap(wait_for(call->old), call->size);
    } else if (call->old != NONE) {
        free(wait_for(call->old));
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

/* Starts the others when they came; the first is played by the main thread, which allocators may treat otherwise. */
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

static double cpu_seconds(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

/* As every program of the lab ends its line: who served malloc. */
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

/* What a trace calls itself may be anything. */
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
    double before = cpu_seconds();
    pthread_t id;
    clock_gettime(CLOCK_MONOTONIC, &start);
    if (score->threads > 1 && pthread_create(&id, NULL, start_threads, ordered + 1)) REFUSE("no thread");
    play_thread((void *)ordered[0]);
    for (uint64_t i = 0; i < score->threads; i++) sem_wait(&ended);
    double after = cpu_seconds();
    uint64_t peak = trace_peak(trace_memory());
    print_facts();
    printf(" cpu_s=%.6f peak_kib=%llu", after - before, (unsigned long long)(peak > base ? peak - base : 0));
    print_server();
}

int main(int argc, char **argv)
{
    bool facts = argc == 3 && strcmp(argv[1], "--facts") == 0;
    file_name = argv[argc - 1];
    if (argc == 4 && strcmp(argv[1], "--score") == 0) {
        find_score(atoi(argv[2]));
        play();
        return 0;
    }
    if (argc != 2 && !facts) return fprintf(stderr, "usage: %s [--facts] FILE\n", argv[0]), 2;
    struct trace t = read_trace();
    int file = compose(&t);
    if (facts) {
        find_score(file);
        print_facts();
        putchar('\n');
        return 0;
    }
    char number[16];
    snprintf(number, sizeof number, "%d", file);
    execl("/proc/self/exe", argv[0], "--score", number, file_name, (char *)NULL);
    REFUSE("cannot begin anew: %s", strerror(errno));
}
