#include "watch/boxes.h"

#include "front/threads.h"
#include "os/gate.h"

void hz3_boxes_text(struct hz3_text *text)
{
    struct hz3_counters sum;
    hz3_gate_enter_at_last();
    hz3_cache_counters_sum(&sum);
    hz3_gate_leave();
    hz3_counters_text(text, &sum);
}
