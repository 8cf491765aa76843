/* Huge pages: where hz3 asks the system for them, where it asks for none, and where one may be.  Linux is set to make
 * them unasked or only where it is asked; HZ3_THP says what hz3 asks. */
#pragma once

#include "back/limits.h"
#include "back/page_map.h"

extern enum hz3_thp hz3_huge_pages; /* as the option says; const after start */

/* The first so many bytes of the first window get no huge pages that HZ3_THP=always does not ask for.  A heap of a few
 * huge pages would pay for whole ones that it fills in part; of this many one is a thirty-second part. */
#define HZ3_SMALL_PAGES HZ3_MIB(64)

/* Bytes of a huge page that the system may make at an address; 0: it makes none there. */
HZ3_INLINE size_t hz3_huge_page_at(uintptr_t at)
{
    bool small = at - hz3_windows[0].base < HZ3_SMALL_PAGES && hz3_huge_pages != HZ3_THP_ALWAYS;
    return small ? 0 : hz3_get(hz3_os.huge_page);
}

/* Its granules, from a granule of the window; 1: there is none. */
HZ3_INLINE size_t hz3_huge_page_granules(const struct hz3_window *window, size_t granule)
{
    return hz3_max(hz3_huge_page_at(window->base + (granule << HZ3_GRANULE_SHIFT)) >> HZ3_GRANULE_SHIFT, 1);
}

/* Repeats our advice for a range that was just mapped, or moved here: the system does not know it yet.  Without advice
 * it would make huge pages among those that are to stay small.  Locked memory gets no advice: it has its pages already,
 * and would become a mapping apart. */
void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes);
/* Asks for none in a part of a table, which may be touched here and there only, and is purged in parts.  (Before the
 * system's files were read that is left to hz3_states_advise and hz3_arena_advise.) */
void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to);
