/* C++ operator new and delete, in C, by their mangled names (Itanium ABI, size_t is `m`).  The two functions of the C++
 * library that they need are weak, since a program may come without the library.
 *
 * A program may replace some operators.  The standard says, and the C++ library does it so, that the others then call
 * the program's.  Hence they call each other by the standard names, and these are weak. */
#define _GNU_SOURCE
#include "api/entry.h"
#include "api/override.h"

#include <dlfcn.h>
#include <stdlib.h>

const char hz3_operators;

typedef void (*new_handler)(void);
extern new_handler get_new_handler(void) __asm__("_ZSt15get_new_handlerv") __attribute__((weak));
extern void throw_bad_alloc(void) __asm__("_ZSt17__throw_bad_allocv") __attribute__((weak, noreturn));

/* The C++ library's function of that name.  If a plugin brought the library it is only in the plugin's scope. */
static void *find(const char *name, const void *caller)
{
    /* Linkers warn of dlopen in a static program, which has no plugins. */
    void *(*open)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    Dl_info info;
    void *plugin = open && dladdr(caller, &info) ? open(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    void *found = plugin ? dlsym(plugin, name) : NULL;
    if (plugin) dlclose(plugin);
    return found;
}

/* As the standard says: calls the handler until there is memory, or until the handler throws. */
static HZ3_COLD void *retry(size_t size, size_t alignment, const void *caller)
{
    new_handler (*current)(void) = get_new_handler, handler;
    void (*throw)(void) = throw_bad_alloc;
    if (!current) current = (new_handler(*)(void))find("_ZSt15get_new_handlerv", caller);
    if (!throw) throw = (void (*)(void))find("_ZSt17__throw_bad_allocv", caller);
    while (current && (handler = current())) {
        handler();
        void *p = hz3_memalign(alignment, size);
        if (p) return p;
    }
    if (throw) throw();
    abort();
}

HZ3_INLINE void *new_for(const void *caller, size_t size)
{
    void *p = hz3_malloc(size);
    return likely(p) ? p : retry(size, HZ3_UNIT, caller);
}

HZ3_INLINE void *new_aligned_for(const void *caller, size_t size, size_t alignment)
{
    void *p = hz3_memalign(alignment, size);
    return likely(p) ? p : retry(size, alignment, caller);
}

static void *new_throwing(size_t size)
{
    return new_for(__builtin_return_address(0), size);
}

static void *new_aligned(size_t size, size_t alignment)
{
    return new_aligned_for(__builtin_return_address(0), size, alignment);
}

HZ3_OPERATOR(_Znwm, void *, (size_t), new_throwing)
HZ3_OPERATOR(_ZnwmSt11align_val_t, void *, (size_t, size_t), new_aligned)

static void *new_array(size_t size)
{
    return likely(_Znwm == new_throwing) ? new_for(__builtin_return_address(0), size) : _Znwm(size);
}

static void *new_array_aligned(size_t size, size_t alignment)
{
    bool ours = _ZnwmSt11align_val_t == new_aligned;
    return likely(ours) ? new_aligned_for(__builtin_return_address(0), size, alignment)
                        : _ZnwmSt11align_val_t(size, alignment);
}

HZ3_OPERATOR(_Znam, void *, (size_t), new_array)
HZ3_OPERATOR(_ZnamSt11align_val_t, void *, (size_t, size_t), new_array_aligned)

/* Out of memory, or where the throwing forms were replaced, the C++ library's nothrow forms do the work: they call the
 * throwing forms and catch what these throw, which C cannot do.  Where there is no such library (in a static program,
 * or one whose plugin has it) a replaced form is called directly, and no handler is. */
#define NEW_NOTHROW(name, own, is_ours, replaced, allocate, parameters, arguments) \
    static void *own parameters \
    { \
        bool ours = is_ours; \
        void *p = likely(ours) ? allocate : NULL; \
        if (likely(p)) return p; \
        void *(*next)parameters = (void *(*)parameters)dlsym(RTLD_NEXT, #name); \
        if (next) return next arguments; \
        return ours ? NULL : replaced; \
    } \
    HZ3_OPERATOR(name, void *, parameters, own)

NEW_NOTHROW(_ZnwmRKSt9nothrow_t, new_nothrow, _Znwm == new_throwing, _Znwm(size), hz3_malloc(size),
            (size_t size, const void *nothrow), (size, nothrow))
NEW_NOTHROW(_ZnamRKSt9nothrow_t, new_array_nothrow, _Znam == new_array && _Znwm == new_throwing, _Znam(size),
            hz3_malloc(size), (size_t size, const void *nothrow), (size, nothrow))
NEW_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow, _ZnwmSt11align_val_t == new_aligned,
            _ZnwmSt11align_val_t(size, alignment), hz3_memalign(alignment, size),
            (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))
NEW_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow,
            _ZnamSt11align_val_t == new_array_aligned && _ZnwmSt11align_val_t == new_aligned,
            _ZnamSt11align_val_t(size, alignment), hz3_memalign(alignment, size),
            (size_t size, size_t alignment, const void *nothrow), (size, alignment, nothrow))

