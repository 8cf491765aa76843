/* Objects of an owner's runs, as tests of the owner stash push them. */
#ifndef HZ3_UNIT_TAKE_H
#define HZ3_UNIT_TAKE_H

#include "middle/central.h"

#include <stdlib.h>

static inline int compare_addresses(const void *a, const void *b)
{
    uintptr_t x = *(const uintptr_t *)a, y = *(const uintptr_t *)b;
    return (x > y) - (x < y);
}

/* Takes n objects of the class, and puts them in ascending order. */
static inline void take_in_order(unsigned owner, unsigned cls, void **objects, unsigned n)
{
    enum hz3_refill_source source;
    for (unsigned got = 0; got < n;)
        got += hz3_central_refill(&hz3_heaps[owner], cls, objects + got, n - got, true, &source);
    qsort(objects, n, sizeof *objects, compare_addresses);
}
#endif
