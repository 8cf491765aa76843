#include "back/seams.h"

#include <string.h>

static uintptr_t seams[HZ3_SEAMS_MAX]; /* ascending */
static HZ3_ATOMIC(uint32_t) count;

bool hz3_seams_none(void)
{
    return hz3_get(count) == 0;
}

bool hz3_seams_full(void)
{
    return hz3_get(count) == HZ3_SEAMS_MAX;
}

/* Of the first seam from this address on. */
static size_t index_of(uintptr_t at)
{
    size_t low = 0, high = hz3_get(count);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (seams[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* What no longer fits is not known of. */
static void put(uintptr_t at)
{
    size_t i = index_of(at), n = hz3_get(count);
    if (n == HZ3_SEAMS_MAX || (i < n && seams[i] == at)) return;
    memmove(&seams[i + 1], &seams[i], (n - i) * sizeof(*seams));
    seams[i] = at;
    hz3_set(count, (uint32_t)n + 1);
}

bool hz3_seams_drop(uintptr_t start, size_t bytes)
{
    size_t from = index_of(start), to = index_of(start + bytes), n = hz3_get(count);
    memmove(&seams[from], &seams[to], (n - to) * sizeof(*seams));
    hz3_set(count, (uint32_t)(n - (to - from)));
    return to > from;
}

static void reverse(size_t from, size_t to)
{
    for (; from + 1 < to; from++) {
        uintptr_t last = seams[--to];
        seams[to] = seams[from];
        seams[from] = last;
    }
}

/* Exchanges seams [from, middle) and [middle, to). */
static void rotate(size_t from, size_t middle, size_t to)
{
    reverse(from, middle);
    reverse(middle, to);
    reverse(from, to);
}

void hz3_seams_move(uintptr_t to, uintptr_t from, size_t bytes)
{
    hz3_seams_drop(to, bytes);
    size_t first = index_of(from), end = index_of(from + bytes), place = index_of(to);
    for (size_t i = first; i < end; i++) seams[i] += to - from;
    if (place <= first)
        rotate(place, first, end);
    else
        rotate(first, end, place);
    put(to);
    put(to + bytes);
}