/* An operator whose body is one call. */
#define OPERATOR_CALLS(name, own, arguments, call) \
    static void own arguments \
    { \
        call; \
    } \
    HZ3_OPERATOR(name, void, arguments, own)

OPERATOR_CALLS(_ZdlPv, delete_any, (void *p), hz3_free(p))
OPERATOR_CALLS(_ZdlPvSt11align_val_t, delete_any_aligned, (void *p, size_t alignment), ((void)alignment, hz3_free(p)))

/* Forms that were not replaced call those that may be.  Where a form has nothrow as its last argument, that is in a
 * register that these do not read. */
OPERATOR_CALLS(_ZdaPv, call_delete, (void *p), _ZdlPv(p))
HZ3_OPERATOR(_ZdlPvRKSt9nothrow_t, void, (void *), call_delete)
OPERATOR_CALLS(_ZdaPvRKSt9nothrow_t, call_delete_array, (void *p), _ZdaPv(p))
OPERATOR_CALLS(_ZdaPvSt11align_val_t, call_delete_aligned, (void *p, size_t alignment),
               _ZdlPvSt11align_val_t(p, alignment))
HZ3_OPERATOR(_ZdlPvSt11align_val_tRKSt9nothrow_t, void, (void *, size_t), call_delete_aligned)
OPERATOR_CALLS(_ZdaPvSt11align_val_tRKSt9nothrow_t, call_delete_array_aligned, (void *p, size_t alignment),
               _ZdaPvSt11align_val_t(p, alignment))

/* Lane secure looks at the size, unless the program has an operator of its own, which may ask for more than it is asked
 * for. */
#define DELETE_SIZED(name, own, is_ours, parameters, alignment, call) \
    static void own parameters \
    { \
        if (is_ours) hz3_block_check_size(p, size, alignment, __builtin_return_address(0)); \
        call; \
    } \
    HZ3_OPERATOR(name, void, parameters, own)

DELETE_SIZED(_ZdlPvm, call_delete_sized, _Znwm == new_throwing && _ZdlPv == delete_any, (void *p, size_t size), 1,
             _ZdlPv(p))
DELETE_SIZED(_ZdaPvm, call_delete_array_sized,
             _Znam == new_array && _Znwm == new_throwing && _ZdaPv == call_delete && _ZdlPv == delete_any,
             (void *p, size_t size), 1, _ZdaPv(p))
DELETE_SIZED(_ZdlPvmSt11align_val_t, call_delete_sized_aligned,
             _ZnwmSt11align_val_t == new_aligned && _ZdlPvSt11align_val_t == delete_any_aligned,
             (void *p, size_t size, size_t alignment), alignment, _ZdlPvSt11align_val_t(p, alignment))
DELETE_SIZED(_ZdaPvmSt11align_val_t, call_delete_array_sized_aligned,
             _ZnamSt11align_val_t == new_array_aligned && _ZnwmSt11align_val_t == new_aligned &&
                 _ZdaPvSt11align_val_t == call_delete_aligned && _ZdlPvSt11align_val_t == delete_any_aligned,
             (void *p, size_t size, size_t alignment), alignment, _ZdaPvSt11align_val_t(p, alignment))
