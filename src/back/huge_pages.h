/* Huge pages: where hz3 asks the system for them, where it asks for none, and where one may be.  Linux is set to make
 * them unasked or only where it is asked; HZ3_THP says what hz3 asks. */
#pragma once

#include "back/limits.h"
#include "back/page_map.h"

extern enum hz3_thp hz3_huge_pages; /* as the option says; const after start */

/* Granules of a huge page; 1: there are none. */
HZ3_INLINE size_t hz3_huge_page_granules(void)
{
    return hz3_max(hz3_get(hz3_os.huge_page) >> HZ3_GRANULE_SHIFT, 1);
}

/* Repeats our advice for a range that was just mapped, or moved here: the system does not know it yet.  Without advice
 * it would make huge pages among those that are to stay small.  Locked memory gets no advice: it has its pages already,
 * and would become a mapping apart. */
void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes);
/* Asks for none in a part of a table, which may be touched here and there only, and is purged in parts.  (Before the
 * system's files were read that is left to hz3_states_advise and hz3_arena_advise.) */
void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to);
