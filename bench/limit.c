/* The cost of malloc and free if nothing is shared, with which other results are compared.  It is an allocator
 * for the benchmark programs only, and no bound: docs/lab.md says where others are faster.
 *
 * A thread has a stack of pointers to free objects for each size class.  malloc pops, and free pushes, whichever
 * thread made the object.  Nothing is shared, checked, or given back to the system, and free objects are not
 * touched.  When a stack is empty, its thread carves a new span, in address space that is reserved once.  A thread
 * that starts takes over the stacks of one that has ended.
 *
 * If some threads only malloc and others only free, memory grows all the time, and the cost of new pages is
 * measured. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SPAN_SHIFT  16
#define SPAN        (UINT64_C(1) << SPAN_SHIFT)
#define ARENA       (UINT64_C(1) << 40) /* also its alignment */
#define CLASSES     240                 /* 16 bytes apart up to 256, then 8 for each doubling, up to LARGEST */
#define LARGEST     (UINT64_C(1) << 36)
#define STACK_START 512 /* pointers: a page */

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define EXPORT    __attribute__((visibility("default")))

struct stack {
    void **slot;
    uint64_t count, room;
    char *fresh, *fresh_end; /* the part of the newest span that was never handed out */
};

struct cache {
    struct stack stack[CLASSES];
    struct cache *next_spare;
};

static __thread struct cache *mine __attribute__((tls_model("initial-exec")));
static uint8_t class_of_span[ARENA / SPAN];
static uint64_t arena_end;
static _Atomic uint64_t arena_next;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t leaving;
static pthread_mutex_t spare_lock = PTHREAD_MUTEX_INITIALIZER;
static struct cache *spare;

EXPORT const char *limit_config_string(void)
{
    return "limit-config: thread-local stacks, nothing shared, nothing given back";
}

/* Not by dprintf, which calls malloc. */
_Noreturn static void die(const char *line)
{
    if (write(STDERR_FILENO, line, strlen(line)) < 0) _exit(126);
    _exit(127);
}

static void *map(uint64_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) die("limit: cannot map memory\n");
    return p;
}

/* ---- size classes ---- */

static inline unsigned class_of_size(uint64_t size)
{
    uint64_t last = size - (size != 0);
    unsigned doubling = 63 - (unsigned)__builtin_clzll(last | 128) - 7;
    return doubling * 8 + (unsigned)(last >> (doubling + 4));
}

static inline uint64_t size_of_class(unsigned class)
{
    unsigned doubling = class < 16 ? 0 : class / 8 - 1;
    return (uint64_t)(class - doubling * 8 + 1) << (doubling + 4);
}

static inline unsigned class_of_pointer(const void *p)
{
    return class_of_span[(uintptr_t)p % ARENA >> SPAN_SHIFT];
}

/* ---- slow paths ---- */

static void leave(void *cache)
{
    mine = NULL;
    pthread_mutex_lock(&spare_lock);
    ((struct cache *)cache)->next_spare = spare;
    spare = cache;
    pthread_mutex_unlock(&spare_lock);
}

static void start(void)
{
    arena_next = ((uintptr_t)map(2 * ARENA) + ARENA - 1) & ~(ARENA - 1);
    arena_end = arena_next + ARENA;
    if (pthread_key_create(&leaving, leave) != 0) die("limit: no thread key\n");
}

static struct cache *join(void)
{
    pthread_once(&once, start);
    pthread_mutex_lock(&spare_lock);
    mine = spare;
    if (mine) spare = mine->next_spare;
    pthread_mutex_unlock(&spare_lock);
    if (!mine) mine = map(sizeof *mine);
    pthread_setspecific(leaving, mine); /* may call malloc, so `mine` is set before */
    return mine;
}

static void grow(struct stack *s)
{
    uint64_t bytes = s->room * sizeof *s->slot;
    s->slot = s->room ? mremap(s->slot, bytes, 2 * bytes, MREMAP_MAYMOVE) : map(STACK_START * sizeof *s->slot);
    if (s->slot == MAP_FAILED) die("limit: cannot grow a stack\n");
    s->room = s->room ? 2 * s->room : STACK_START;
}

