/* Visits that empty the caches of all other threads, whether they sleep or not. */
#pragma once

#include "front/registry.h"
#include "front/sleepers.h"
#include "front/threads.h"
#include "os/gate.h"

/* How many visits found a thread outside its slow paths. */
static unsigned visit_all(void)
{
    unsigned emptied = 0;
    hz3_gate_enter_at_last();
    hz3_lock(&hz3_threads_lock);
    for (struct hz3_registry_entry *entry = hz3_registry; entry; entry = entry->next)
        if (entry->thread != &hz3_thread) emptied += hz3_sleeper_empty(entry->thread);
    hz3_unlock(&hz3_threads_lock);
    hz3_gate_leave();
    return emptied;
}
