/* The observation boxes' lines, one for each box that is built in, as the work orders write them. */
#ifndef HZ3_WATCH_BOXES_H
#define HZ3_WATCH_BOXES_H

#include "base/print.h"

enum {
    HZ3_BOXES_ON = HZ3_S44_STATS || HZ3_S44_4_STATS || HZ3_S67_STATS || HZ3_S74_STATS ||
                   HZ3_S96_OWNER_STASH_PUSH_STATS || HZ3_ATOMIC_STATS,
};

void hz3_boxes_text(struct hz3_text *text);
#endif
