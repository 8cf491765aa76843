#include "secure/empty.h"

#include "base/check.h"
#include "os/os.h"

enum {
    AREA = 16 << 20, /* bytes of address space */
    PLACES = AREA / HZ3_UNIT,
    TRIES = 64, /* places looked at for a free one */
    WORD = 64,
};

static HZ3_ATOMIC(uintptr_t) area; /* 0 before the first request */
static HZ3_ATOMIC(uint32_t) next;  /* the place after the last that was tried, wrapping */
static HZ3_ATOMIC(uint64_t) live[PLACES / WORD];

static uintptr_t make_area(void)
{
    uintptr_t none = 0, made = hz3_os_reserve(AREA + HZ3_GRANULE), from = hz3_round_up(made, HZ3_GRANULE);
    if (!made || hz3_cas(area, &none, from, memory_order_relaxed, memory_order_relaxed)) return from;
    hz3_os_unmap(made, AREA + HZ3_GRANULE); /* another thread was first */
    return none;
}

static uint64_t bit_of(size_t place)
{
    return (uint64_t)1 << place % WORD;
}

static size_t place_of(const void *p)
{
    return ((uintptr_t)p - hz3_get(area)) / HZ3_UNIT;
}

void *hz3_empty_alloc(size_t size, size_t alignment)
{
    if (likely(size) || alignment > HZ3_GRANULE) return NULL;
    uintptr_t from = hz3_get(area);
    if (unlikely(!from) && !(from = make_area())) return NULL;
    uint32_t step = hz3_max((uint32_t)alignment / HZ3_UNIT, 1u);
    for (int i = 0; i < TRIES; i++) {
        size_t place = hz3_round_up(hz3_add(next, step), step) % PLACES;
        if (!(hz3_fetch_or(live[place / WORD], bit_of(place), memory_order_relaxed) & bit_of(place)))
            return (void *)(from + place * HZ3_UNIT);
    }
    return NULL;
}

bool hz3_empty_has(const void *p)
{
    return hz3_get(area) && (uintptr_t)p - hz3_get(area) < AREA;
}

/* (A place that a larger alignment left out counts as freed.) */
enum hz3_empty_state hz3_empty_look(const void *p)
{
    if (!hz3_empty_has(p)) return HZ3_EMPTY_ELSEWHERE;
    if ((uintptr_t)p % HZ3_UNIT) return HZ3_EMPTY_INTERIOR;
    size_t place = place_of(p), tried = hz3_get(next);
    if (hz3_get(live[place / WORD]) & bit_of(place)) return HZ3_EMPTY_LIVE;
    return place < tried ? HZ3_EMPTY_FREED : HZ3_EMPTY_NEVER;
}

bool hz3_empty_free(void *p)
{
    if (!hz3_empty_has(p)) return false;
    size_t place = place_of(p);
    if (!(hz3_fetch_and(live[place / WORD], ~bit_of(place), memory_order_relaxed) & bit_of(place)))
        hz3_misuse("double free", p); /* by two threads at once */
    return true;
}
