/* The recorder.  It is preloaded before an allocator, passes every call on (calls.c), and records it.
 *
 * Each thread writes into its own buffer, without locks.  A full buffer becomes a chunk of the trace, by one write to a
 * file that is opened each time, since the program may close or reuse descriptors that it does not know.  Forked
 * children and programs that are started have their own traces.  What is in buffers is lost if a process ends by a
 * signal, _exit or exec.  A failure ends the recording with one line, and never the program. */
#define _GNU_SOURCE
#include "record.h"

#include "os/write_signals.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

enum { STREAM = 32 << 10, LONGEST = 64, NAMES = 100, NS = 1000000000 };

struct stream {
    struct stream *next;
    uint64_t last_ns, last_address;
    int rounds; /* rounds of destructors so far */
    _Atomic uint64_t used;
    struct trace_chunk chunk; /* the events follow it, here as in the file */
    unsigned char events[];
};
#define BUFFER (STREAM - sizeof(struct stream))

__thread unsigned trace_inside;
static __thread struct {
    struct stream *stream;
    bool closed;     /* the thread is in its last round of destructors */
    uint64_t number; /* from 1, or 0: none yet */
} me __attribute__((tls_model("initial-exec")));

enum { OFF, ON, ENDING };
static _Atomic int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* for all that follows, and the file */
static struct stream *streams;
static uint64_t threads, own_kib, own_peak_kib;
static pthread_key_t key;
static struct trace_head head;
static char asked[PATH_MAX], path[PATH_MAX];
static bool created;
static char *begun; /* 1; the kernel clears it in children with memory of their own, by _Fork and clone, too */

/* ---- the file ---- */

static void make_head(void)
{
    head.base_kib = htole64(trace_memory().anonymous);
    head.check = htole64(trace_check(&head, offsetof(struct trace_head, check)));
}

static void fail(int error)
{
    struct hz3_write_signals before;
    state = OFF;
    hz3_write_signals_block(&before);
    dprintf(STDERR_FILENO, "hz3: record: cannot write %s: %s; the trace ends here\n", path, strerror(error));
    hz3_write_signals_unblock(&before);
}

/* The first process gets the name that was asked for.  The names of others also have the program and the process's
 * number. */
static long create(void)
{
    const int flags = O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
    memcpy(path, asked, sizeof path);
    long file = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    for (int i = 1; file < 0 && errno == EEXIST && i < NAMES; i++) {
        int made = snprintf(path, sizeof path, "%s.%s-%d", asked, head.program, (int)getpid());
        if (i > 1 && made < (int)sizeof path) made += snprintf(path + made, sizeof path - made, "-%d", i);
        if (made >= (int)sizeof path) return errno = ENAMETOOLONG, -1;
        file = syscall(SYS_openat, AT_FDCWD, path, flags, 0600);
    }
    return file;
}

static bool write_all(long file, const void *from, size_t bytes)
{
    while (bytes > 0) {
        long done = syscall(SYS_write, file, from, bytes);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return false;
        from = (const char *)from + done;
        bytes -= done;
    }
    return true;
}

static bool append(const void *from, size_t bytes)
{
    struct hz3_write_signals before;
    hz3_write_signals_block(&before);
    long file = created ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) : create();
    bool written = file >= 0 && (created || write_all(file, &head, sizeof head)) && write_all(file, from, bytes);
    int error = errno;
    if (file >= 0) syscall(SYS_close, file);
    created = true;
    errno = error;
    hz3_write_signals_unblock(&before);
    return written;
}

/* Under the lock. */
static void write_chunk(struct trace_chunk *chunk, uint64_t bytes)
{
    uint64_t peak = trace_peak(trace_memory());
    chunk->magic = htole64(CHUNK_MAGIC);
    chunk->bytes = htole64(bytes);
    chunk->cpu_us = htole64(trace_cpu_us());
    chunk->peak_kib = htole64(peak > own_peak_kib ? peak - own_peak_kib : 0);
    chunk->events_check = htole64(trace_check(chunk + 1, bytes));
    chunk->check = htole64(trace_check((char *)chunk + TRACE_CHECKED, sizeof *chunk - TRACE_CHECKED));
    if (!append(chunk, sizeof *chunk + bytes)) fail(errno);
}

static void write_out(struct stream *s)
{
    uint64_t bytes = atomic_load_explicit(&s->used, memory_order_acquire);
    if (state != OFF && bytes > 0) write_chunk(&s->chunk, bytes);
}

/* When the process is ending, buffers are written already.  late: write it nevertheless.  It is empty before another
 * thread can end the process, which would write it again. */
static void flush(struct stream *s, bool late)
{
    int error = errno;
    pthread_mutex_lock(&lock);
    if (late || state != ENDING) write_out(s);
    atomic_store_explicit(&s->used, 0, memory_order_relaxed);
    pthread_mutex_unlock(&lock);
    errno = error;
}

/* ---- threads ---- */

/* Under the lock. */
static void number(struct stream *s)
{
    if (!me.number) me.number = ++threads;
    s->chunk.thread = htole64(me.number - 1);
}

static struct stream *new_stream(void)
{
    const int touched = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE; /* resident, as its size is subtracted */
    struct stream *s = mmap(NULL, STREAM, PROT_READ | PROT_WRITE, touched, -1, 0);
    if (s == MAP_FAILED) return fail(errno), NULL;
    pthread_mutex_lock(&lock);
    number(s);
    s->next = streams;
    streams = s;
    own_kib += STREAM >> 10;
    if (own_kib > own_peak_kib) own_peak_kib = own_kib;
    pthread_mutex_unlock(&lock);
    pthread_setspecific(key, s);
    return s;
}

