/* The recorder: preloaded before an allocator, it passes every call on and writes down what it was.
 *
 * Each thread writes into a buffer of its own, without locks; a full one becomes a chunk of the trace, by one write of
 * a file that is opened for it: the program may have closed or reused any descriptor that it does not know.  A forked
 * child and a program that is started have traces of their own.  What stands in buffers is lost where a process ends by
 * a signal, _exit or exec.  Whatever fails ends the recording, with one line, and not the program. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "format.h"

#define EXPORT __attribute__((visibility("default")))
enum { BUFFER = 32 << 10, LONGEST = 64, BOOTSTRAP = 16 << 10, NAMES = 100, NS = 1000000000 };

struct stream {
    struct stream *next;
    uint64_t last_ns, last_address;
    int rounds; /* of destructors */
    _Atomic uint64_t used;
    struct trace_chunk chunk; /* the events follow it in the file, too */
    unsigned char events[];
};
#define STREAM (sizeof(struct stream) + BUFFER)

static __thread struct {
    struct stream *stream;
    unsigned inside; /* of the recorder, or of the allocator: what is called there is not the program's */
    bool closed;     /* the thread's last destructors run */
    uint64_t number; /* from 1 */
} me __attribute__((tls_model("initial-exec")));

static struct {
    void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t), *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    const void *base; /* of the allocator's library */
} next;

enum { NOT_YET, ON, ENDING, OFF };
static _Atomic int state;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all that follows, and of the file */
static struct stream *streams;
static uint64_t threads, own_kib, own_peak_kib;
static pthread_key_t key;
static struct trace_head head;
static char asked[PATH_MAX], path[PATH_MAX];
static bool created;

/* ---- the file ---- */

static void make_head(void)
{
    head.base_kib = htole64(trace_memory().anonymous);
    head.check = htole64(trace_check(&head, offsetof(struct trace_head, check)));
}

static void fail(int error)
{
    state = OFF;
    dprintf(STDERR_FILENO, "hz3: record: cannot write %s: %s; the trace ends here\n", path, strerror(error));
}

/* The name that was asked for is the first process's; another's has the program and its number in it. */
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

/* A limit on the size of files kills, unless its signal is blocked. */
static bool append(const void *from, size_t bytes)
{
    sigset_t limit, before;
    sigemptyset(&limit);
    sigaddset(&limit, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &limit, &before);
    long file = created ? syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW) : create();
    bool written = file >= 0 && (created || write_all(file, &head, sizeof head)) && write_all(file, from, bytes);
    int error = errno;
    if (!written && error == EFBIG) sigtimedwait(&limit, NULL, &(struct timespec){0});
    if (file >= 0) syscall(SYS_close, file);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    created = true;
    errno = error;
    return written;
}

