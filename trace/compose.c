/* Turns a trace, which is not trusted, into calls that can be played without further checks. */
#define _GNU_SOURCE
#include "compose.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define THREADS (UINT64_C(1) << 16)
#define SIZES   (UINT64_C(1) << 47)
#define TIMES   (UINT64_C(1) << 62)

/* ---- reading: from bytes to events ---- */

struct chunk {
    const unsigned char *events, *end;
    uint64_t start_ns, next; /* the thread's next chunk, or 0 */
};

struct reader {
    const struct chunk *chunks;
    uint64_t chunk; /* the one that is read, or 0 at the end */
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

/* Returns false at the end. */
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
    struct chunk *chunks; /* numbered from 1 */
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

static bool is_good(const struct trace_chunk *head)
{
    uint64_t sum = trace_check((const char *)head + TRACE_CHECKED, sizeof *head - TRACE_CHECKED);
    return le64toh(head->magic) == CHUNK_MAGIC && sum == le64toh(head->check) && le64toh(head->start_ns) < TIMES;
}

/* Whether a chunk begins anywhere between the two. */
static bool goes_on(const unsigned char *from, const unsigned char *end)
{
    const uint64_t magic = htole64(CHUNK_MAGIC);
    struct trace_chunk head;
    for (; (from = memmem(from, (size_t)(end - from), &magic, sizeof magic)); from++) {
        if ((size_t)(end - from) < sizeof head) return false;
        memcpy(&head, from, sizeof head);
        if (is_good(&head)) return true;
    }
    return false;
}

/* Returns the bytes of the chunk, or 0 if the end of the file is missing or damaged, so that no good chunk follows. */
static uint64_t take_chunk(struct trace *t, uint64_t at, uint64_t bytes)
{
    struct trace_chunk head;
    memcpy(&head, whole + at, sizeof head);
    uint64_t events = le64toh(head.bytes), thread = le64toh(head.thread), start = le64toh(head.start_ns);
    const unsigned char *from = whole + at + sizeof head;
    bool good = is_good(&head);
    if (good && events > bytes - sizeof head) return 0;
    if (!good || trace_check(from, events) != le64toh(head.events_check)) {
        if (goes_on(whole + at + 1, whole + at + bytes)) REFUSE("damaged at byte %llu", (unsigned long long)at);
        return 0;
    }
    if (thread >= THREADS) REFUSE("more threads than the player takes: %llu", (unsigned long long)thread);
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
    int file = open(trace_file, O_RDONLY | O_CLOEXEC);
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
        fprintf(stderr, "hz3: %s: its end is missing: read up to byte %llu of %llu\n", trace_file,
                (unsigned long long)t.bytes, (unsigned long long)bytes);
    return t;
}

/* ---- ordering: from events to calls ---- */

/* A thread and its next event.  A realloc takes two steps: the old object ends before the new one begins.
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
        uint32_t object; /* the live one, or NONE */
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

/* The time of its next step.  At equal times frees come first, since an address may be used again at once. */
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

/* Ends the object at the address and returns it, or NONE if the call cannot end it.  munmap's size is limited to the
 * mapping's. */
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
    live += e->size; /* an object whose free was not recorded stays live */
    if (live > most)
        REFUSE("%llu MiB are live in it at once, more than this machine has", (unsigned long long)live >> 20);
    place->size = e->size;
    place->mapped = e->kind == TRACE_MMAP;
    return place->object = (uint32_t)score->objects++;
}

/* Returns false if the event needs another step. */
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

/* Counts the threads' calls, and checks all events, so that later passes need not. */
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
        a.mask = a.mask << 1 | 1; /* an event adds at most one address that is not known */
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

int compose(void)
{
    struct trace read = read_trace(), *t = &read;
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