/* A new span for a class.  Objects whose size is a power of two lie at multiples of it, which aligned_alloc needs. */
static void take_span(struct stack *s, unsigned class)
{
    uint64_t size = size_of_class(class), bytes = (size + SPAN - 1) & ~(SPAN - 1);
    uint64_t alignment = (size & (size - 1)) == 0 && size > SPAN ? size : SPAN;
    uint64_t from = atomic_fetch_add(&arena_next, bytes + alignment - SPAN);
    uint64_t span = (from + alignment - 1) & ~(alignment - 1);
    if (span + bytes > arena_end) die("limit: the arena is used up\n");
    for (uint64_t i = 0; i < bytes; i += SPAN) class_of_span[(span + i) % ARENA >> SPAN_SHIFT] = (uint8_t)class;
    s->fresh = (char *)span;
    s->fresh_end = s->fresh + bytes;
}

__attribute__((noinline)) static void *malloc_slow(uint64_t size)
{
    if (size > LARGEST) {
        errno = ENOMEM;
        return NULL;
    }
    unsigned class = class_of_size(size);
    struct stack *s = &(mine ? mine : join())->stack[class];
    if (s->count) return s->slot[--s->count];
    if ((uint64_t)(s->fresh_end - s->fresh) < size_of_class(class)) take_span(s, class);
    void *p = s->fresh;
    s->fresh += size_of_class(class);
    return p;
}

__attribute__((noinline)) static void free_slow(void *p)
{
    if (!p) return;
    struct stack *s = &(mine ? mine : join())->stack[class_of_pointer(p)];
    if (s->count == s->room) grow(s);
    s->slot[s->count++] = p;
}

/* ---- the standard names ---- */

EXPORT void *malloc(size_t size)
{
    if (LIKELY(mine && size <= LARGEST)) {
        struct stack *s = &mine->stack[class_of_size(size)];
        if (LIKELY(s->count)) return s->slot[--s->count];
    }
    return malloc_slow(size);
}

EXPORT void free(void *p)
{
    if (LIKELY(mine && p)) {
        struct stack *s = &mine->stack[class_of_pointer(p)];
        if (LIKELY(s->count < s->room)) {
            s->slot[s->count++] = p;
            return;
        }
    }
    free_slow(p);
}

EXPORT size_t malloc_usable_size(void *p)
{
    return p ? size_of_class(class_of_pointer(p)) : 0;
}

EXPORT void *calloc(size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) bytes = SIZE_MAX;
    void *p = malloc(bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

EXPORT void *realloc(void *p, size_t size)
{
    size_t old = malloc_usable_size(p);
    if (p && size == 0) {
        free(p);
        return NULL;
    }
    if (p && size <= LARGEST && class_of_size(size) == class_of_pointer(p)) return p;
    void *moved = malloc(size);
    if (moved && p) {
        memcpy(moved, p, old < size ? old : size);
        free(p);
    }
    return moved;
}

EXPORT void *reallocarray(void *p, size_t count, size_t size)
{
    size_t bytes;
    return realloc(p, __builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
}

EXPORT void *memalign(size_t alignment, size_t size)
{
    if (alignment <= 16) return malloc(size);
    size_t bytes = size > alignment ? size : alignment;
    if (bytes > LARGEST) return malloc_slow(SIZE_MAX);
    return malloc(UINT64_C(1) << (64 - __builtin_clzll(bytes - 1)));
}

EXPORT void *aligned_alloc(size_t alignment, size_t size)
{
    return memalign(alignment, size);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t size)
{
    if (alignment < sizeof(void *) || (alignment & (alignment - 1)) != 0) return EINVAL;
    int before = errno;
    void *p = memalign(alignment, size);
    errno = before;
    if (!p) return ENOMEM;
    *out = p;
    return 0;
}

EXPORT void *valloc(size_t size)
{
    return memalign((size_t)sysconf(_SC_PAGESIZE), size);
}
