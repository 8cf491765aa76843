#include "front/thread.h"

#include "os/os.h"

void hz3_thread_wait_for_visitor(struct hz3_thread *self)
{
    while (hz3_load(self->visited, memory_order_acquire)) hz3_os_wait(&self->visited, 1, 1);
}

/* The words of a loaded magazine that the visitor took are NULL; the topmost of them is the floor. */
void hz3_thread_lose_visitor(struct hz3_thread *self)
{
    if (likely(!hz3_get(self->visited))) return;
    hz3_set(self->visited, 0);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        void **floor = self->cache.top[cls];
        if (hz3_is_stub(floor)) continue;
        struct hz3_magazine *magazine = hz3_magazine_of(floor);
        while (*floor && floor > &magazine->word[magazine->header.floor]) floor--;
        magazine->header.floor = (uint8_t)(floor - magazine->word);
    }
}

_Thread_local struct hz3_thread hz3_thread = {
    .cache = {.top = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP},
              .previous = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP}},
    .unsampled = -1,
};
