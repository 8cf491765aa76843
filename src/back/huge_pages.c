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
    bool never = hz3_huge_pages_never || hz3_huge_pages_are_broken(window, start);
    if (hz3_huge_pages_always || never) hz3_os_huge_pages(start, bytes, hz3_huge_pages_always);
}

void hz3_huge_pages_refuse(uintptr_t from, uintptr_t to)
{
    if (to > from && (hz3_get(hz3_os.huge_page) || hz3_huge_pages_never)) hz3_os_huge_pages(from, to - from, false);
}
