/* The functions that the recorder replaces: all that allocate or free, and mmap and munmap. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "record.h"

#define EXPORT __attribute__((visibility("default")))
enum { BOOTSTRAP = 16 << 10 };

static struct {
    void *(*malloc)(size_t), *(*calloc)(size_t, size_t), *(*realloc)(void *, size_t);
    void *(*memalign)(size_t, size_t), *(*aligned_alloc)(size_t, size_t);
    int (*posix_memalign)(void **, size_t, size_t);
    void (*free)(void *);
    void *(*mmap)(void *, size_t, int, int, int, off_t);
    int (*munmap)(void *, size_t);
    uintptr_t start, end; /* where the allocator's library is mapped */
    const char *name;
} next;

/* ---- start ---- */

/* Serves dlsym, which may allocate before malloc is found.  It is never freed. */
static _Alignas(16) unsigned char bootstrap[BOOTSTRAP];
static size_t bootstrapped;

static void *from_bootstrap(size_t size)
{
    size_t at = bootstrapped, rounded = (size + 31) / 16 * 16; /* 16 bytes before the block hold its size */
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

/* Once: dladdr takes the loader's lock, which a library's constructor may hold while it waits for a thread. */
static void find_range(uintptr_t start)
{
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)start;
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(start + header->e_phoff);
    next.start = next.end = start;
    for (int i = 0; i < header->e_phnum; i++) {
        uintptr_t end = start + segment[i].p_vaddr + segment[i].p_memsz;
        if (segment[i].p_type == PT_LOAD && end > next.end) next.end = end;
    }
}

static void find_next(void)
{
    Dl_info info = {0};
    FIND(mmap), FIND(munmap), FIND(calloc), FIND(realloc), FIND(memalign), FIND(aligned_alloc), FIND(posix_memalign);
    FIND(free), FIND(malloc);
    if (dladdr(*(void **)&next.malloc, &info) && info.dli_fname) {
        find_range((uintptr_t)info.dli_fbase);
        next.name = info.dli_fname;
    }
}

/* False while the functions are looked up.  Recording begins once the environment is set, which is after the first
 * calls. */
static bool ready(void)
{
    static bool finding, begun;
    if (!next.malloc) {
        if (finding) return false;
        finding = true;
        find_next();
        finding = false;
    }
    if (!begun && environ && !trace_inside) {
        begun = true;
        trace_inside++;
        const char *file = getenv("HZ3TRACE");
        if (file) trace_begin(file, next.name ? next.name : "");
        trace_inside--;
    }
    return true;
}

__attribute__((constructor)) static void start(void)
{
    ready();
}

/* ---- the program's calls ---- */

#define INSIDE(call) (trace_inside++, call)

static void *acquired(enum trace_kind kind, void *p, size_t size, size_t alignment)
{
    trace_inside--;
    if (p) trace_note((struct trace_event){.kind = kind, .address = p, .size = size, .alignment = alignment});
    return p;
}

EXPORT void *malloc(size_t size)
{
    if (!ready()) return from_bootstrap(size);
    return acquired(TRACE_MALLOC, INSIDE(next.malloc(size)), size, 0);
}

EXPORT void *calloc(size_t count, size_t size)
{
    if (!ready()) return from_bootstrap(count * size); /* dlsym's sizes are small */
    return acquired(TRACE_CALLOC, INSIDE(next.calloc(count, size)), count * size, 0);
}

EXPORT void free(void *p)
{
    if (!p || is_bootstrap(p) || !ready()) return;
    trace_note((struct trace_event){.kind = TRACE_FREE, .address = p});
    trace_inside++;
    next.free(p);
    trace_inside--;
}

/* Functions that an allocator may have, though the C library does not. */
#define ALSO_FREES(name) \
    EXPORT void name(void *p) \
    { \
        free(p); \
    }
ALSO_FREES(free_sized)
ALSO_FREES(free_aligned_sized)
ALSO_FREES(cfree)

