#include "back/gauges.h"

#include "base/layout.h"

HZ3_TOGETHER HZ3_CACHE_ALIGNED HZ3_ATOMIC(size_t) hz3_gauges[HZ3_GAUGES];

const struct hz3_place hz3_gauge_places[] = {
    HZ3_PLACE("gauge.used", hz3_gauges[HZ3_GAUGE_USED]),
    HZ3_PLACE("gauge.dirty", hz3_gauges[HZ3_GAUGE_DIRTY]),
    HZ3_PLACE("gauge.clean", hz3_gauges[HZ3_GAUGE_CLEAN]),
    HZ3_PLACE("gauge.unmapped", hz3_gauges[HZ3_GAUGE_UNMAPPED]),
    HZ3_PLACE("gauge.large_cached", hz3_gauges[HZ3_GAUGE_LARGE_CACHED]),
    HZ3_PLACE("gauge.idle", hz3_gauges[HZ3_GAUGE_IDLE]),
    HZ3_PLACE("gauge.purged", hz3_gauges[HZ3_GAUGE_PURGED]),
    HZ3_PLACES_END,
};
