#include "back/huge_pages.h"

bool hz3_huge_pages_never, hz3_huge_pages_always;
static enum hz3_thp wanted;

void hz3_huge_pages_set(enum hz3_thp thp)
{
    wanted = thp;
    hz3_huge_pages_always = thp == HZ3_THP_ALWAYS;
    hz3_huge_pages_never = thp == HZ3_THP_NEVER;
}

void hz3_huge_pages_learn(void)
{
    hz3_os_learn_huge_pages(wanted);
}

void hz3_huge_pages_advise(const struct hz3_window *window, uintptr_t start, size_t bytes)
{
    if (hz3_get(hz3_pages_are_locked)) return;
    bool never = hz3_huge_pages_never || (!hz3_get(hz3_os.huge_page_asked) && hz3_huge_pages_are_broken(window, start));
    if (hz3_huge_pages_always || never) hz3_os_huge_pages(start, bytes, hz3_huge_pages_always);
}

void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to)
{
    if (to > from && (hz3_get(hz3_os.huge_page) || hz3_huge_pages_never)) hz3_os_huge_pages(from, to - from, false);
}

void hz3_huge_pages_ask(uintptr_t start, uintptr_t end)
{
    size_t huge_page = hz3_get(hz3_os.huge_page_asked);
    start = hz3_round_up(start, huge_page);
    if (start >= end || !hz3_os_huge_pages(start, end - start, true)) return;
    for (; start < end; start += huge_page) hz3_set(hz3_span_at((void *)start)->asked, true);
}

void hz3_huge_pages_forget(uintptr_t start, uintptr_t end)
{
    size_t huge_page = hz3_get(hz3_os.huge_page_asked);
    if (!huge_page) return;
    for (start = hz3_round_up(start, huge_page); start + huge_page <= end; start += huge_page)
        hz3_set(hz3_span_at((void *)start)->asked, false);
}

void hz3_huge_pages_withdraw(const struct hz3_span *span)
{
    size_t huge_page = hz3_get(hz3_os.huge_page_asked);
    if (!huge_page || span->kind == HZ3_SPAN_RESERVE) return;
    uintptr_t start = span->start & ~(huge_page - 1), end = hz3_round_up(span->start + hz3_span_bytes(span), huge_page);
    bool any = false;
    for (uintptr_t at = start; at < end; at += huge_page) {
        HZ3_ATOMIC(bool) *asked = &hz3_span_at((void *)at)->asked;
        any |= hz3_get(*asked);
        hz3_set(*asked, false);
    }
    if (any) hz3_os_huge_pages(start, end - start, false);
}
