#include "variants/cpu_magazines.h"

#include "base/sizeclass.h"
#include "middle/central.h"

#include <string.h>

enum { ROOM_BYTES = 32 * 1024, ROOM_MIN = 4 };

_Static_assert(sizeof(struct hz3_cpu_row) == HZ3_RSEQ_ROW_BYTES, "sequences find a row by its size");

struct hz3_cpu_row hz3_cpu_rows[HZ3_RSEQ_ROWS];
HZ3_ATOMIC(bool) hz3_cpu_closed, hz3_cpu_serving;
static HZ3_ATOMIC(unsigned) used; /* rows below it may hold magazines */
static struct hz3_lock clearing;

void hz3_cpus_count(unsigned threads)
{
    static enum { UNKNOWN, NO, YES } works; /* under hz3_threads_lock */
    bool more = threads > hz3_os.cpus;
    if (more && works == UNKNOWN) works = hz3_rseq_start() ? YES : NO;
    hz3_set(hz3_cpu_serving, more && works == YES);
}

unsigned hz3_cpu_room(unsigned cls)
{
    return hz3_min(hz3_max(ROOM_BYTES / hz3_class_info[cls].size, ROOM_MIN), hz3_class_info[cls].load);
}

/* Gives a magazine as much room as a processor's may have; returns its top.  Its objects move. */
static void **make_room(unsigned cls, void **top)
{
    struct hz3_magazine *magazine = hz3_magazine_of(top);
    size_t count = hz3_magazine_objects(top);
    unsigned floor = HZ3_MAGAZINE_LAST - (unsigned)hz3_max((size_t)hz3_cpu_room(cls), count);
    memmove(&magazine->word[floor + 1], top - count + 1, count * sizeof *top);
    magazine->word[floor] = NULL;
    magazine->header.floor = (uint8_t)floor;
    return &magazine->word[floor + count];
}

void **hz3_cpu_take_previous(unsigned cls)
{
    unsigned processor = hz3_rseq_processor();
    if (processor >= HZ3_RSEQ_ROWS || !hz3_get(hz3_cpu_rows[processor].previous[cls])) return NULL;
    return hz3_exchange(hz3_cpu_rows[processor].previous[cls], NULL, memory_order_acquire);
}

static void note_use(const struct hz3_cpu_row *row)
{
    unsigned before = hz3_get(used), rows = (unsigned)(row - hz3_cpu_rows) + 1;
    while (before < rows && !hz3_cas(used, &before, rows, memory_order_relaxed, memory_order_relaxed)) continue;
}

void **hz3_cpu_load(unsigned cls, void **top)
{
    void *loaded;
    top = make_room(cls, top);
    struct hz3_cpu_row *row = hz3_rseq_exchange(hz3_cpu_rows, &hz3_cpu_closed, cls, top, &loaded);
    if (!row) return top;
    note_use(row);
    void **before = loaded;
    if (!before || !*before) return before;
    return hz3_exchange(row->previous[cls], before, memory_order_acq_rel);
}

/* ---- for reclaim ---- */

/* Another thread's sequence may change what is loaded. */
HZ3_RACY static bool is_idle(const struct hz3_cpu_row *row, unsigned cls, bool all)
{
    return row->top[cls] && (all || row->top[cls] == row->seen[cls]);
}

/* Puts a magazine on a list; its key is its class. */
static struct hz3_magazine *link(struct hz3_magazine *list, unsigned cls, void **top)
{
    if (!top) return list;
    struct hz3_magazine *magazine = hz3_magazine_close(top);
    magazine->header.key = (uint16_t)cls;
    hz3_set(magazine->header.next, list ? hz3_magazine_number(list) : 0);
    return magazine;
}

/* Takes out what is idle.  The table is closed, and no sequence is under way. */
static struct hz3_magazine *take_idle(unsigned first, unsigned step, bool all)
{
    struct hz3_magazine *list = NULL;
    for (struct hz3_cpu_row *row = hz3_cpu_rows; row < hz3_cpu_rows + hz3_get(used); row++)
        for (unsigned cls = 1 + first; cls <= HZ3_CLASSES; cls += step) {
            if (!is_idle(row, cls, all)) continue;
            list = link(list, cls, row->top[cls]);
            row->top[cls] = NULL;
            list = link(list, cls, hz3_exchange(row->previous[cls], NULL, memory_order_acquire));
        }
    return list;
}

HZ3_RACY static bool find_idle(unsigned first, unsigned step, bool all)
{
    bool found = false;
    for (struct hz3_cpu_row *row = hz3_cpu_rows; row < hz3_cpu_rows + hz3_get(used); row++)
        for (unsigned cls = 1 + first; cls <= HZ3_CLASSES; cls += step) found |= is_idle(row, cls, all);
    return found;
}

HZ3_RACY static void note_loaded(unsigned first, unsigned step)
{
    for (struct hz3_cpu_row *row = hz3_cpu_rows; row < hz3_cpu_rows + hz3_get(used); row++)
        for (unsigned cls = 1 + first; cls <= HZ3_CLASSES; cls += step) row->seen[cls] = row->top[cls];
}

void hz3_cpus_clear(unsigned first, unsigned step, bool all)
{
    struct hz3_magazine *list = NULL, *magazine;
    if (!hz3_get(used) || !hz3_trylock(&clearing)) return;
    if (find_idle(first, step, all)) {
        hz3_set(hz3_cpu_closed, true);
        /* A forked child does not inherit the registration that this needs. */
        if (hz3_rseq_restart_all() || (hz3_rseq_start() && hz3_rseq_restart_all())) list = take_idle(first, step, all);
        hz3_store(hz3_cpu_closed, false, memory_order_release);
    }
    note_loaded(first, step);
    hz3_unlock(&clearing);
    while ((magazine = list)) {
        list = hz3_magazine_below(magazine);
        hz3_central_take_apart(magazine->header.key, magazine);
    }
}

void hz3_cpus_after_fork(void)
{
    hz3_lock_forget_others(&clearing);
    hz3_set(hz3_cpu_closed, false);
}

HZ3_RACY size_t hz3_cpus_objects(unsigned cls)
{
    size_t objects = 0;
    for (struct hz3_cpu_row *row = hz3_cpu_rows; row < hz3_cpu_rows + hz3_get(used); row++) {
        void **loaded = row->top[cls], **previous = hz3_get(row->previous[cls]);
        if (loaded) objects += hz3_magazine_objects(loaded);
        if (previous) objects += hz3_magazine_objects(previous);
    }
    return objects;
}
