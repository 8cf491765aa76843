/* The lines of the observation boxes, one for each that is built in, in the work orders' form. */
#ifndef HZ3_WATCH_BOXES_H
#define HZ3_WATCH_BOXES_H

#include "variants/counters.h"

void hz3_boxes_text(struct hz3_text *text);
#endif
