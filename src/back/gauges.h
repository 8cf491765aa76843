/* Gauges: how many bytes are in use, free and waiting.  Any thread may read them at any time.  Each is written by one
 * room, and only by the two functions here. */
#pragma once

#include "base/types.h"

/* Bytes, but for HOLES. */
enum hz3_gauge {
    HZ3_GAUGE_USED, /* address space, by state: this and the next three */
    HZ3_GAUGE_DIRTY,
    HZ3_GAUGE_CLEAN,
    HZ3_GAUGE_UNMAPPED,
    HZ3_GAUGE_GUARDS,       /* part of UNMAPPED: guards of runs */
    HZ3_GAUGE_LARGE_CACHED, /* part of USED: freed blocks that back/large_cache keeps */
    HZ3_GAUGE_PURGING,      /* part of USED: free spans while their pages go back */
    HZ3_GAUGE_SMALL,        /* part of USED: runs of one granule */
    HZ3_GAUGE_IDLE,         /* part of USED: objects in runs, free since the run's last purge; middle/central's */
    HZ3_GAUGE_PURGED,       /* ever */
    HZ3_GAUGE_HOLES,        /* unmapped spans, by number */
    HZ3_GAUGES
};

extern HZ3_ATOMIC(size_t) hz3_gauges[HZ3_GAUGES];

HZ3_INLINE size_t hz3_gauge(enum hz3_gauge gauge)
{
    return hz3_get(hz3_gauges[gauge]);
}

/* A negative `change` is given modulo 2^64. */
HZ3_INLINE void hz3_gauge_add(enum hz3_gauge gauge, size_t change)
{
    hz3_add(hz3_gauges[gauge], change);
}

/* Cheaper: for a gauge that is only written under one lock, which is held. */
HZ3_INLINE void hz3_gauge_add_locked(enum hz3_gauge gauge, size_t change)
{
    hz3_set(hz3_gauges[gauge], hz3_get(hz3_gauges[gauge]) + change);
}