/* Under the lock. */
static void write_chunk(struct trace_chunk *chunk, uint64_t bytes)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    uint64_t peak = trace_peak(trace_memory());
    chunk->magic = htole64(CHUNK_MAGIC);
    chunk->bytes = htole64(bytes);
    chunk->cpu_us = htole64((uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
                            (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec));
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

/* Once the process ends, what was in buffers is written already. */
static void flush(struct stream *s, bool late)
{
    int error = errno;
    pthread_mutex_lock(&lock);
    if (late || state != ENDING) write_out(s);
    pthread_mutex_unlock(&lock);
    atomic_store_explicit(&s->used, 0, memory_order_relaxed);
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
    struct stream *s = next.mmap(NULL, STREAM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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

/* A thread ends.  Other keys' destructors may still free: ours is run again after them, as often as it may be, and what
 * is called after that is written at once. */
static void end_thread(void *stream)
{
    struct stream *s = stream;
    me.inside++;
    if (++s->rounds < PTHREAD_DESTRUCTOR_ITERATIONS && pthread_setspecific(key, s) == 0) {
        me.inside--;
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
    next.munmap(s, STREAM);
    me.inside--;
}

/* In the child, which is alone: its trace begins here. */
static void forked(void)
{
    me.inside++;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    for (struct stream *s = streams, *after; s; s = after) {
        after = s->next;
        next.munmap(s, STREAM);
    }
    streams = me.stream = NULL;
    threads = me.number = own_kib = own_peak_kib = 0;
    created = false;
    make_head();
    pthread_setspecific(key, NULL);
    me.inside--;
}

__attribute__((destructor)) static void end(void)
{
    if (state != ON) return;
    me.inside++;
    pthread_mutex_lock(&lock);
    for (struct stream *s = streams; s; s = s->next) write_out(s);
    if (state == ON) {
        state = ENDING;
        write_chunk(&(struct trace_chunk){0}, 0);
    }
    pthread_mutex_unlock(&lock);
    me.inside--;
}

/* ---- events ---- */

struct event {
    enum trace_kind kind;
    const void *address, *old;
    size_t size, alignment;
    uint64_t start_ns; /* of realloc */
};

static uint64_t now(void)
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
    return put(to, differs << 1 ^ -(differs >> 63)); /* small where it is small and negative, too */
}

static void encode(struct stream *s, const struct event *e)
{
    uint64_t used = atomic_load_explicit(&s->used, memory_order_relaxed), time = now();
    if (used == 0) {
        s->last_ns = e->kind == TRACE_REALLOC ? e->start_ns : time;
        s->chunk.start_ns = htole64(s->last_ns);
        s->last_address = 0;
    }
    unsigned char *to = put(s->events + used, (time - s->last_ns) << TRACE_KIND_BITS | e->kind);
    s->last_ns = time;
    if (e->kind == TRACE_ALIGNED) to = put(to, __builtin_ctzl(e->alignment));
    if (e->kind == TRACE_REALLOC) to = put_address(put(to, time - e->start_ns), s, e->old);
    if (e->kind != TRACE_FREE) to = put(to, e->size);
    to = put_address(to, s, e->address);
    atomic_store_explicit(&s->used, to - s->events, memory_order_release);
}

static void write_at_once(const struct event *e)
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

static void note(struct event e)
{
    if (me.inside || state == OFF || state == NOT_YET) return;
    me.inside++;
    if (me.closed || state == ENDING) {
        write_at_once(&e);
    } else if (me.stream || (me.stream = new_stream())) {
        encode(me.stream, &e);
        if (me.stream->used > BUFFER - LONGEST) flush(me.stream, false);
    }
    me.inside--;
}

/* ---- start ---- */

/* dlsym may allocate before malloc is found; nothing of it is freed. */
static _Alignas(16) unsigned char bootstrap[BOOTSTRAP];
static size_t bootstrapped;

static void *from_bootstrap(size_t size)
{
    size_t at = bootstrapped, rounded = (size + 31) / 16 * 16; /* 16 before it, for its size */
    if (size > BOOTSTRAP || BOOTSTRAP - at < rounded) return NULL;
    bootstrapped += rounded;
    memcpy(bootstrap + at, &size, sizeof size);
    return bootstrap + at + 16;
}

static bool is_bootstrap(const void *p)
{
    return (uintptr_t)p - (uintptr_t)bootstrap < BOOTSTRAP;
}

#define FIND(name) (*(void **)&next.name = dlsym(RTLD_NEXT, #name))

static void find_next(void)
{
    Dl_info info = {0};
    FIND(mmap), FIND(munmap), FIND(calloc), FIND(realloc), FIND(memalign), FIND(aligned_alloc), FIND(posix_memalign);
    FIND(free), FIND(malloc);
    if (dladdr(*(void **)&next.malloc, &info) && info.dli_fname) {
        next.base = info.dli_fbase;
        snprintf(head.allocator, sizeof head.allocator, "%s", info.dli_fname);
    }
}

static void begin(const char *wanted)
{
    memcpy(head.magic, TRACE_MAGIC, sizeof head.magic);
    head.version = htole64(TRACE_VERSION);
    prctl(PR_GET_NAME, head.program); /* at most 16 bytes */
    for (char *c = head.program; (c = strchr(c, '/'));) *c = '_';
    make_head();
    int size = snprintf(asked, sizeof asked, "%s", wanted);
    int error = size < (int)sizeof asked ? pthread_key_create(&key, end_thread) : ENAMETOOLONG;
    if (!error) error = pthread_atfork(NULL, NULL, forked);
    if (error) return fail(error);
    state = ON;
    if (!append(NULL, 0)) fail(errno);
}

/* False while the functions are looked for.  The environment is there a little later than the first calls. */
static bool ready(void)
{
    static bool finding;
    if (!next.malloc) {
        if (finding) return false;
        finding = true;
        find_next();
        finding = false;
    }
    if (state == NOT_YET && environ && !me.inside) {
        me.inside++;
        const char *wanted = getenv("HZ3TRACE");
        if (wanted) {
            begin(wanted);
        } else {
            state = OFF;
        }
        me.inside--;
    }
    return true;
}

__attribute__((constructor)) static void start(void)
{
    ready();
}

/* ---- what the program calls ---- */

#define INSIDE(call) (me.inside++, call)

static void *acquired(enum trace_kind kind, void *p, size_t size, size_t alignment)
{
    me.inside--;
    if (p) note((struct event){.kind = kind, .address = p, .size = size, .alignment = alignment});
    return p;
}

EXPORT void *malloc(size_t size)
{
    if (!ready()) return from_bootstrap(size);
    return acquired(TRACE_MALLOC, INSIDE(next.malloc(size)), size, 0);
}

EXPORT void *calloc(size_t count, size_t size)
{
    if (!ready()) return from_bootstrap(count * size); /* by dlsym: small */
    return acquired(TRACE_CALLOC, INSIDE(next.calloc(count, size)), count * size, 0);
}

EXPORT void free(void *p)
{
    if (!p || is_bootstrap(p) || !ready()) return;
    note((struct event){.kind = TRACE_FREE, .address = p});
    me.inside++;
    next.free(p);
    me.inside--;
}

EXPORT void *realloc(void *old, size_t size)
{
    if (!old) return malloc(size);
    if (is_bootstrap(old)) {
        size_t had;
        memcpy(&had, (char *)old - 16, sizeof had);
        void *p = malloc(size);
        return p ? memcpy(p, old, had < size ? had : size) : NULL;
    }
    struct event e = {.kind = TRACE_REALLOC, .old = old, .size = size, .start_ns = me.inside ? 0 : now()};
    me.inside++;
    e.address = next.realloc(old, size);
    me.inside--;
    if (e.address) {
        note(e);
    } else if (size == 0) {
        note((struct event){.kind = TRACE_FREE, .address = old});
    }
    return (void *)e.address;
}

EXPORT void *reallocarray(void *old, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
    return realloc(old, bytes);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    if (!ready()) return NULL;
    return acquired(TRACE_ALIGNED, INSIDE(next.memalign(alignment, size)), size, alignment);
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    if (!ready()) return NULL;
    return acquired(TRACE_ALIGNED, INSIDE(next.aligned_alloc(alignment, size)), size, alignment);
}

EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
    if (!ready()) return ENOMEM;
    int error = INSIDE(next.posix_memalign(result, alignment, size));
    acquired(TRACE_ALIGNED, error ? NULL : *result, size, alignment);
    return error;
}

EXPORT void *valloc(size_t size)
{
    return memalign(getpagesize(), size);
}

EXPORT void *pvalloc(size_t size)
{
    size_t page = getpagesize(), more;
    if (__builtin_add_overflow(size, page - 1, &more)) return errno = ENOMEM, NULL;
    return memalign(page, size ? more / page * page : page);
}

/* An allocator may have operators of its own, which would be called past malloc.  Where there is no memory, the C++
 * library's throws. */
static void *throwing(size_t size, size_t alignment)
{
    void *p = alignment ? memalign(alignment, size) : malloc(size);
    if (p) return p;
    void *(*refuse)(size_t, size_t);
    *(void **)&refuse = dlsym(RTLD_NEXT, alignment ? "_ZnwmSt11align_val_t" : "_Znwm");
    return refuse ? refuse(size, alignment) : NULL;
}

#define NEW(name, arguments, call) \
    EXPORT void *name arguments \
    { \
        return call; \
    }
NEW(_Znwm, (size_t size), throwing(size, 0))
NEW(_Znam, (size_t size), throwing(size, 0))
NEW(_ZnwmRKSt9nothrow_t, (size_t size), malloc(size))
NEW(_ZnamRKSt9nothrow_t, (size_t size), malloc(size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t alignment), throwing(size, alignment))
NEW(_ZnamSt11align_val_t, (size_t size, size_t alignment), throwing(size, alignment))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment), memalign(alignment, size))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t alignment), memalign(alignment, size))

