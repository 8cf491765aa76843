#include "back/huge_pages.h"

enum hz3_thp hz3_huge_pages;

HZ3_TOGETHER HZ3_ATOMIC(uintptr_t) hz3_small_pages_start;
HZ3_TOGETHER HZ3_ATOMIC(size_t) hz3_small_pages_bytes;
HZ3_ATOMIC(size_t) hz3_small_pages_most = HZ3_SMALL_PAGES;

bool hz3_small_pages_go_on(uintptr_t start, size_t bytes)
{
    size_t before = hz3_get(hz3_small_pages_bytes);
    bool next = !before || start == hz3_get(hz3_small_pages_start) + before;
    return next && before + bytes <= hz3_get(hz3_small_pages_most) && hz3_huge_pages != HZ3_THP_ALWAYS;
}

void hz3_small_pages_grew(uintptr_t start, size_t bytes)
{
    if (!hz3_small_pages_go_on(start, bytes)) return;
    if (!hz3_get(hz3_small_pages_bytes)) hz3_set(hz3_small_pages_start, start);
    hz3_add(hz3_small_pages_bytes, bytes);
}

void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes)
{
    if (hz3_get(hz3_pages_are_locked)) return;
    bool always = hz3_huge_pages == HZ3_THP_ALWAYS, never = hz3_huge_pages == HZ3_THP_NEVER;
    uintptr_t end = window->base + ((uintptr_t)hz3_get(window->broken) << HZ3_GRANULE_SHIFT);
    if (hz3_get(hz3_os.huge_page) && !hz3_huge_page_at(start))
        end = hz3_max(end, hz3_get(hz3_small_pages_start) + hz3_get(hz3_small_pages_bytes));
    if (!always && !never) bytes = hz3_min(bytes, end - hz3_min(end, start));
    if (bytes) hz3_os_huge_pages(start, bytes, always);
}

void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to)
{
    if (to > from && (hz3_get(hz3_os.huge_page) || hz3_huge_pages == HZ3_THP_NEVER))
        hz3_os_huge_pages(from, to - from, false);
}
