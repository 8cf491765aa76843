#include "back/vma_edges.h"

#include "os/os.h"

#include <string.h>

enum { MOVED = 1 }; /* set in an edge: up to the next edge there is one mapping, of moved pages */

/* Ascending; address | MOVED, or the address where moved pages end.  NULL until pages move: most processes move none.
 */
static uintptr_t *edges;
static HZ3_ATOMIC(uint32_t) count;

bool hz3_vma_edges_none(void)
{
    return hz3_get(count) == 0;
}

static bool have_table(void)
{
    enum { BYTES = HZ3_VMA_EDGES_MAX * sizeof *edges };
    if (likely(edges)) return true;
    uintptr_t table = hz3_os_reserve(BYTES);
    if (!table) return false;
    if (hz3_os_writable(table, BYTES))
        edges = (uintptr_t *)table;
    else
        hz3_os_unmap(table, BYTES);
    return edges;
}

bool hz3_vma_edges_full(void)
{
    return hz3_get(count) >= HZ3_VMA_EDGES_FULL || !have_table();
}

/* The index of the first edge that is not before this address. */
static size_t index_of(uintptr_t at)
{
    size_t low = 0, high = hz3_get(count);
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (edges[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The index of the first edge after this address. */
static size_t index_after(uintptr_t at)
{
    return index_of(at + MOVED + 1);
}

/* Whether the pages right before the i-th edge were moved: MOVED or 0. */
static uintptr_t moved_before(size_t i)
{
    return i ? edges[i - 1] & MOVED : 0;
}

/* An edge that no longer fits is forgotten. */
static void put(uintptr_t edge)
{
    size_t i = index_of(edge), n = hz3_get(count);
    if (n == HZ3_VMA_EDGES_MAX) return;
    memmove(&edges[i + 1], &edges[i], (n - i) * sizeof(*edges));
    edges[i] = edge;
    hz3_set(count, (uint32_t)n + 1);
}

/* The range is now one mapping of moved pages (MOVED), or has no moved pages (0). */
static void assign(uintptr_t start, uintptr_t end, uintptr_t moved)
{
    if (!edges) return; /* nothing moved yet */
    size_t from = index_of(start), to = index_after(end), n = hz3_get(count);
    uintptr_t before = moved_before(from), after = moved_before(to);
    memmove(&edges[from], &edges[to], (n - to) * sizeof(*edges));
    hz3_set(count, (uint32_t)(n - (to - from)));
    if (moved || before) put(start | moved);
    if (moved || after) put(end | after);
}

void hz3_vma_edges_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes)
{
    assign(to, to + to_bytes, MOVED);
    uintptr_t at = from;
    for (size_t i; (i = index_after(at)) < hz3_get(count) && edges[i] < from + bytes;) {
        at = edges[i] & ~(uintptr_t)MOVED;
        put((at - from + to) | MOVED);
    }
    assign(from, from + bytes, 0);
}

bool hz3_vma_edges_inside(uintptr_t start, size_t bytes)
{
    return index_after(start) < index_of(start + bytes);
}

bool hz3_vma_edges_narrow(uintptr_t *start, size_t *bytes)
{
    size_t first = index_of(*start), end = index_after(*start + *bytes);
    if (end - first < 2) return false;
    *start = edges[first] & ~(uintptr_t)MOVED;
    *bytes = (edges[end - 1] & ~(uintptr_t)MOVED) - *start;
    return end - first > moved_before(first) + moved_before(end);
}

void hz3_vma_edges_drop(uintptr_t start, size_t bytes)
{
    assign(start, start + bytes, 0);
}
