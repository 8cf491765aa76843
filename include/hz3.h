/* hz3: a malloc that stays fast and small when threads free each other's memory.
 *
 * Preload the library (or link it) and the standard names are served by hz3; every one of them is
 * also reachable under its hz3_ name below.  Common to all functions here:
 *   - sizes and alignments are in bytes; every block is aligned to 16 bytes or more;
 *   - they may be called from any thread at any time, before constructors, in TLS destructors and
 *     atexit handlers; malloc(3) is not async-signal-safe and neither are they;
 *   - errno is left alone on success, and by the free family always;
 *   - a double free, an interior pointer or a pointer that no allocator gave out ends the process with
 *     one line on stderr, then SIGABRT: at once, but for a double or interior free of a small object in builds
 *     without HZ3_FREE_CHECK=1: when it goes home, if at all.  The line is
 *         hz3: MISUSE: 0xPOINTER (cached by thread TID, called from MODULE+0xOFFSET)
 *     where MISUSE is "double free", "interior pointer freed", "foreign pointer freed", "free of a pointer that was
 *     never allocated", or "CALL of a freed (an interior, a foreign) pointer" for realloc and malloc_usable_size.
 *     The thread is told where the object lies in a thread's cache, the rest where /proc can be read. */
#ifndef HZ3_H
#define HZ3_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define HZ3_API       __attribute__((visibility("default")))
#define HZ3_EXTENSION __extension__ /* C89 has no bool of its own */
#else
#define HZ3_API
#define HZ3_EXTENSION
#endif

/* Of this release, or of the last one.  The build and the wheel read it here; a test compares what repeats it. */
#define HZ3_VERSION_MAJOR 0
#define HZ3_VERSION_MINOR 2
#define HZ3_VERSION_PATCH 0

/* ---- allocation: NULL and ENOMEM on failure, or where size (or a product) exceeds PTRDIFF_MAX ---- */
HZ3_API void *hz3_malloc(size_t size);               /* size 0: a unique pointer */
HZ3_API void *hz3_calloc(size_t count, size_t size); /* zeroed */
HZ3_API void *hz3_realloc(void *p, size_t size);     /* p and size 0: frees p, returns NULL (as glibc) */
HZ3_API void *hz3_reallocarray(void *p, size_t count, size_t size);

/* Any power-of-two alignment; size need not be a multiple.  memalign rounds other alignments up; so does aligned_alloc
 * where the C library's own does (glibc until 2.37), else they are EINVAL.  posix_memalign returns EINVAL, or ENOMEM,
 * which it leaves in errno too, and leaves *out alone then. */
HZ3_API void *hz3_aligned_alloc(size_t alignment, size_t size);
HZ3_API void *hz3_memalign(size_t alignment, size_t size);
HZ3_API int hz3_posix_memalign(void **out, size_t alignment, size_t size);
HZ3_API void *hz3_valloc(size_t size);  /* page aligned */
HZ3_API void *hz3_pvalloc(size_t size); /* page aligned, size rounded up to whole pages */

/* ---- release: NULL is allowed ---- */
HZ3_API void hz3_free(void *p);
HZ3_API void hz3_cfree(void *p);
HZ3_API void hz3_free_sized(void *p, size_t size);                           /* C23 */
HZ3_API void hz3_free_aligned_sized(void *p, size_t alignment, size_t size); /* C23 */

/* Bytes usable at p, at least what was asked for; the same for the block's whole life; 0 for NULL. */
HZ3_API size_t hz3_malloc_usable_size(const void *p);

/* ---- memory going home ---- */
/* Gives back to the system all memory that holds no live object, except what other threads cache;
 * `pad` is ignored.  Returns 1 if anything was given back, else 0. */
HZ3_API int hz3_malloc_trim(size_t pad);
/* hz3_collect(false): gives up what this thread caches, sends home what waited for other threads since the last pass,
 * and purges what has been idle for the decay time.  hz3_collect(true): the same, now, whatever its age
 * (malloc_trim). */
HZ3_EXTENSION HZ3_API void hz3_collect(bool force);

/* ---- heaps that can be thrown away ----
 * A heap has memory of its own: runs of 64 KiB or more for each size, and large blocks.  hz3_heap_destroy gives back
 * all of it, whatever lives in it, at a cost for each run and large block.  A heap belongs to no thread: any thread may
 * use it, under the heap's lock, so threads that need not share take one each.  A forked child may use its copy.
 *   - The hz3_heap_ functions take blocks of their heap only.  Another heap's, or malloc's, ends the process with
 *         hz3: CALL of a block that is not of this heap: 0xPOINTER
 *     A freed block, one of a destroyed heap, or a destroyed heap, does so as a freed pointer; a block of malloc's in the
 *     place of a heap as "a block that is no heap".
 *   - hz3_free, hz3_realloc, hz3_malloc_usable_size and the standard names take blocks of every heap: they free into it
 *     and resize within it.
 * NULL and ENOMEM on failure, as above; blocks are aligned to 16 bytes.  heap: not NULL, but for hz3_heap_destroy. */
