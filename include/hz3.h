/* hz3: a malloc for programs whose threads free each other's memory.
 *
 * A program that is preloaded or linked with the library gets the standard names from hz3.  Each of them also has an
 * hz3_ name, declared here.  For all functions of this header:
 *   - Sizes and alignments are in bytes.  Every block is aligned to at least 16 bytes.
 *   - Any thread may call them at any time: before constructors, in TLS destructors and in atexit handlers.  They are
 *     not async-signal-safe, as malloc(3) is not: do not call them in a signal handler.
 *   - A successful call leaves errno alone.  The functions that free leave it alone always.
 *   - A misused pointer ends the process: one line on stderr, then SIGABRT.
 *         hz3: MISUSE: 0xPOINTER (cached by thread TID, called from MODULE+0xOFFSET)
 *     MISUSE is "double free", "interior pointer freed", "foreign pointer freed" (no allocator gave it out) or
 *     "free of a pointer that was never allocated"; from realloc and malloc_usable_size it is "CALL of a freed
 *     pointer", "... an interior pointer", "... a foreign pointer" or "... a pointer that was never allocated".
 *     The thread is named if its cache holds the object, the caller if /proc can be read.
 *     The call itself ends the process.  Exception: builds with HZ3_FREE_CHECK=0 find a double or interior free of
 *     an object of up to 64 KiB when it returns to its run, or never. */
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

/* The version of this release, or of the last one before this source.  The build and the wheel read it here. */
#define HZ3_VERSION_MAJOR 0
#define HZ3_VERSION_MINOR 2
#define HZ3_VERSION_PATCH 0

/* ---- allocation ----
 * Each returns NULL and sets errno to ENOMEM if there is no memory, or if the size (or the product) exceeds
 * PTRDIFF_MAX.  Memory is not initialised, except by calloc.  Size 0 returns a unique pointer. */
HZ3_API void *hz3_malloc(size_t size);
HZ3_API void *hz3_calloc(size_t count, size_t size); /* zeroed */
/* Resizes the block, in place or by moving it; new bytes are not initialised.  p NULL: hz3_malloc(size).  size 0 with a
 * block: frees it and returns NULL, as glibc does.  On failure p stays allocated. */
HZ3_API void *hz3_realloc(void *p, size_t size);
HZ3_API void *hz3_reallocarray(void *p, size_t count, size_t size);

/* The alignment is a power of two; the size need not be a multiple of it.  Other alignments: memalign rounds up to a
 * power of two, and above PTRDIFF_MAX + 1 sets EINVAL; aligned_alloc does what the C library's does (glibc up to 2.37:
 * rounds up; else NULL and EINVAL). */
HZ3_API void *hz3_aligned_alloc(size_t alignment, size_t size);
HZ3_API void *hz3_memalign(size_t alignment, size_t size);
/* Stores the block in *out and returns 0.  Returns EINVAL if the alignment is no power of two or no multiple of
 * sizeof(void *), or ENOMEM (which errno is set to as well); *out is unchanged then. */
HZ3_API int hz3_posix_memalign(void **out, size_t alignment, size_t size);
HZ3_API void *hz3_valloc(size_t size);  /* aligned to a page */
HZ3_API void *hz3_pvalloc(size_t size); /* aligned to a page, size rounded up to whole pages */

/* ---- release: NULL is allowed, and does nothing ---- */
HZ3_API void hz3_free(void *p);
HZ3_API void hz3_cfree(void *p); /* hz3_free */
/* C23.  Lane secure ends the process if the size or the alignment is not that of the block; other lanes ignore both. */
HZ3_API void hz3_free_sized(void *p, size_t size);
HZ3_API void hz3_free_aligned_sized(void *p, size_t alignment, size_t size);

/* Returns how many bytes at p the program may use: at least the size it asked for, and constant until the block is
 * resized.  0 for NULL. */
HZ3_API size_t hz3_malloc_usable_size(const void *p);

/* ---- giving memory back to the system ---- */
/* Purges all memory that holds no live object, whatever its age, except what other threads cache.  `pad` is ignored.
 * Returns 1 if anything went back, else 0. */
HZ3_API int hz3_malloc_trim(size_t pad);
/* hz3_collect(true) is hz3_malloc_trim.  hz3_collect(false) empties this thread's cache and makes one reclaim pass: it
 * retires what the shared caches did not need since the last pass, and purges what has been free for the decay time. */
HZ3_EXTENSION HZ3_API void hz3_collect(bool force);

/* ---- heaps that are destroyed as a whole ----
 * A heap allocates from memory of its own: runs of 64 KiB or more for each size class, and large blocks.
 * hz3_heap_destroy frees all of it, live blocks included; the time depends on the number of runs and large blocks, not
 * of objects (lane secure clears those, too).  A heap belongs to no thread.  Any thread may use it; each call takes the
 * heap's lock.  A forked child may use its copy.
 *   - The hz3_heap_ functions take blocks of their own heap.  Another heap's block, or malloc's, ends the process with
 *         hz3: CALL of a block that is not of this heap: 0xPOINTER
 *     A freed block, a block of a destroyed heap, and a destroyed heap end it as a freed pointer; a block of malloc
 *     that is passed as a heap ends it with "a block that is no heap".
 *   - hz3_free, hz3_realloc, hz3_malloc_usable_size and their standard names take blocks of every heap.  They free into
 *     that heap and resize within it.
 * Failure is as for hz3_malloc; blocks are aligned to 16 bytes.  `heap` must not be NULL, except in
 * hz3_heap_destroy(NULL), which does nothing. */
