#include "watch/boxes.h"

#include "front/threads.h"
#include "os/gate.h"
#include "os/os.h"

void hz3_boxes_print(void)
{
    char buf[2048];
    struct hz3_text text = {buf, sizeof buf, 0};
    struct hz3_counters sum;
    hz3_gate_enter_at_last();
    hz3_cache_counters_sum(&sum);
    hz3_gate_leave();
    hz3_counters_text(&text, &sum);
    hz3_os_stderr(buf, hz3_min(text.length, sizeof buf - 1));
}
