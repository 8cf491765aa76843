/* Huge pages: where hz3 asks the system for them, where it asks for none, and where one may be.  Linux is set to make
 * them unasked or only where it is asked; HZ3_THP says what hz3 asks. */
#pragma once

#include "back/gauges.h"
#include "back/limits.h"
#include "back/page_map.h"

extern enum hz3_thp hz3_huge_pages; /* as the option says; const after start */

/* The memory that hz3 maps first gets no huge pages that HZ3_THP=always does not ask for: a heap of a few huge pages
 * would pay for whole ones that it fills in part.  Of so many bytes one of 2 MiB is a thirty-second part.  A step of
 * growth that goes beyond them ends that memory before it, so a large block has pages of one kind. */
#define HZ3_SMALL_PAGES HZ3_MIB(64)
extern HZ3_ATOMIC(uintptr_t) hz3_small_pages_start; /* const once there are some */
extern HZ3_ATOMIC(size_t) hz3_small_pages_bytes;
extern HZ3_ATOMIC(size_t) hz3_small_pages_most; /* bytes, with what nobody touches among them */

/* Bytes of a huge page that the system may make at an address; 0: it is asked for none there, or makes none.  One that
 * is no larger than a granule may be anywhere. */
HZ3_INLINE size_t hz3_huge_page_at(uintptr_t at)
{
    bool small = at - hz3_get(hz3_small_pages_start) < hz3_get(hz3_small_pages_bytes);
    size_t huge_page = hz3_get(hz3_os.huge_page);
    return small && huge_page > HZ3_GRANULE ? 0 : huge_page;
}

/* Its granules, from a granule of the window; 1: there is none. */
HZ3_INLINE size_t hz3_huge_page_granules(const struct hz3_window *window, size_t granule)
{
    return hz3_max(hz3_huge_page_at(window->base + (granule << HZ3_GRANULE_SHIFT)) >> HZ3_GRANULE_SHIFT, 1);
}

/* The leading bytes of a range of which no huge page may be: up to the first whole one behind the small pages. */
HZ3_INLINE size_t hz3_small_pages_in(uintptr_t start, size_t bytes)
{
    if (!hz3_get(hz3_os.huge_page)) return bytes;
    if (hz3_huge_page_at(start)) return 0;
    uintptr_t end = hz3_get(hz3_small_pages_start) + hz3_get(hz3_small_pages_bytes);
    return hz3_min(bytes, hz3_round_up(end, hz3_get(hz3_os.huge_page)) - start);
}

/* Whether all runs may be purged page by page. */
HZ3_INLINE bool hz3_heap_is_small(void)
{
    size_t untouched = hz3_get(hz3_small_pages_most) - HZ3_SMALL_PAGES;
    return !hz3_get(hz3_os.huge_page) || hz3_gauge(HZ3_GAUGE_USED) + untouched < hz3_get(hz3_small_pages_bytes);
}

/* Whether a step of growth will be theirs. */
bool hz3_small_pages_go_on(uintptr_t start, size_t bytes);
/* Called for each step of growth, under the page pool's lock, before it is advised. */
void hz3_small_pages_grew(uintptr_t start, size_t bytes);
/* Repeats our advice for a range that was just mapped, or moved here: the system does not know it yet.  Without advice
 * it would make huge pages among those that are to stay small.  Locked memory gets no advice: it has its pages already,
 * and would become a mapping apart. */
void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes);
/* Asks for none in a part of a table, which may be touched here and there only, and is purged in parts.  (Before the
 * system's files were read that is left to hz3_states_advise and hz3_arena_advise.) */
void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to);
