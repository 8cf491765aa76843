/* C++ operator new and delete, in C: their mangled names (Itanium ABI, size_t is `m`), and the two functions of the
 * C++ library they need, weak: a program without it never gets here out of memory. */
#define _GNU_SOURCE
#include "api/entry.h"
#include "api/override.h"

#include <dlfcn.h>
#include <stdlib.h>

const char hz3_operators;

typedef void (*new_handler)(void);
extern new_handler get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak, noreturn));

/* As the standard says: the handler is called until there is memory or it gives up by throwing. */
static HZ3_COLD void *retry(size_t size, size_t alignment)
{
    new_handler handler;
    while (get_new_handler && (handler = get_new_handler())) {
        handler();
        void *p = hz3_memalign(alignment, size);
        if (p) return p;
    }
    if (throw_bad_alloc) throw_bad_alloc();
    abort();
}

static void *new_throwing(size_t size)
{
    void *p = hz3_malloc(size);
    return likely(p) ? p : retry(size, HZ3_UNIT);
}

static void *new_aligned(size_t size, size_t alignment)
{
    void *p = hz3_memalign(alignment, size);
    return likely(p) ? p : retry(size, alignment);
}

/* Out of memory, the nothrow forms are left to the C++ library, whose own call the throwing ones above and catch: what
 * a handler throws cannot be caught in C. */
static void *new_nothrow(size_t size, const void *nothrow)
{
    void *p = hz3_malloc(size);
    if (likely(p)) return p;
    void *(*next)(size_t, const void *) = (void *(*)(size_t, const void *))dlsym(RTLD_NEXT, "_ZnwmRKSt9nothrow_t");
    return next ? next(size, nothrow) : NULL;
}

static void *new_aligned_nothrow(size_t size, size_t alignment, const void *nothrow)
{
    void *p = hz3_memalign(alignment, size);
    if (likely(p)) return p;
    void *(*next)(size_t, size_t, const void *) =
        (void *(*)(size_t, size_t, const void *))dlsym(RTLD_NEXT, "_ZnwmSt11align_val_tRKSt9nothrow_t");
    return next ? next(size, alignment, nothrow) : NULL;
}

static void delete_any(void *p)
{
    hz3_free(p);
}

HZ3_STANDARD_NAME(_Znwm, void *, (size_t), new_throwing)
HZ3_STANDARD_NAME(_Znam, void *, (size_t), new_throwing)
HZ3_STANDARD_NAME(_ZnwmRKSt9nothrow_t, void *, (size_t, const void *), new_nothrow)
HZ3_STANDARD_NAME(_ZnamRKSt9nothrow_t, void *, (size_t, const void *), new_nothrow)
HZ3_STANDARD_NAME(_ZnwmSt11align_val_t, void *, (size_t, size_t), new_aligned)
HZ3_STANDARD_NAME(_ZnamSt11align_val_t, void *, (size_t, size_t), new_aligned)
HZ3_STANDARD_NAME(_ZnwmSt11align_val_tRKSt9nothrow_t, void *, (size_t, size_t, const void *), new_aligned_nothrow)
HZ3_STANDARD_NAME(_ZnamSt11align_val_tRKSt9nothrow_t, void *, (size_t, size_t, const void *), new_aligned_nothrow)
/* Size and alignment, where a form has them, are in registers delete_any does not read. */
HZ3_STANDARD_NAME(_ZdlPv, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdaPv, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdlPvm, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdaPvm, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdlPvRKSt9nothrow_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdaPvRKSt9nothrow_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdlPvSt11align_val_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdaPvSt11align_val_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdlPvmSt11align_val_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdaPvmSt11align_val_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdlPvSt11align_val_tRKSt9nothrow_t, void, (void *), delete_any)
HZ3_STANDARD_NAME(_ZdaPvSt11align_val_tRKSt9nothrow_t, void, (void *), delete_any)