typedef struct hz3_zone hz3_heap_t;
HZ3_API hz3_heap_t *hz3_heap_new(void);          /* or NULL and ENOMEM */
HZ3_API void hz3_heap_destroy(hz3_heap_t *heap); /* no other thread may use it, or its blocks, any more */
HZ3_API void *hz3_heap_malloc(hz3_heap_t *heap, size_t size);
HZ3_API void *hz3_heap_calloc(hz3_heap_t *heap, size_t count, size_t size);            /* zeroed */
HZ3_API void *hz3_heap_aligned_alloc(hz3_heap_t *heap, size_t alignment, size_t size); /* EINVAL: not a power of two */
HZ3_API void *hz3_heap_realloc(hz3_heap_t *heap, void *p, size_t size);                /* as hz3_realloc */
HZ3_API void hz3_heap_free(hz3_heap_t *heap, void *p);                                 /* NULL is allowed */
/* As hz3_malloc_usable_size. */
HZ3_API size_t hz3_heap_malloc_usable_size(hz3_heap_t *heap, const void *p);

/* ---- what it says of itself ---- */
HZ3_API const char *hz3_version(void);       /* "MAJOR.MINOR.PATCH" */
HZ3_API const char *hz3_config_string(void); /* "hz3-config: version=... lane=... HZ3_FLAG=value ..." */
/* Writes statistics as one JSON object into buf (NUL-terminated, cut at size) and returns the length
 * it would have had, like snprintf.  Does not allocate. */
HZ3_API size_t hz3_stats_json(char *buf, size_t size);
HZ3_API void hz3_malloc_stats(void); /* the same figures as text on stderr */
/* Bytes of the objects and blocks that this thread has allocated, and freed, since it started, whoever freed or
 * allocated them; without those of hz3_heap_new's heaps.  They are counted where magazines change: a malloc and a free
 * of one class that cancel out in a magazine, of at most 30 objects, may be missing in both.  The difference is exact,
 * but for what waits on its way to other threads' heaps, less than a magazine for each. */
HZ3_API void hz3_thread_bytes(size_t *allocated, size_t *freed);

/* ---- what may be read and set by name: `hz3 options` lists the names ---- */
/* Every value is a size_t: bytes, ms, a count, or for a switch 0 or 1.  A name is that of an option ("HZ3_DECAY";
 * SIZE_MAX is auto), of a statistic ("allocated", "refills.swap", as in hz3_stats_json), or one more ("thread.freed",
 * "purge").  Writes the value before to old, unless that is NULL; *old_size is the size that old has.  Then sets the
 * value, unless wanted is NULL.  Returns 0, or, with nothing changed:
 *     EINVAL   there is no such name, one of the sizes is not that of a size_t, or the name takes no such value
 *     EPERM    the name cannot be set, or not while the program runs
 * The heap profile starts, goes on at another rate or stops by HZ3_PROFILE.  Allocates nothing. */
HZ3_API int hz3_control(const char *name, void *old, size_t *old_size, const void *wanted, size_t wanted_size);
/* Writes the heap profile into buf as pprof has it (profile.proto, not compressed), to be served at /debug/pprof/heap:
 * what was allocated since it started, and what of that is live.  Returns the length, of which only `size` bytes were
 * written: a profile that is cut is none.  0: there is no profile.  Functions are named where the dynamic symbols do.
 * Waits for a dlopen by another thread: not to be called where such a one may wait for the caller.  Allocates nothing.
 */
HZ3_API size_t hz3_profile_pprof(void *buf, size_t size);

/* ---- as glibc's <malloc.h> has them: whoever calls one of the first two includes that ---- */
#if defined(__clang__) && defined(__cplusplus)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" /* of types that are complete in <malloc.h> only */
#endif
struct mallinfo;
struct mallinfo2;
/* Bytes: arena: mapped, without hblkhd; uordblks and fordblks: of these allocated and free; hblkhd: in large blocks;
 * keepcost: dirty.  Numbers: hblks: large blocks; ordblks: cached objects and free ranges. */
HZ3_API struct mallinfo2 hz3_mallinfo2(void);
HZ3_API struct mallinfo hz3_mallinfo(void); /* the same, cut at INT_MAX */
#if defined(__clang__) && defined(__cplusplus)
#pragma clang diagnostic pop
#endif
HZ3_API int hz3_mallopt(int parameter, int value);      /* accepted and without effect: returns 1 */
HZ3_API int hz3_malloc_info(int options, FILE *stream); /* XML; options must be 0; -1 on failure */

#ifdef __cplusplus
}
#endif
#endif
