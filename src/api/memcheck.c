/* Tells valgrind's memcheck which blocks are live, and their sizes.
 *
 * The program never calls these functions.  Their names make valgrind call each in place of the function that it is
 * named after, with --soname-synonyms=somalloc=nouserintercepts,hz3=* (docs/use/misuse.md).  Each calls that function
 * for a larger object, and lays the block out in it:
 *
 *     room to align | header | GUARD bytes, not accessible | the block | GUARD bytes, not accessible
 *
 * So the program's pointer differs from the allocator's.  Pointers in the allocator's tables then do not make memcheck
 * take a leaked block for a reachable one.  Uses only the allocator's public functions. */
#include "api/override.h"
#include "hz3.h"
#include "os/libc.h"
#include "os/os.h"

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#endif

const char hz3_memcheck;

#ifdef CALL_FN_W_W /* else valgrind is not installed, or does not know this machine */
#include <errno.h>
#include <string.h>

struct header {
    size_t size;
    uint32_t mark, before_log2; /* from the object's start to the block */
};

enum { GUARD = 16, BEFORE_LOG2 = 5, BEFORE = 1 << BEFORE_LOG2 };
/* Marks: a block of the program, and one that libc allocates for hz3 (for the background thread). */
enum { TOLD = 0x687a3363, OURS };
_Static_assert(sizeof(struct header) + GUARD == BEFORE, "nothing between");

static _Thread_local unsigned inside; /* functions of the allocator */

static struct header *header_of(const void *p)
{
    return (struct header *)((uintptr_t)p - BEFORE);
}

static bool is_block(const void *p)
{
    struct header bits;
    bool readable = VALGRIND_GET_VBITS(header_of(p), &bits, sizeof bits) == 1;
    return readable && (header_of(p)->mark == TOLD || header_of(p)->mark == OURS);
}

static uint32_t before_log2(size_t alignment)
{
    uint32_t log2 = BEFORE_LOG2;
    while ((size_t)1 << log2 < alignment) log2++;
    return log2;
}

/* The size of the object that contains a block. */
static size_t object_bytes(uint32_t log2, size_t size)
{
    return ((size_t)1 << log2) + size + GUARD;
}

/* The block in an object, which may be NULL. */
HZ3_INLINE void *block_in(char *object, uint32_t log2, size_t size)
{
    if (!object) return NULL;
    char *p = object + ((size_t)1 << log2);
    (void)VALGRIND_MAKE_MEM_UNDEFINED(object, object_bytes(log2, size));
    *header_of(p) = (struct header){size, inside ? OURS : TOLD, log2};
    if (inside) return p;
    (void)VALGRIND_MAKE_MEM_NOACCESS(p - GUARD, GUARD);
    (void)VALGRIND_MAKE_MEM_NOACCESS(p + size, GUARD);
    VALGRIND_MALLOCLIKE_BLOCK(p, size, 0, 0);
    return p;
}

#define INSTEAD_OF(function) I_WRAP_SONAME_FNNAME_ZU(VgSoSynhz3, function)

static void enter(void)
{
    inside++;
    VALGRIND_DISABLE_ERROR_REPORTING; /* some lanes write into free objects */
}

static void leave(void)
{
    VALGRIND_ENABLE_ERROR_REPORTING;
    inside--;
}

/* Calls the replaced function and returns its result.  call: one of CALL_FN_*.  Valgrind
 * knows that function only until the next call. */
#define ITSELF(call, ...) \
    ({ \
        OrigFn itself; \
        size_t result; \
        VALGRIND_GET_ORIG_FN(itself); \
        enter(); \
        call(result, itself, __VA_ARGS__); \
        leave(); \
        result; \
    })

HZ3_API void *INSTEAD_OF(hz3_malloc)(size_t size)
{
    if (size > PTRDIFF_MAX) return (void *)ITSELF(CALL_FN_W_W, size);
    return block_in((char *)ITSELF(CALL_FN_W_W, object_bytes(BEFORE_LOG2, size)), BEFORE_LOG2, size);
}

HZ3_API void *INSTEAD_OF(hz3_memalign)(size_t alignment, size_t size)
{
    if (alignment > PTRDIFF_MAX || size > PTRDIFF_MAX) return (void *)ITSELF(CALL_FN_W_WW, alignment, size);
    if (alignment <= HZ3_UNIT) return hz3_malloc(size);
    uint32_t log2 = before_log2(alignment);
    return block_in((char *)ITSELF(CALL_FN_W_WW, alignment, object_bytes(log2, size)), log2, size);
}

static bool is_power_of_2(size_t n)
{
    return n && !(n & (n - 1));
}

HZ3_API void *INSTEAD_OF(hz3_aligned_alloc)(size_t alignment, size_t size)
{
    if (is_power_of_2(alignment) || !hz3_libc_refuses_alignment(alignment)) return hz3_memalign(alignment, size);
    return (void *)ITSELF(CALL_FN_W_WW, alignment, size);
}

HZ3_API int INSTEAD_OF(hz3_posix_memalign)(void **out, size_t alignment, size_t size)
{
    if (!is_power_of_2(alignment) || alignment < sizeof *out) return EINVAL;
    void *p = hz3_memalign(alignment, size);
    if (p) *out = p;
    return p ? 0 : ENOMEM;
}

HZ3_API void *INSTEAD_OF(hz3_calloc)(size_t count, size_t size)
{
    size_t bytes;
    void *p = hz3_malloc(__builtin_mul_overflow(count, size, &bytes) ? SIZE_MAX : bytes);
    return p ? memset(p, 0, bytes) : NULL;
}

HZ3_API void *INSTEAD_OF(hz3_valloc)(size_t size)
{
    return hz3_memalign(hz3_os.page, size);
}

HZ3_API void *INSTEAD_OF(hz3_pvalloc)(size_t size)
{
    return hz3_memalign(hz3_os.page, hz3_round_up(hz3_max(hz3_min(size, SIZE_MAX / 2 + 1), 1), hz3_os.page));
}

HZ3_API size_t INSTEAD_OF(hz3_malloc_usable_size)(const void *p)
{
    return p && is_block(p) ? header_of(p)->size : ITSELF(CALL_FN_W_W, p);
}

/* Memcheck reports a pointer that is not to a block. */
HZ3_API void INSTEAD_OF(hz3_free)(void *p)
{
    size_t before = 0;
    if (!p) return;
    bool block = is_block(p);
    if (!block || header_of(p)->mark == TOLD) VALGRIND_FREELIKE_BLOCK(p, 0);
    if (block) {
        before = (size_t)1 << header_of(p)->before_log2;
        header_of(p)->mark = 0;
    }
    (void)ITSELF(CALL_FN_W_W, (char *)p - before);
}

/* Always moves, as memcheck's own does, so that a use of the old pointer is found. */
HZ3_API void *INSTEAD_OF(hz3_realloc)(void *p, size_t size)
{
    if (!p) return hz3_malloc(size);
    if (!is_block(p)) return (void *)ITSELF(CALL_FN_W_WW, p, size);
    void *to = size ? hz3_malloc(size) : NULL;
    if (to) memcpy(to, p, hz3_min(size, header_of(p)->size));
    if (to || !size) hz3_free(p);
    return to;
}
#endif
