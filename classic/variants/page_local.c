#include "variants/page_local.h"

#include "back/run.h"
#include "base/check.h"
#include "base/sizeclass.h"
#include "middle/central.h"

enum { WORD = 64 };

static HZ3_ATOMIC(struct hz3_span *) announced[HZ3_NUM_SHARDS][HZ3_CLASS_VALUES];
static HZ3_ATOMIC(size_t) announced_bytes[HZ3_NUM_SHARDS]; /* the size of these runs */

static size_t run_bytes(unsigned cls)
{
    return (size_t)hz3_class_info[cls].granules << HZ3_GRANULE_SHIFT;
}

static void announce(struct hz3_span *run, unsigned cls, unsigned owner)
{
    hz3_add(announced_bytes[owner], run_bytes(cls));
    HZ3_ATOMIC(struct hz3_span *) *list = &announced[owner][cls];
    struct hz3_span *first = hz3_get(*list);
    do run->notes->next = first;
    while (!hz3_cas_weak(*list, &first, run, memory_order_release, memory_order_relaxed));
}

size_t hz3_page_remote_waiting(void)
{
    size_t bytes = 0;
    for (unsigned owner = 0; owner < hz3_heap_count; owner++) bytes += hz3_get(announced_bytes[owner]);
    return bytes;
}

void hz3_page_local_note(void *p, unsigned cls, unsigned owner)
{
    struct hz3_span *run = hz3_run_of(p);
    if (unlikely(!hz3_run_is_object(run, p))) hz3_misuse("interior pointer freed", p);
    size_t i = hz3_run_index(run, p);
    uint64_t bit = (uint64_t)1 << i % WORD;
    if (unlikely(hz3_fetch_or(run->notes->noted[i / WORD], bit, memory_order_release) & bit))
        hz3_misuse("double free", p);
    /* This thread sets the bit, then reads the mark; a thread that collects clears the mark, then reads the bits.  So
     * one of the two sees the other.  The run may be gone by now, if the other one saw the bit and retired the run's
     * last object.  Then the list leads to a descriptor without bits, which is harmless. */
    if (!hz3_exchange(run->notes->announced, true, memory_order_acq_rel)) announce(run, cls, owner);
}

static size_t retire_noted(struct hz3_span *run)
{
    void *objects[WORD];
    size_t retired = 0;
    for (unsigned w = 0; w < HZ3_SPAN_WORDS; w++) {
        if (!hz3_get(run->notes->noted[w])) continue;
        uint64_t bits = hz3_exchange(run->notes->noted[w], 0, memory_order_acquire);
        if (!bits) continue; /* another collector was here, and the run may have ended */
        unsigned cls = run->cls, n = 0;
        for (; bits; bits &= bits - 1)
            objects[n++] = (void *)(run->start + (w * WORD + (unsigned)__builtin_ctzll(bits)) * hz3_class_size(cls));
        hz3_central_retire(cls, objects, n);
        retired += n;
    }
    return retired;
}

size_t hz3_page_remote_collect(unsigned owner, unsigned cls)
{
    if (!hz3_get(announced[owner][cls])) return 0;
    struct hz3_span *run = hz3_exchange(announced[owner][cls], NULL, memory_order_acquire), *next;
    size_t retired = 0;
    for (; run; run = next) {
        hz3_sub(announced_bytes[owner], run_bytes(cls));
        next = run->notes->next; /* read before the run may be announced again */
        hz3_exchange(run->notes->announced, false, memory_order_acq_rel);
        retired += retire_noted(run);
    }
    return retired;
}

size_t hz3_page_remote_collect_all(unsigned cls)
{
    size_t retired = 0;
    for (unsigned owner = 0; owner < hz3_heap_count; owner++) retired += hz3_page_remote_collect(owner, cls);
    return retired;
}
