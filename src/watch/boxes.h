/* HZ3_BOXES_ON: the lines of the observation boxes, one for each that is built in, in the work orders' form. */
#ifndef HZ3_WATCH_BOXES_H
#define HZ3_WATCH_BOXES_H

#include "base/types.h"
#include HZ3_COUNTERS_H

void hz3_boxes_print(void); /* on stderr */
#endif