#define DELETE(name) \
    EXPORT void name(void *p) \
    { \
        free(p); \
    }
DELETE(_ZdlPv)
DELETE(_ZdaPv)
DELETE(_ZdlPvm)
DELETE(_ZdaPvm)
DELETE(_ZdlPvRKSt9nothrow_t)
DELETE(_ZdaPvRKSt9nothrow_t)
DELETE(_ZdlPvSt11align_val_t)
DELETE(_ZdaPvSt11align_val_t)
DELETE(_ZdlPvmSt11align_val_t)
DELETE(_ZdaPvmSt11align_val_t)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t)

/* ---- the program's own mappings ---- */

static bool is_the_programs(const void *caller)
{
    Dl_info info;
    return !me.inside && next.base && !(dladdr(caller, &info) && info.dli_fbase == next.base);
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (!ready()) return errno = ENOMEM, MAP_FAILED;
    const int must = MAP_PRIVATE | MAP_ANONYMOUS, never = MAP_FIXED | MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN;
    void *p = next.mmap(at, size, protection, flags, file, offset);
    if (p != MAP_FAILED && (flags & (must | never)) == must && (protection & PROT_WRITE) &&
        is_the_programs(__builtin_return_address(0)))
        note((struct event){.kind = TRACE_MMAP, .address = p, .size = size});
    return p;
}

#ifdef __GLIBC__
EXPORT __attribute__((alias("mmap"))) void *mmap64(void *, size_t, int, int, int, off_t);
#endif

EXPORT int munmap(void *p, size_t size)
{
    if (!ready()) return 0;
    if (is_the_programs(__builtin_return_address(0)))
        note((struct event){.kind = TRACE_MUNMAP, .address = p, .size = size});
    return next.munmap(p, size);
}
