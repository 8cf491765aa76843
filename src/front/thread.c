#include "front/thread.h"

#include "os/os.h"

void hz3_thread_wait_for_visitor(struct hz3_thread *self)
{
    while (hz3_load(self->visited, memory_order_acquire)) hz3_os_wait(&self->visited, 1, 1);
}

_Thread_local struct hz3_thread hz3_thread = {
    .cache = {.top = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP},
              .previous = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP}},
    .unsampled = -1,
};
