#include "back/limits.h"

enum { LOCKED_DIRTY_MAX = 256 << 10 };

HZ3_ATOMIC(size_t) hz3_pages_dirty_max = SIZE_MAX;
bool hz3_pages_elastic;
size_t hz3_pages_soft_limit = SIZE_MAX;
HZ3_ATOMIC(bool) hz3_pages_attended;
HZ3_ATOMIC(bool) hz3_pages_are_locked;

void hz3_pages_locked(void)
{
    hz3_set(hz3_pages_are_locked, true);
    if (hz3_get(hz3_pages_dirty_max) > LOCKED_DIRTY_MAX) hz3_set(hz3_pages_dirty_max, LOCKED_DIRTY_MAX);
}
