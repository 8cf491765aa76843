/* Huge pages: where hz3 asks the system for them, where it asks for none, and where one may be.  Linux is set to make
 * them unasked or only where it is asked; HZ3_THP says what hz3 asks. */
#ifndef HZ3_BACK_HUGE_PAGES_H
#define HZ3_BACK_HUGE_PAGES_H

#include "back/limits.h"
#include "back/page_map.h"

/* Sets them by the option. */
void hz3_huge_pages_set(enum hz3_thp thp);
extern bool hz3_huge_pages_never, hz3_huge_pages_always;
/* Reads which huge pages the system makes; hz3_pages_lock is held. */
void hz3_huge_pages_learn(void);

/* Bytes of the huge page that p may lie in, or 0. */
HZ3_INLINE size_t hz3_huge_page_at(uintptr_t p)
{
    size_t asked = hz3_get(hz3_os.huge_page_asked);
    if (!asked) return hz3_get(hz3_os.huge_page);
    return hz3_get(hz3_span_at((void *)(p & ~(asked - 1)))->asked) ? asked : 0;
}

/* Granules of a huge page, whether the system makes it unasked or is asked for it; 1: there are none. */
HZ3_INLINE size_t hz3_huge_page_granules(void)
{
    return hz3_max(hz3_max(hz3_get(hz3_os.huge_page), hz3_get(hz3_os.huge_page_asked)) >> HZ3_GRANULE_SHIFT, 1);
}

/* Whether memory from here on is to get no new huge pages. */
HZ3_INLINE bool hz3_huge_pages_are_broken(const struct hz3_window *window, uintptr_t start)
{
    return hz3_granule_of(window, (void *)start) < hz3_get(window->broken);
}

/* Repeats our advice for a range that was just mapped, or moved here: the system does not know it yet.  Without advice
 * it would make huge pages among those that are to stay small.  Locked memory gets no advice: it has its pages already,
 * and would become a mapping apart. */
void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes);
/* Asks for none in a part of a table, which may be touched here and there only, and is purged in parts.  (Before the
 * system's files were read that is left to hz3_states_advise and hz3_arena_advise.) */
void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to);
/* Asks for huge pages in a clean range, for a reserve; as many as lie in it whole. */
void hz3_huge_pages_ask(uintptr_t start, uintptr_t end);
/* To be called when a range was unmapped: what was asked for is gone. */
void hz3_huge_pages_forget(uintptr_t start, uintptr_t end);
/* Takes back the request in a span that becomes used: its user may touch no more than one page of each huge page. */
void hz3_huge_pages_withdraw(const struct hz3_span *span);
#endif
