#include "secure/sweep.h"

#include "back/free_spans.h"
#include "back/run.h"
#include "base/check.h"
#include "middle/central.h"
#include "os/gate.h"
#include "os/thread_random.h"
#include "secure/seal.h"

enum {
    MOST = 16 << 20, /* bytes of runs that are looked at in the end */
    LOOKS = 10,      /* at what seems broken then, */
    LOOK_MS = 5,     /* so far apart */
    STEPS = 16,      /* spans that are passed to find a run */
    ROW = 4,         /* objects that are looked at by the way, beside each other: the first costs most */
};

struct finding {
    const char *misuse; /* NULL: nothing was found */
    const void *p;
};

/* The span that starts at the granule, or NULL.  The page pool's lock is held here and where runs are looked for, so
 * that none ends. */
static struct hz3_span *span_at(struct hz3_window *window, size_t granule)
{
    struct hz3_span *span = &window->spans[granule];
    return span->kind != HZ3_SPAN_NONE && hz3_first_granule(window, span) == granule ? span : NULL;
}

static size_t end_of(const struct hz3_window *window)
{
    return hz3_min(window->frontier, window->spans_mapped);
}

/* Whether the span is a run of which all is made: the tag comes last, and goes under the lock. */
static bool is_run(const struct hz3_window *window, const struct hz3_span *span)
{
    unsigned tag = span->kind == HZ3_SPAN_RUN ? window->tags[hz3_first_granule(window, span)].cls : HZ3_CLASS_NONE;
    return tag != HZ3_CLASS_NONE && tag == span->cls;
}

/* ---- a few objects ---- */

static struct hz3_span *next_run(struct hz3_window *window)
{
    static size_t at; /* the granule where the next look begins */
    for (int i = 0; i < STEPS; i++) {
        struct hz3_span *span = at < end_of(window) ? span_at(window, at) : NULL;
        at = at < end_of(window) ? at + (span ? span->granules : 1) : 0;
        if (span && is_run(window, span)) return span;
    }
    return NULL;
}

static const void *find_broken(const struct hz3_span *run)
{
    unsigned bump = hz3_min(hz3_get(run->bump), hz3_class_info[run->cls].objects); /* it may be older */
    if (!bump) return NULL;
    unsigned cls = run->cls, from = hz3_random_below(bump), to = hz3_min(from + ROW, bump);
    for (unsigned i = from; i < to; i++) {
        const void *p = (void *)(run->start + i * hz3_class_size(cls));
        if (hz3_is_live(p, cls) && !hz3_seal_holds_small(p, cls) && !hz3_seal_holds_if_live(p, cls)) return p;
    }
    return NULL;
}

void hz3_sweep_some(void)
{
    if (!hz3_trylock(&hz3_pages_lock)) return;
    const struct hz3_span *run = next_run(&hz3_windows[0]);
    const void *p = run ? find_broken(run) : NULL;
    hz3_unlock(&hz3_pages_lock);
    if (unlikely(p != NULL)) hz3_misuse(HZ3_SEAL_OVERRUN_LATE, p);
}

void hz3_sweep_beside(const void *freed)
{
    const void *p = find_broken(hz3_run_of(freed));
    if (unlikely(p != NULL)) hz3_misuse(HZ3_SEAL_OVERRUN_LATE, p);
}

/* ---- all objects ---- */

/* A forked child may have lost a thread that was sealing a large block, or wiping a free object. */
static struct finding look_at_object(const struct hz3_span *run, const void *p)
{
    bool live = hz3_is_live(p, run->cls);
    bool sound =
        live ? hz3_seal_holds_small(p, run->cls) : hz3_os.parent || hz3_seal_is_wiped(p, hz3_class_size(run->cls));
    return (struct finding){sound ? NULL : live ? HZ3_SEAL_OVERRUN_LATE : HZ3_SEAL_OVERWRITTEN_LATE, p};
}

static struct finding look_at_run(const struct hz3_span *run)
{
    struct finding found = {NULL, NULL};
    unsigned bump = hz3_get(run->bump);
    for (unsigned i = 0; i < bump && !found.misuse; i++)
        found = look_at_object(run, (void *)(run->start + i * hz3_class_size(run->cls)));
    return found;
}

/* A block without room for its canary is one that another thread is about to seal, and behind it may be no memory. */
static struct finding look_at_large(const void *p)
{
    bool live = !hz3_os.parent && hz3_class_at(p) == HZ3_CLASS_LARGE && hz3_large_is_live(p);
    size_t usable = live ? hz3_large_usable(p) : 0; /* once: another thread may be about to make it larger */
    bool sealed = live && hz3_sealed(usable) <= hz3_span_bytes(hz3_span_at(p));
    bool sound = !sealed || hz3_seal_load(p, usable) == hz3_seal_canary(p);
    return (struct finding){sound ? NULL : HZ3_SEAL_OVERRUN_LATE, p};
}

static struct finding look_at_window(struct hz3_window *window, size_t *left)
{
    struct finding found = {NULL, NULL};
    for (size_t g = 0; g < end_of(window) && *left && !found.misuse;) {
        const struct hz3_span *span = span_at(window, g);
        g += span ? span->granules : 1;
        bool run = span && is_run(window, span);
        if (!run && !(span && span->kind == HZ3_SPAN_LARGE)) continue;
        found = run ? look_at_run(span) : look_at_large((void *)span->start);
        if (run) *left -= hz3_min(*left, hz3_span_bytes(span));
    }
    return found;
}

static struct finding look_at_all(void)
{
    struct finding found = {NULL, NULL};
    size_t left = MOST;
    hz3_lock(&hz3_pages_lock);
    for (uint32_t i = 0; i < hz3_get(hz3_window_count) && !found.misuse; i++)
        found = look_at_window(&hz3_windows[i], &left);
    hz3_unlock(&hz3_pages_lock);
    return found;
}

static struct finding look_again(const void *p)
{
    struct finding found = {NULL, NULL};
    hz3_lock(&hz3_pages_lock);
    unsigned cls = hz3_class_at(p);
    if (cls == HZ3_CLASS_LARGE)
        found = look_at_large(p);
    else if (cls != HZ3_CLASS_NONE && is_run(hz3_window_of(p), hz3_run_of(p)))
        found = look_at_object(hz3_run_of(p), p);
    hz3_unlock(&hz3_pages_lock);
    return found;
}

/* A thread that only has large blocks is not counted.  What it seals at this moment is sound a little later. */
static bool passes(struct finding found)
{
    for (int i = 0; i < LOOKS; i++) {
        hz3_os_sleep(LOOK_MS);
        if (!look_again(found.p).misuse) return true;
    }
    return false;
}

/* Further threads might be sealing or wiping an object at this moment, as might those that were killed, or this one, if
 * exit is called in a signal handler: then nothing is looked at. */
__attribute__((destructor)) static void sweep(void)
{
    unsigned threads = 0;
    for (unsigned i = 0; i < hz3_heap_count; i++) threads += hz3_get(hz3_heaps[i].threads);
    if (threads > 1 || hz3_get(hz3_heap_lost_thread) || hz3_gate_is_inside()) return;
    if (!hz3_gate_enter()) return;
    struct finding found = look_at_all();
    for (int i = 0; found.misuse && passes(found); i++)
        found = i < LOOKS ? look_at_all() : (struct finding){NULL, NULL};
    hz3_gate_leave();
    if (found.misuse) hz3_misuse(found.misuse, found.p);
}