typedef struct hz3_zone hz3_heap_t;
HZ3_API hz3_heap_t *hz3_heap_new(void);          /* NULL and ENOMEM: there is no memory */
HZ3_API void hz3_heap_destroy(hz3_heap_t *heap); /* no thread may use it or its blocks after that */
HZ3_API void *hz3_heap_malloc(hz3_heap_t *heap, size_t size);
HZ3_API void *hz3_heap_calloc(hz3_heap_t *heap, size_t count, size_t size);            /* zeroed */
HZ3_API void *hz3_heap_aligned_alloc(hz3_heap_t *heap, size_t alignment, size_t size); /* EINVAL: no power of two */
HZ3_API void *hz3_heap_realloc(hz3_heap_t *heap, void *p, size_t size);                /* as hz3_realloc */
HZ3_API void hz3_heap_free(hz3_heap_t *heap, void *p);                                 /* NULL is allowed */
HZ3_API size_t hz3_heap_malloc_usable_size(hz3_heap_t *heap, const void *p);           /* as hz3_malloc_usable_size */

/* ---- version and statistics ---- */
HZ3_API const char *hz3_version(void);       /* "MAJOR.MINOR.PATCH" */
HZ3_API const char *hz3_config_string(void); /* "hz3-config: version=... lane=... HZ3_FLAG=value ..." */
/* Writes the statistics into buf as one JSON object, cut off at `size` bytes, of which the last is NUL.  Returns the
 * length of the whole object, as snprintf does.  Does not allocate. */
HZ3_API size_t hz3_stats_json(char *buf, size_t size);
HZ3_API void hz3_malloc_stats(void); /* prints the statistics as text to stderr */
/* Stores how many bytes this thread has allocated and freed since it started, whichever thread freed or allocated the
 * same blocks.  Blocks of hz3_heap_new's heaps, and those that HZ3_GUARD guards, are not counted.  Neither sum has a
 * malloc and a free of one size class that cancelled out within a magazine (30 objects at most).  The difference is
 * exact, except for objects on their way to other threads' heaps: less than a magazine for each of these heaps; and, in
 * lane secure, for those in the thread's quarantine: 64 at most.  It is below 0 where the thread freed more of others'
 * memory: compare it as a ptrdiff_t.  Neither pointer may be NULL. */
HZ3_API void hz3_thread_bytes(size_t *allocated, size_t *freed);

/* ---- reading and setting values by name: `hz3 options` lists the names ---- */
/* A name is an option ("HZ3_DECAY"), a statistic as hz3_stats_json has it ("allocated", "refills.swap"), or one of a
 * few more ("thread.freed", "purge").  Every value is a size_t: bytes, ms, a count, or 0 or 1 for a switch; for an
 * option SIZE_MAX is auto.  An option that takes words or a file has no value here.  Stores the current value in *old,
 * unless old is NULL; *old_size is sizeof(size_t).  Then sets the value to *wanted, unless wanted is NULL.  Setting
 * HZ3_PROFILE starts the heap profile, changes its rate or stops it (0); the first start loads libgcc's unwinder, if it
 * can.  Does not allocate otherwise.  Returns 0, or an error, and nothing is changed:
 *     EINVAL   no such name, or one without a value; a size that is not sizeof(size_t); a value that it does not take
 *     EPERM    the name cannot be set, or not while the program runs */
HZ3_API int hz3_control(const char *name, void *old, size_t *old_size, const void *wanted, size_t wanted_size);
/* Writes the heap profile into buf as an uncompressed profile.proto, which pprof reads at /debug/pprof/heap: bytes and
 * objects allocated since the profile started, and those live now.  Returns its length, or 0 if there is no profile. At
 * most `size` bytes are written: if the length is larger, what was written is not a valid profile.  Functions have
 * names where the dynamic symbol tables have them.  Waits for a dlopen by another thread, so do not call it while such
 * a thread may wait for the caller.  Does not allocate. */
HZ3_API size_t hz3_profile_pprof(void *buf, size_t size);

/* ---- glibc's functions of <malloc.h>: include it if you call hz3_mallinfo or hz3_mallinfo2 ---- */
#if defined(__clang__) && defined(__cplusplus)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wreturn-type-c-linkage" /* of types that are complete in <malloc.h> only */
#endif
struct mallinfo;
struct mallinfo2;
/* Fields in bytes: hblkhd: large blocks; arena: all else that is mapped; uordblks, fordblks: the allocated and the free
 * part of arena; keepcost: what a purge would give back.  Counts: hblks: large blocks; ordblks: cached objects and free
 * ranges.  The other fields are 0. */
HZ3_API struct mallinfo2 hz3_mallinfo2(void);
HZ3_API struct mallinfo hz3_mallinfo(void); /* the same; a value above INT_MAX is INT_MAX */
#if defined(__clang__) && defined(__cplusplus)
#pragma clang diagnostic pop
#endif
HZ3_API int hz3_mallopt(int parameter, int value);      /* does nothing, returns 1 */
HZ3_API int hz3_malloc_info(int options, FILE *stream); /* writes XML; returns 0, or -1 and sets errno */

#ifdef __cplusplus
}
#endif
#endif
