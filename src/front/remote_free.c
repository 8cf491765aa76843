#include "front/remote_free.h"

#include "base/check.h"
#include "front/cache.h"
#include "front/thread.h"
#include "os/gate.h"

static void free_inside(void *p, unsigned cls, unsigned owner)
{
    bool inside = hz3_cache_enter();
    struct hz3_outbox *outbox = inside ? hz3_outbox_get() : NULL;
    if (outbox)
        hz3_outgoing_put(outbox, p, cls, owner);
    else
        hz3_thread_retire(p, cls);
    if (inside) hz3_cache_leave();
}

void hz3_remote_free(void *p, unsigned cls, unsigned owner)
{
    if (!HZ3_FREE_CHECK && unlikely((uintptr_t)p % HZ3_UNIT)) hz3_misuse("interior pointer freed", p);
    if (unlikely(!hz3_gate_enter())) {
        if (hz3_cache_free_during_fork(p, cls)) return;
        hz3_gate_enter_at_last();
    }
    free_inside(p, cls, owner);
    hz3_gate_leave();
}
