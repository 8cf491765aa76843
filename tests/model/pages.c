/* A stub of the page pool.  Each run gets one granule of the window. */
#include "back/gauges.h"
#include "back/pages.h"
#include "os/gate.h"

#include "house.h"

enum { GRANULES = 8 };

struct hz3_os hz3_os;
HZ3_ATOMIC(size_t) hz3_gauges[HZ3_GAUGES];
HZ3_ATOMIC(uint32_t) hz3_gate_closed;
static struct hz3_lock pool;
static bool used[GRANULES];

struct hz3_span *hz3_pages_alloc(size_t, size_t, enum hz3_span_kind)
{
    struct hz3_window *window = &hz3_windows[0];
    struct hz3_span *span = NULL;
    hz3_lock(&pool);
    for (unsigned i = 0; i < GRANULES && !span; i++) {
        if (used[i]) continue;
        used[i] = true;
        span = &window->spans[i];
        span->start = window->base + ((uintptr_t)i << HZ3_GRANULE_SHIFT);
        span->granules = 1;
        span->kind = HZ3_SPAN_RUN;
        hz3_set(span->bump, 0);
    }
    hz3_unlock(&pool);
    return span;
}

enum hz3_map_result hz3_states_cover(const struct hz3_span *, unsigned)
{
    return HZ3_MAPPED;
}

void hz3_pages_leave(struct hz3_span *) {}

void hz3_pages_enforce_limits(void) {}

void hz3_pages_free(struct hz3_span *span)
{
    hz3_pages_give_up(span);
}

void hz3_pages_give_up(struct hz3_span *span)
{
    hz3_lock(&pool);
    used[span - hz3_windows[0].spans] = false;
    hz3_unlock(&pool);
}

unsigned model_runs(void)
{
    unsigned runs = 0;
    for (unsigned i = 0; i < GRANULES; i++) runs += used[i];
    return runs;
}

void hz3_map_tag(uintptr_t, size_t, unsigned, unsigned) {}

void hz3_map_own(uintptr_t, size_t, unsigned) {}

bool hz3_range_purge(uintptr_t, size_t)
{
    return true;
}

uint64_t hz3_os_now_ms(void)
{
    return 1;
}
