/* In the place of page_local.h: nothing is noted in runs. */
#pragma once

#include "base/types.h"

HZ3_INLINE bool hz3_page_remote_free(void *p, unsigned cls, unsigned owner)
{
    (void)p, (void)cls, (void)owner;
    return false;
}

HZ3_INLINE size_t hz3_page_remote_waiting(void)
{
    return 0;
}

HZ3_INLINE size_t hz3_page_remote_collect(unsigned owner, unsigned cls)
{
    (void)owner, (void)cls;
    return 0;
}

HZ3_INLINE size_t hz3_page_remote_collect_all(unsigned cls)
{
    (void)cls;
    return 0;
}
