/* Huge pages: where the system is asked for them, where it is to make none, and where one may be.  Linux makes them
 * unasked, or only of what it is asked for; HZ3_THP says what we ask. */
#ifndef HZ3_BACK_HUGE_PAGES_H
#define HZ3_BACK_HUGE_PAGES_H

#include "back/limits.h"
#include "back/page_map.h"

/* From the option. */
void hz3_huge_pages_set(enum hz3_thp thp);
extern bool hz3_huge_pages_never, hz3_huge_pages_always;

/* Bytes of the huge page that the granule p lies in may be a part of, or 0. */
HZ3_INLINE size_t hz3_huge_page_at(uintptr_t p)
{
    size_t asked = hz3_os.huge_page_asked;
    if (!asked) return hz3_os.huge_page;
    return hz3_get(hz3_span_at((void *)(p & ~(asked - 1)))->asked) ? asked : 0;
}

/* Of a huge page, which the system makes unasked or is to be asked for; 1: of none. */
HZ3_INLINE size_t hz3_huge_page_granules(void)
{
    return hz3_max(hz3_max(hz3_os.huge_page, hz3_os.huge_page_asked) >> HZ3_GRANULE_SHIFT, 1);
}

/* Whether what starts here is to have no new huge pages. */
HZ3_INLINE bool hz3_huge_pages_are_broken(const struct hz3_window *window, uintptr_t start)
{
    return hz3_granule_of(window, (void *)start) < hz3_get(window->broken);
}

/* Of what was just mapped, or moved here, the system knows nothing yet.  Among pages that are to stay small it is to be
 * so, too, where it would not be unasked.  Locked memory has its pages already, and would become a mapping apart. */
void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes);
/* Where there are huge pages: none of state bytes, of which every purge would break one. */
void hz3_huge_pages_advise_states(uintptr_t start, size_t bytes);
/* For reserves: the whole huge pages of a clean range. */
void hz3_huge_pages_ask(uintptr_t start, uintptr_t end);
/* Of what becomes used: who takes a clean span may touch one page of each huge page that was asked for, and no more. */
void hz3_huge_pages_withdraw(const struct hz3_span *span);
#endif
