#define _GNU_SOURCE
#include "front/reclaim.h"

#include "back/gauges.h"
#include "back/limits.h"
#include "back/large_cache.h"
#include "back/purge.h"
#include "front/thread_cache.h"
#include "middle/owner_stash.h"
#include "middle/page_remote.h"
#include "middle/transfer_cache.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum {
    PASSES_PER_DECAY = 4,
    PASS_MIN_MS = 10,
    PASS_MAX_MS = 1800 * 1000, /* what is due is never further ahead: hz3_ms_passed */
    FUTILE_MAX =
        4 * PASSES_PER_DECAY,  /* passes without success, where the system refuses, after which the thread ends */
    STACK_BYTES = 1024 * 1024, /* if it is the last thread, the process's exit handlers run on it */
    RETRY_MS = 1000,           /* after the system had no room for the thread */
    SLICES = 8,                /* of a pass */
    SLEEP_MS = 250,            /* without a slow call: a thread sleeps */
    MAKE_UP_SHARE = 4,         /* of the heap: less free objects, and growing is left alone */
    MAKE_UP_AGE = 64,          /* of the decay time: what was freed just now may be wanted again */
    WORTH = 8,                 /* of what waits: a pass that gives less of it back was in vain */
};
#define SLICE_MIN HZ3_MIB(2)
/* Below it the background thread's work is done. */
#define DONE_BYTES HZ3_KIB(256)

struct hz3_lock hz3_reclaim_lock;
static uint32_t decay = 1000, interval = 250;
static HZ3_ATOMIC(uint32_t) due, turn; /* ms, wrapping: when the next slice is; and which */
static HZ3_ATOMIC(bool) allowed, wanted, running, forbidden;
static HZ3_ATOMIC(uint32_t) not_before;                  /* ms: when the background thread may be tried again */
static HZ3_ATOMIC(uint32_t) everybody_left;              /* a bool: no thread of the program's that called us is left */
static HZ3_ATOMIC(size_t) resume_above = HZ3_PAGES_MUCH; /* waiting bytes from which a thread is worth it */
static pid_t process;                                    /* that this is */

static size_t waiting_bytes(void)
{
    return hz3_pages_waiting() + hz3_owner_stash_waiting() + hz3_transfer_waiting() + hz3_central_waiting() +
           hz3_page_remote_waiting();
}

/* As hz3_pages_pressed, for what waits above the pages too. */
static bool is_pressed(void)
{
    return hz3_pages_above_limit() && waiting_bytes() > hz3_pages_soft_limit / 32 && !hz3_pages_refused();
}

/* What has been idle for `age` ms goes home, in every `slices`th class from `slice` on and as much of the rest; returns
 * the bytes given back. */
static size_t pass(uint32_t age, unsigned slice, unsigned slices, bool break_huge_pages)
{
    hz3_cache_clear_handoffs(slice, slices, age == 0);
    for (unsigned cls = 1 + slice; cls <= HZ3_CLASSES; cls += slices) {
        hz3_page_remote_collect_all(cls);
        hz3_owner_stash_trim(cls, age == 0);
        hz3_transfer_trim(cls, age == 0);
        hz3_central_trim(cls, age == 0);
    }
    hz3_transfer_recount();
    for (unsigned i = slice; i < hz3_heap_count; i += slices) hz3_central_release_heap(&hz3_heaps[i]);
    size_t purged = hz3_large_cache_trim(age, break_huge_pages);
    for (unsigned cls = 1 + slice; cls <= HZ3_CLASSES; cls += slices) {
        purged += hz3_central_purge(cls, age, break_huge_pages);
        if (break_huge_pages) hz3_pages_stay_broken(); /* not at the end: what is broken until then is made whole */
    }
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY), most = hz3_max(dirty / slices, SLICE_MIN);
    purged += hz3_pages_purge(age, slices == 1 ? 0 : dirty - hz3_min(dirty, most), break_huge_pages);
    if (break_huge_pages) hz3_pages_stay_broken();
    if (HZ3_BOXES_ON) hz3_cache_bury_counters(); /* a thread that has not joined is on no list */
    return purged;
}