/* A thread ends.  Destructors of other keys may still free, so this one sets its key again for every round.  Calls
 * after the last round are written at once. */
static void end_thread(void *stream)
{
    struct stream *s = stream;
    trace_inside++;
    if (++s->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, s) == 0) {
        trace_inside--;
        return;
    }
    flush(s, false);
    pthread_mutex_lock(&lock);
    struct stream **at = &streams;
    while (*at && *at != s) at = &(*at)->next;
    if (*at) *at = s->next;
    own_kib -= STREAM >> 10;
    pthread_mutex_unlock(&lock);
    me.stream = NULL;
    me.closed = true;
    munmap(s, STREAM);
    trace_inside--;
}

/* Runs in the child, which has one thread.  Its trace begins here. */
static void forked(void)
{
    trace_inside++;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (struct stream *s = streams, *after; s; s = after) {
        after = s->next;
        munmap(s, STREAM);
    }
    streams = me.stream = NULL;
    threads = me.number = own_kib = own_peak_kib = 0;
    created = false;
    *begun = 1;
    make_head();
    pthread_setspecific(key, NULL);
    trace_inside--;
}

__attribute__((destructor)) static void end(void)
{
    /* If a signal handler called exit, its thread may have been interrupted inside, with the lock held. */
    if (state != ON || trace_inside) return;
    if (!*begun) forked();
    trace_inside++;
    pthread_mutex_lock(&lock);
    for (struct stream *s = streams; s; s = s->next) write_out(s);
    if (state == ON) {
        state = ENDING;
        write_chunk(&(struct trace_chunk){0}, 0);
    }
    pthread_mutex_unlock(&lock);
    trace_inside--;
}

/* ---- events ---- */

uint64_t trace_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS + (uint64_t)t.tv_nsec;
}

static unsigned char *put(unsigned char *to, uint64_t value)
{
    for (; value > 127; value >>= 7) *to++ = (unsigned char)value | 128;
    *to++ = (unsigned char)value;
    return to;
}

static unsigned char *put_address(unsigned char *to, struct stream *s, const void *address)
{
    uint64_t mine = trace_address((uintptr_t)address), differs = mine - s->last_address;
    s->last_address = mine;
    return put(to, differs << 1 ^ -(differs >> 63)); /* small also if the difference is negative */
}

/* Of the least power of two that is at least so much: memalign takes any number, 0 too. */
static uint64_t exponent_of(size_t alignment)
{
    return alignment > 1 ? 64 - __builtin_clzl(alignment - 1) : 0;
}

static void encode(struct stream *s, const struct trace_event *e)
{
    uint64_t used = atomic_load_explicit(&s->used, memory_order_relaxed), time = trace_now();
    /* Not earlier than what a signal handler recorded meanwhile. */
    uint64_t began = e->start_ns > s->last_ns ? e->start_ns : s->last_ns;
    if (e->kind == TRACE_FREE && e->start_ns) time = began;
    if (used == 0) {
        s->last_ns = e->kind == TRACE_REALLOC ? began : time;
        s->chunk.start_ns = htole64(s->last_ns);
        s->last_address = 0;
    }
    unsigned char *to = put(s->events + used, (time - s->last_ns) << TRACE_KIND_BITS | e->kind);
    s->last_ns = time;
    if (e->kind == TRACE_ALIGNED) to = put(to, exponent_of(e->alignment));
    if (e->kind == TRACE_REALLOC) to = put_address(put(to, time - began), s, e->old);
    if (e->kind != TRACE_FREE) to = put(to, e->size);
    to = put_address(to, s, e->address);
    atomic_store_explicit(&s->used, to - s->events, memory_order_release);
}

static void write_at_once(const struct trace_event *e)
{
    union {
        struct stream s;
        char room[sizeof(struct stream) + LONGEST];
    } alone = {0};
    pthread_mutex_lock(&lock);
    number(&alone.s);
    pthread_mutex_unlock(&lock);
    encode(&alone.s, e);
    flush(&alone.s, true);
}

void trace_note(struct trace_event e)
{
    if (trace_inside || state == OFF) return;
    if (!*begun) forked();
    trace_inside++;
    if (me.closed || state == ENDING) {
        write_at_once(&e);
    } else if (me.stream || (me.stream = new_stream())) {
        encode(me.stream, &e);
        if (me.stream->used > BUFFER - LONGEST) flush(me.stream, false);
    }
    trace_inside--;
}

/* ---- start ---- */

void trace_begin(const char *wanted, const char *allocator)
{
    memcpy(head.magic, TRACE_MAGIC, sizeof head.magic);
    head.version = htole64(TRACE_VERSION);
    prctl(PR_GET_NAME, head.program); /* at most 16 bytes */
    for (char *c = head.program; (c = strchr(c, '/'));) *c = '_';
    snprintf(head.allocator, sizeof head.allocator, "%s", allocator);
    make_head();
    int size = snprintf(asked, sizeof asked, "%s", wanted);
    begun = mmap(NULL, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int error = begun == MAP_FAILED ? errno : size < (int)sizeof asked ? 0 : ENAMETOOLONG;
    if (!error) error = pthread_key_create(&key, end_thread);
    if (!error) error = pthread_atfork(NULL, NULL, forked);
    if (error) return fail(error);
    *begun = 1;
    madvise(begun, 1, MADV_WIPEONFORK);
    state = ON;
    if (!append(NULL, 0)) fail(errno);
}