EXPORT void *realloc(void *old, size_t size)
{
    if (!old) return malloc(size);
    if (is_bootstrap(old)) {
        size_t had;
        memcpy(&had, (char *)old - 16, sizeof had);
        void *p = malloc(size);
        return p ? memcpy(p, old, had < size ? had : size) : NULL;
    }
    struct trace_event e = {
        .kind = TRACE_REALLOC, .old = old, .size = size, .start_ns = trace_inside ? 0 : trace_now()};
    trace_inside++;
    e.address = next.realloc(old, size);
    trace_inside--;
    if (e.address) {
        trace_note(e);
    } else if (size == 0) {
        trace_note((struct trace_event){.kind = TRACE_FREE, .address = old, .start_ns = e.start_ns});
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

/* ---- C++ operators ----
 * An allocator's own would bypass malloc, so they are replaced.  A program may have some of its own, which the other
 * forms then call, as the standard says: so they call each other by name, and are weak, lest the compiler bind them. */

#define NEW(name, parameters, function) EXPORT void *name parameters __attribute__((weak, alias(#function)));

/* The C++ library's own operator, which calls those that the program replaced.  An allocator's need not.  If only a
 * plugin brought the library, no other scope has it.  Looked up once, since that takes the loader's lock; the library
 * stays. */
static void *of_library(const char *name, void **known)
{
    void *found = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (found) return found;
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
    if (!library) library = dlopen("libc++.so.1", RTLD_LAZY | RTLD_NOLOAD);
    found = dlsym(library ? library : RTLD_NEXT, name);
    __atomic_store_n(known, found, __ATOMIC_RELEASE);
    return found;
}

/* Without memory the C++ library's operator is called, which throws. */
static void *throwing(size_t size, size_t alignment)
{
    void *p = alignment ? memalign(alignment, size) : malloc(size);
    if (p) return p;
    static void *known[2];
    void *(*refuse)(size_t, size_t);
    *(void **)&refuse = of_library(alignment ? "_ZnwmSt11align_val_t" : "_Znwm", &known[alignment != 0]);
    return refuse ? refuse(size, alignment) : NULL;
}

static void *new_one(size_t size)
{
    return throwing(size, 0);
}
NEW(_Znwm, (size_t), new_one)

static void *new_aligned(size_t size, size_t alignment)
{
    return throwing(size, alignment);
}
NEW(_ZnwmSt11align_val_t, (size_t, size_t), new_aligned)

static void *new_array(size_t size)
{
    return _Znwm(size);
}
NEW(_Znam, (size_t), new_array)

static void *new_array_aligned(size_t size, size_t alignment)
{
    return _ZnwmSt11align_val_t(size, alignment);
}
NEW(_ZnamSt11align_val_t, (size_t, size_t), new_array_aligned)

/* Where a form that throws is the program's, or has no memory, only C++ can catch what it throws. */
#define NOTHROW(name, ours, allocate, throws, parameters, arguments) \
    EXPORT __attribute__((weak)) void *name parameters \
    { \
        void *p = ours ? allocate : NULL; \
        if (p) return p; \
        static void *known; \
        void *(*catching)parameters; \
        *(void **)&catching = of_library(#name, &known); \
        return catching ? catching arguments : throws; \
    }
NOTHROW(_ZnwmRKSt9nothrow_t, _Znwm == new_one, malloc(size), _Znwm(size), (size_t size, const void *tag), (size, tag))
NOTHROW(_ZnamRKSt9nothrow_t, _Znam == new_array && _Znwm == new_one, malloc(size), _Znam(size),
        (size_t size, const void *tag), (size, tag))
NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_t == new_aligned, memalign(alignment, size),
        _ZnwmSt11align_val_t(size, alignment), (size_t size, size_t alignment, const void *tag), (size, alignment, tag))
NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t,
        _ZnamSt11align_val_t == new_array_aligned && _ZnwmSt11align_val_t == new_aligned, memalign(alignment, size),
        _ZnamSt11align_val_t(size, alignment), (size_t size, size_t alignment, const void *tag), (size, alignment, tag))

/* A form's last argument may be nothrow or a size, in a register that is not read. */
#define DELETE(name, parameters, call) \
    EXPORT __attribute__((weak)) void name parameters \
    { \
        call; \
    }
DELETE(_ZdlPv, (void *p), free(p))
DELETE(_ZdaPv, (void *p), _ZdlPv(p))
DELETE(_ZdlPvm, (void *p), _ZdlPv(p))
DELETE(_ZdaPvm, (void *p), _ZdaPv(p))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p), _ZdlPv(p))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p), _ZdaPv(p))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t alignment), ((void)alignment, free(p)))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t alignment), _ZdlPvSt11align_val_t(p, alignment))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment), _ZdlPvSt11align_val_t(p, alignment))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t alignment), _ZdaPvSt11align_val_t(p, alignment))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t alignment),
       ((void)size, _ZdlPvSt11align_val_t(p, alignment)))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t alignment),
       ((void)size, _ZdaPvSt11align_val_t(p, alignment)))

/* ---- the program's own mappings ---- */

static bool is_the_programs(const void *caller)
{
    return !trace_inside && next.end && (uintptr_t)caller - next.start >= next.end - next.start;
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int file, off_t offset)
{
    if (!ready()) return errno = ENOMEM, MAP_FAILED;
    const int must = MAP_PRIVATE | MAP_ANONYMOUS, never = MAP_FIXED | MAP_NORESERVE | MAP_STACK | MAP_GROWSDOWN;
    void *p = next.mmap(at, size, protection, flags, file, offset);
    if (p != MAP_FAILED && (flags & (must | never)) == must && (protection & PROT_WRITE) &&
        is_the_programs(__builtin_return_address(0)))
        trace_note((struct trace_event){.kind = TRACE_MMAP, .address = p, .size = size});
    return p;
}

#ifdef __GLIBC__
EXPORT __attribute__((alias("mmap"))) void *mmap64(void *, size_t, int, int, int, off_t);
#endif

EXPORT int munmap(void *p, size_t size)
{
    if (!ready()) return 0;
    if (is_the_programs(__builtin_return_address(0)))
        trace_note((struct trace_event){.kind = TRACE_MUNMAP, .address = p, .size = size});
    return next.munmap(p, size);
}
