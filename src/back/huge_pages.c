#include "back/huge_pages.h"

enum hz3_thp hz3_huge_pages;

void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes)
{
    if (hz3_get(hz3_pages_are_locked)) return;
    bool always = hz3_huge_pages == HZ3_THP_ALWAYS, never = hz3_huge_pages == HZ3_THP_NEVER;
    size_t none = (size_t)hz3_get(window->broken) << HZ3_GRANULE_SHIFT; /* so many bytes of the window get none */
    if (window == hz3_windows && hz3_get(hz3_os.huge_page)) none = hz3_max(none, HZ3_SMALL_PAGES);
    if (!always && !never) bytes = hz3_min(bytes, none - hz3_min(none, start - window->base));
    if (bytes) hz3_os_huge_pages(start, bytes, always);
}

void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to)
{
    if (to > from && (hz3_get(hz3_os.huge_page) || hz3_huge_pages == HZ3_THP_NEVER))
        hz3_os_huge_pages(from, to - from, false);
}