size_t hz3_reclaim_run(bool force)
{
    bool all = force || is_pressed();
    return pass(all ? 0 : decay, 0, 1, all);
}

/* Under the lock.  What a thread does between two slow calls seldom takes longer. */
static void look_after_sleepers(void)
{
    static uint32_t last;
    uint32_t now = (uint32_t)hz3_os_now_ms();
    if (!hz3_ms_passed(last, SLEEP_MS, now)) return;
    last = now;
    hz3_cache_lend();
}

/* Slices in succession that gave nothing to speak of back; under the lock.  After a decay in vain a turn breaks huge
 * pages. */
static uint32_t vain;

static void pass_slice(uint32_t slice)
{
    bool break_huge_pages = vain >= PASSES_PER_DECAY * SLICES && waiting_bytes() >= SLICE_MIN;
    size_t bytes = pass(decay, slice % SLICES, SLICES, break_huge_pages);
    bool worth = bytes > waiting_bytes() / WORTH / SLICES && !break_huge_pages;
    vain = worth || vain + 1 == (PASSES_PER_DECAY + 1) * SLICES ? 0 : vain + 1;
}

/* A program's thread has other things to do: it takes the slices whose time has come, mostly one; or, above the soft
 * limit, all at once. */
uint32_t hz3_reclaim_tick(void)
{
    uint32_t now = (uint32_t)hz3_os_now_ms(), since = hz3_get(due), slice_ms = hz3_max(interval / SLICES, 1u);
    bool pressed = is_pressed();
    if ((pressed || hz3_ms_passed(since, 0, now)) && hz3_trylock(&hz3_reclaim_lock)) {
        uint32_t first = hz3_get(turn), slices = hz3_ms_passed(since, 0, now) ? (now - since) / slice_ms + 1 : 0;
        slices = hz3_min(slices, (uint32_t)SLICES);
        if (slices) hz3_set(due, now + slice_ms);
        hz3_set(turn, first + slices);
        look_after_sleepers();
        if (pressed) hz3_reclaim_run(true);
        for (uint32_t i = 0; i < slices && !pressed && !hz3_get(running); i++) pass_slice(first + i);
        hz3_unlock(&hz3_reclaim_lock);
    }
    hz3_reclaim_nudge();
    return hz3_get(turn) / SLICES;
}

void hz3_reclaim_make_up(size_t grown)
{
    static uint32_t trims, purges; /* so far: each class in turn */
    size_t freed = hz3_gauge(HZ3_GAUGE_IDLE) + hz3_transfer_waiting();
    if (freed < HZ3_PAGES_MUCH || freed < hz3_pages_resident() / MAKE_UP_SHARE || hz3_pages_refused()) return;
    if (hz3_os.huge_page || hz3_os.huge_page_asked || !hz3_trylock(&hz3_reclaim_lock)) return;
    uint32_t age = hz3_max(decay / MAKE_UP_AGE, (uint32_t)PASS_MIN_MS);
    size_t trimmed = 0, left = grown;
    for (unsigned i = 0; trimmed < grown && i < HZ3_CLASSES; i++)
        trimmed += hz3_transfer_trim(trims++ % HZ3_CLASSES + 1, false);
    for (unsigned i = 0; left && i < HZ3_CLASSES; i++)
        hz3_central_purge_some(purges++ % HZ3_CLASSES + 1, age, &left, false);
    hz3_transfer_recount();
    hz3_unlock(&hz3_reclaim_lock);
}

/* One pass of the background thread.  After a decay in vain, huge pages are broken: nobody seems to want them any more.
 */
static int pass_in_background(bool all, int futile)
{
    hz3_lock(&hz3_reclaim_lock);
    all |= is_pressed();
    look_after_sleepers();
    size_t bytes = pass(all ? 0 : decay, 0, 1, all || futile > PASSES_PER_DECAY);
    vain = 0;
    hz3_unlock(&hz3_reclaim_lock);
    return bytes > waiting_bytes() / WORTH ? 0 : futile + 1;
}

static sigset_t program_signals; /* of the thread that started the background thread */

