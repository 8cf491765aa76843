#define _GNU_SOURCE
#include "os/backtrace.h"

#include "os/os.h"
#include "os/sandbox.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sys/uio.h>
#include <unwind.h>

#define FRAME_MAX HZ3_MIB(1)
enum { MET_MIN = 2 };

static __typeof__(_Unwind_Backtrace) *unwind;
static __typeof__(_Unwind_GetIP) *address_of;
static __typeof__(_Unwind_GetCFA) *top_of;

static _Unwind_Reason_Code do_nothing(struct _Unwind_Context *context, void *unused)
{
    return (void)context, (void)unused, _URC_END_OF_STACK;
}

bool hz3_os_loader_is_busy(void)
{
    static const struct r_debug *loader;
    static bool known;
    if (!known) loader = dlsym(RTLD_DEFAULT, "_r_debug"); /* of glibc */
    known = true;
    return loader && loader->r_state != RT_CONSISTENT;
}

void hz3_os_stack_start(void)
{
    __typeof__(dlopen) *open; /* by its name: the linker warns whoever calls it in a static program */
    *(void **)&open = dlsym(RTLD_DEFAULT, "dlopen");
    void *library = open ? open("libgcc_s.so.1", RTLD_NOW) : NULL; /* which a small container may lack */
    if (!library) return;
    *(void **)&address_of = dlsym(library, "_Unwind_GetIP");
    *(void **)&top_of = dlsym(library, "_Unwind_GetCFA");
    *(void **)&unwind = address_of && top_of ? dlsym(library, "_Unwind_Backtrace") : NULL;
    if (unwind) unwind(do_nothing, NULL); /* what it prepares the first time */
}

struct walk {
    struct hz3_calls *now;
    const struct hz3_calls *before;
    unsigned at;  /* of before: the first that may be next */
    unsigned met; /* how many of before were found again, one after the other */
    bool begun;   /* the frame of hz3_os_stack was passed */
};

/* Whether the rest of `before`, from `at` on, is on the stack as it was.  Places that are further apart than frames, or
 * in another order, may be on several stacks, of which one may be gone. */
static bool has_rest(const struct walk *walk)
{
    const struct hz3_calls *before = walk->before;
    for (unsigned i = walk->at; i < before->depth; i++)
        if ((i > walk->at && before->slots[i] - before->slots[i - 1] > FRAME_MAX) ||
            *(void *const *)before->slots[i] != before->frames[i])
            return false;
    return true;
}

/* A call leaves its return address below the caller's top, unless a register has it. */
static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *to)
{
    struct walk *walk = to;
    struct hz3_calls *now = walk->now;
    const struct hz3_calls *before = walk->before;
    void *address = (void *)address_of(context);
    uintptr_t slot = top_of(context) - sizeof address;
    bool stands = now->depth && slot == now->slots[now->depth - 1] && address == now->frames[now->depth - 1];
    if (!walk->begun) return walk->begun = true, _URC_NO_REASON;
    if (!address || stands || now->depth == HZ3_CALLS_MAX) return _URC_END_OF_STACK;
    now->frames[now->depth] = address;
    now->slots[now->depth++] = slot;
    while (walk->at < before->depth && before->slots[walk->at] < slot) walk->at++;
    bool met = walk->at < before->depth && before->slots[walk->at] == slot && before->frames[walk->at] == address;
    walk->met = met ? walk->met + 1 : 0;
    if (walk->met < MET_MIN || !has_rest(walk)) return _URC_NO_REASON;
    for (unsigned i = walk->at + 1; i < before->depth && now->depth < HZ3_CALLS_MAX; i++) {
        now->frames[now->depth] = before->frames[i];
        now->slots[now->depth++] = before->slots[i];
    }
    return _URC_END_OF_STACK;
}

/* A register that is no frame pointer may hold anything, so the kernel reads for us: it refuses what is not mapped. */
static bool read_frame(uintptr_t at, uintptr_t frame[2])
{
    struct iovec to = {frame, 2 * sizeof *frame}, from = {(void *)at, 2 * sizeof *frame};
    return at % sizeof(void *) == 0 &&
           process_vm_readv(hz3_os.pid, &to, 1, &from, 1, 0) == (ssize_t)(2 * sizeof *frame);
}

/* Inline, so that the frame is that of the function below, and the first return address is in its caller. */
HZ3_INLINE unsigned follow_frame_pointers(void **frames, unsigned max)
{
    unsigned n = 0;
    uintptr_t at = (uintptr_t)__builtin_frame_address(0), frame[2];
    while (n < max && read_frame(at, frame) && frame[1]) {
        frames[n++] = (void *)frame[1];
        if (frame[0] <= at) break;
        at = frame[0];
    }
    return n;
}

HZ3_NOINLINE void hz3_os_stack(struct hz3_calls *now, const struct hz3_calls *before)
{
    static const struct hz3_calls none;
    int saved = errno;
    now->depth = 0;
    if (unwind)
        unwind(step, &(struct walk){now, before ? before : &none, 0, 0, false});
    else if (!hz3_sandboxed())
        now->depth = follow_frame_pointers(now->frames, HZ3_CALLS_MAX);
    errno = saved;
}
