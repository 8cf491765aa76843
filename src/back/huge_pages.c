#include "back/huge_pages.h"

enum hz3_thp hz3_huge_pages;

void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes)
{
    if (hz3_get(hz3_pages_are_locked)) return;
    bool always = hz3_huge_pages == HZ3_THP_ALWAYS, never = hz3_huge_pages == HZ3_THP_NEVER;
    bool broken = hz3_granule_of(window, (void *)start) < hz3_get(window->broken);
    if (always || never || broken) hz3_os_huge_pages(start, bytes, always);
}

void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to)
{
    if (to > from && (hz3_get(hz3_os.huge_page) || hz3_huge_pages == HZ3_THP_NEVER))
        hz3_os_huge_pages(from, to - from, false);
}