static void *background(void *unused)
{
    sigset_t signals = program_signals;
    do {
        hz3_set(hz3_pages_attended, true);
        int futile = 0;
        bool refused = false, alone = false;
        while (!alone && waiting_bytes() > DONE_BYTES && !(refused && futile >= FUTILE_MAX) && !hz3_get(forbidden)) {
            hz3_os_wait(&everybody_left, 0, interval);
            alone = hz3_get(everybody_left);
            futile = pass_in_background(alone, futile);
            refused = hz3_pages_refused();
        }
        /* What cannot be given back (locked memory, say) does not count again. */
        hz3_set(resume_above, HZ3_PAGES_MUCH + (refused || alone ? waiting_bytes() : 0));
        hz3_set(hz3_pages_attended, false);
        hz3_set(running, false);
        hz3_fence(memory_order_seq_cst); /* before the look below, as hz3_reclaim_nudge looks after it counted */
    } while (waiting_bytes() >= hz3_get(resume_above) && hz3_get(allowed) &&
             !hz3_exchange(running, true, memory_order_seq_cst));
    /* In a sandbox even the end of a thread may be forbidden. */
    while (hz3_get(forbidden) && !hz3_get(everybody_left)) hz3_os_wait(&everybody_left, 0, 0);
    /* The process may end with this thread: what then runs is the program's. */
    if (hz3_get(everybody_left)) pthread_sigmask(SIG_SETMASK, &signals, NULL);
    return unused;
}

static HZ3_COLD void start_background(uint32_t now)
{
    /* A child of vfork, or one that libc did not make: the thread would be another process's. */
    if (getpid() != process) return;
    if (hz3_exchange(running, true, memory_order_seq_cst)) return;
    int saved = errno;
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* the program's signals are none of its business */
    program_signals = before;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    size_t usual = 0;
    pthread_attr_getstacksize(&attributes, &usual);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = pthread_create(&thread, &attributes, background, NULL);
    if (error == EINVAL && pthread_attr_setstacksize(&attributes, usual) == 0) /* too small for the static TLS */
        error = pthread_create(&thread, &attributes, background, NULL);
    if (error) {
        hz3_set(not_before, now + RETRY_MS);
        if (error != EAGAIN) hz3_set(allowed, false);
        hz3_set(running, false);
    }
    pthread_attr_destroy(&attributes);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}

void hz3_reclaim_nobody_left(bool nobody)
{
    hz3_set(everybody_left, nobody);
    if (nobody) hz3_os_wake(&everybody_left);
}

void hz3_reclaim_nudge(void)
{
    /* glibc frees what threads leave behind under the lock that creating a thread takes. */
    if (hz3_thread.by_loader) return;
    if (likely(waiting_bytes() < hz3_get(resume_above)) || !hz3_get(allowed)) return;
    hz3_fence(memory_order_seq_cst);
    uint32_t now = (uint32_t)hz3_os_now_ms();
    if (!hz3_get(running) && hz3_ms_passed(hz3_get(not_before), 0, now)) start_background(now);
}

void hz3_reclaim_start(uint32_t decay_ms, bool with_background)
{
    decay = decay_ms;
    interval = hz3_min(hz3_max(decay_ms / PASSES_PER_DECAY, (uint32_t)PASS_MIN_MS), (uint32_t)PASS_MAX_MS);
    hz3_set(wanted, with_background);
    process = getpid();
    uint32_t now = (uint32_t)hz3_os_now_ms();
    hz3_set(due, now + interval);
    hz3_set(not_before, now);
}

void hz3_reclaim_allow_background(void)
{
    hz3_set(allowed, hz3_get(wanted));
}

void hz3_reclaim_forbid_background(void)
{
    hz3_set(allowed, false);
    hz3_set(wanted, false);
    hz3_set(forbidden, true);
    hz3_set(hz3_pages_attended, false); /* it stops working */
    hz3_pages_heed_limits();
}

void hz3_reclaim_after_fork(void)
{
    process = getpid();
    hz3_set(hz3_pages_attended, false);
    hz3_set(running, false);
}
