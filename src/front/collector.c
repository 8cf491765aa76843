#define _GNU_SOURCE
#include "front/collector.h"

#include "back/pages.h"
#include "back/shelf.h"
#include "front/thread_cache.h"
#include "middle/owner_stash.h"
#include "middle/page_remote.h"
#include "middle/transfer_cache.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

enum {
    PASSES_PER_DECAY = 4,
    PASS_MIN_MS = 10,
    PASS_MAX_MS = 1800 * 1000, /* what is due is never further ahead: hz3_ms_passed */
    FUTILE_MAX =
        4 * PASSES_PER_DECAY, /* passes without success, where the system refuses, after which the thread ends */
    STACK_BYTES = 128 * 1024,
    SLICES = 8, /* of a pass */
};
#define SLICE_MIN HZ3_MIB(2)
/* Below DONE_BYTES the background thread's work is done; from START_BYTES on it is worth a thread. */
#define DONE_BYTES  HZ3_KIB(256)
#define START_BYTES HZ3_MIB(32)

struct hz3_lock hz3_collector_lock;
static uint32_t decay = 1000, interval = 250;
static HZ3_ATOMIC(uint32_t) due, turn; /* ms, wrapping: when the next slice is; and which */
static HZ3_ATOMIC(bool) allowed, wanted, running, forbidden;
static HZ3_ATOMIC(size_t) resume_above = START_BYTES; /* waiting bytes from which a thread is worth it */

static size_t waiting_bytes(void)
{
    return hz3_get(hz3_pages_stats.dirty) + hz3_get(hz3_pages_stats.shelved) + hz3_get(hz3_central_idle_bytes) +
           hz3_owner_stash_waiting() + hz3_transfer_waiting() + hz3_central_waiting() + hz3_page_remote_waiting();
}

/* What has been idle for `age` ms goes home, in every `slices`th class from `slice` on and as much of the rest; returns
 * the bytes given back. */
static size_t pass(uint32_t age, unsigned slice, unsigned slices, bool break_huge_pages)
{
    for (unsigned cls = 1 + slice; cls <= HZ3_CLASSES; cls += slices) {
        hz3_page_remote_collect_all(cls);
        hz3_owner_stash_trim(cls, age == 0);
        hz3_transfer_trim(cls, age == 0);
        hz3_central_trim(cls, age == 0);
    }
    hz3_transfer_recount();
    for (unsigned i = slice; i < hz3_heap_count; i += slices) hz3_central_release_heap(&hz3_heaps[i]);
    size_t purged = hz3_shelf_trim(age, break_huge_pages);
    for (unsigned cls = 1 + slice; cls <= HZ3_CLASSES; cls += slices)
        purged += hz3_central_purge(cls, age, break_huge_pages);
    size_t dirty = hz3_get(hz3_pages_stats.dirty), most = hz3_max(dirty / slices, SLICE_MIN);
    return purged + hz3_pages_purge(age, slices == 1 ? 0 : dirty - hz3_min(dirty, most), break_huge_pages);
}

size_t hz3_collector_run(bool force)
{
    bool all = force || hz3_pages_pressed();
    return pass(all ? 0 : decay, 0, 1, all);
}

/* A program's thread has other things to do: it takes the slices whose time has come, mostly one. */
static void run_in_passing(uint32_t first, uint32_t slices)
{
    if (hz3_pages_pressed())
        hz3_collector_run(true);
    else
        for (uint32_t i = first; i < first + slices; i++) pass(decay, i % SLICES, SLICES, false);
}

uint32_t hz3_collector_tick(void)
{
    uint32_t now = (uint32_t)hz3_os_now_ms(), since = hz3_get(due), slice_ms = hz3_max(interval / SLICES, 1u);
    if (hz3_ms_passed(since, 0, now) && hz3_trylock(&hz3_collector_lock)) {
        uint32_t first = hz3_get(turn), slices = hz3_min((now - since) / slice_ms + 1, (uint32_t)SLICES);
        hz3_set(due, now + slice_ms);
        hz3_set(turn, first + slices);
        if (!hz3_get(running)) run_in_passing(first, slices);
        hz3_unlock(&hz3_collector_lock);
    }
    hz3_collector_nudge();
    return hz3_get(turn) / SLICES;
}

static void *background(void *unused)
{
    static HZ3_ATOMIC(uint32_t) never;
    do {
        int futile = 0;
        bool refused = false;
        while (waiting_bytes() > DONE_BYTES && !(refused && futile >= FUTILE_MAX) && !hz3_get(forbidden)) {
            hz3_os_wait(&never, 0, interval);
            hz3_lock(&hz3_collector_lock);
            /* After a decay in vain, huge pages are broken: nobody seems to want them any more. */
            futile = pass(decay, 0, 1, futile > PASSES_PER_DECAY) ? 0 : futile + 1;
            refused = hz3_pages_refused();
            hz3_unlock(&hz3_collector_lock);
        }
        /* What cannot be given back (locked memory, say) does not count again. */
        hz3_set(resume_above, START_BYTES + (refused ? waiting_bytes() : 0));
        hz3_store(running, false,
                  memory_order_seq_cst); /* before the look below, as hz3_collector_nudge looks after it counted */
    } while (waiting_bytes() >= hz3_get(resume_above) && hz3_get(allowed) &&
             !hz3_exchange(running, true, memory_order_seq_cst));
    /* In a sandbox even the end of a thread may be forbidden. */
    while (hz3_get(forbidden)) hz3_os_wait(&never, 0, 0);
    return unused;
}

static HZ3_COLD void start_background(void)
{
    if (hz3_exchange(running, true, memory_order_seq_cst)) return;
    int saved = errno;
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are none of its business */
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, background, NULL) != 0) {
        hz3_set(allowed, false);
        hz3_set(running, false);
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}

void hz3_collector_nudge(void)
{
    /* glibc frees what threads leave behind under the lock that creating a thread takes. */
    if (hz3_thread.by_loader) return;
    if (likely(waiting_bytes() < hz3_get(resume_above)) || !hz3_get(allowed)) return;
    hz3_fence(memory_order_seq_cst);
    if (!hz3_get(running)) start_background();
}

void hz3_collector_start(uint32_t decay_ms, bool with_background)
{
    decay = decay_ms;
    interval = hz3_min(hz3_max(decay_ms / PASSES_PER_DECAY, (uint32_t)PASS_MIN_MS), (uint32_t)PASS_MAX_MS);
    hz3_set(wanted, with_background);
    hz3_set(due, (uint32_t)hz3_os_now_ms() + interval);
}

void hz3_collector_allow_background(void)
{
    hz3_set(allowed, hz3_get(wanted));
}

void hz3_collector_forbid_background(void)
{
    hz3_set(allowed, false);
    hz3_set(wanted, false);
    hz3_set(forbidden, true);
}

void hz3_collector_after_fork(void)
{
    hz3_set(running, false);
}
