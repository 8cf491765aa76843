/* The observation boxes' lines, one for each box that is built in, as the work orders write them. */
#ifndef HZ3_WATCH_BOXES_H
#define HZ3_WATCH_BOXES_H

#include "variants/counters.h"

void hz3_boxes_text(struct hz3_text *text);
#endif
