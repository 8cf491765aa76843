#define _GNU_SOURCE
#include "reclaim/background.h"

#include "back/limits.h"
#include "back/purge.h"
#include "front/registry.h"
#include "front/sleepers.h"
#include "front/threads.h"
#include "os/gate.h"
#include "os/libc.h"
#include "os/sandbox.h"
#include "os/worker.h"
#include "reclaim/at_once.h"
#include "reclaim/pass.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum {
    NO_PROGRESS_MAX =
        4 * HZ3_PASSES_PER_DECAY, /* the thread ends after so many passes in vain, if the system refuses */
    STACK_BYTES = 1024 * 1024,    /* the process's exit handlers run on it if it is the last thread */
};

enum {
    OFF,       /* it is not allowed yet, not wanted, or cannot be created */
    IDLE,      /* it is to be started when there is work */
    RUNNING,   /* it is being started, or at work */
    FORBIDDEN, /* it must not be started any more; if it is there it sleeps for ever */
};
static HZ3_ATOMIC(uint32_t) state;
static HZ3_ATOMIC(bool) allowed;         /* by the option */
static HZ3_ATOMIC(uint32_t) not_before;  /* ms: when the thread may be tried again; 0: now */
static HZ3_ATOMIC(size_t) unreclaimable; /* of the bytes that waited when the thread ended: what could not go back */
static HZ3_ATOMIC(uint32_t) made;        /* a bool: the maker is done with the thread, which may end */
static sigset_t program_signals;         /* of the thread that started it */

static size_t waiting(void)
{
    return hz3_reclaim_waiting() + hz3_cache_held();
}

/* What could not go back, but is used again meanwhile, may go back when it is free once more. */
static bool is_worth_it(void)
{
    size_t waits = waiting();
    if (unlikely(waits < hz3_get(unreclaimable))) hz3_set(unreclaimable, waits);
    return waits >= hz3_pages_much() + hz3_get(unreclaimable);
}

/* Changes the state to `to` if it was `from`. */
static bool change(uint32_t from, uint32_t to)
{
    return hz3_cas(state, &from, to, memory_order_seq_cst, memory_order_seq_cst);
}

/* Returns how many passes in succession were in vain.  After a decay time of those it breaks huge pages, which seem to
 * be unused. */
static int make_pass(bool all, int no_progress)
{
    hz3_gate_enter_patiently();
    hz3_lock(&hz3_reclaim_lock);
    size_t bytes = hz3_reclaim_whole(all, no_progress > HZ3_PASSES_PER_DECAY);
    hz3_unlock(&hz3_reclaim_lock);
    bool cut = !hz3_gate_is_open(); /* by a fork */
    hz3_gate_leave();
    if (!hz3_reclaim_made_no_progress(bytes, 1)) return 0;
    return no_progress + !cut;
}

/* It stays as long as threads hold much, since none of them tells when it goes to sleep. */
static bool there_is_work(void)
{
    return hz3_reclaim_waiting() > HZ3_POLICY_LITTLE || hz3_cache_held() >= hz3_pages_much();
}

static void work(void)
{
    int no_progress = 0;
    bool refused = false, alone = false;
    hz3_set(hz3_pages_purger_runs, true);
    while (!alone && hz3_get(allowed) && there_is_work() && !(refused && no_progress >= NO_PROGRESS_MAX) &&
           hz3_get(state) != FORBIDDEN) {
        hz3_os_wait(&hz3_threads_none, 0, hz3_get(hz3_reclaim_interval));
        alone = hz3_get(hz3_threads_none);
        no_progress = make_pass(alone, hz3_reclaim_waiting() > HZ3_POLICY_LITTLE ? no_progress : 0);
        refused = hz3_pages_refused();
    }
    /* Memory that cannot be given back (it is locked, say) is no reason to start again. */
    hz3_set(unreclaimable, refused || alone ? waiting() : 0);
    hz3_set(hz3_pages_purger_runs, false);
}

static void *background(void *unused)
{
    sigset_t signals = program_signals;
    hz3_sandbox_join(true);
    hz3_os_become_worker();
    do {
        work();
        change(RUNNING, hz3_get(allowed) ? IDLE : OFF);
        /* This thread changes the state, then reads what waits; others add to what waits, then read the state
         * (hz3_reclaim_wake_purger).  So at least one of the two sees the other. */
        hz3_fence(memory_order_seq_cst);
        if (hz3_get(allowed)) change(OFF, IDLE); /* allowed again meanwhile */
    } while (is_worth_it() && change(IDLE, RUNNING));
    /* In a sandbox even the end of a thread may be forbidden. */
    while (hz3_get(state) == FORBIDDEN && !hz3_get(hz3_threads_none)) hz3_os_wait(&hz3_threads_none, 0, 0);
    /* If the process ends with this thread, the program's exit handlers run here, with the program's signals. */
    if (hz3_get(hz3_threads_none)) pthread_sigmask(SIG_SETMASK, &signals, NULL);
    while (!hz3_load(made, memory_order_acquire)) hz3_os_wait(&made, 0, 0);
    return unused;
}

static int create(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    size_t usual = 0;
    hz3_set(made, 0);
    pthread_attr_init(&attributes);
    pthread_attr_getstacksize(&attributes, &usual);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    int error = hz3_os_make_worker(&thread, &attributes, background, NULL);
    if (error == EINVAL && pthread_attr_setstacksize(&attributes, usual) == 0) /* too small for the static TLS */
        error = hz3_os_make_worker(&thread, &attributes, background, NULL);
    pthread_attr_destroy(&attributes);
    if (!error) hz3_os_made_worker(thread); /* had it ended, libc would give the caller those processors */
    hz3_store(made, 1, memory_order_release);
    hz3_os_wake(&made);
    if (!error) pthread_detach(thread);
    return error;
}

static HZ3_COLD void start(uint32_t now)
{
    if (!hz3_get(allowed) || hz3_sandboxed()) return;
    /* In a child of vfork, or of a fork without libc, the thread would belong to another process.  Its parent, whose
     * memory this may be, may make no further call. */
    if (getpid() != hz3_os.pid) {
        hz3_reclaim_at_once(now);
        return;
    }
    /* A fork that is under way may hold a lock that pthread_create takes (musl's does), and wait for one that this
     * thread's caller holds.  One that begins from now on waits until this thread has left the gate. */
    if (!hz3_gate_is_open() || !change(IDLE, RUNNING)) return;
    int saved = errno;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* so that the new thread handles none */
    program_signals = before;
    int error = create();
    if (error) {
        hz3_set(not_before, hz3_max(now + HZ3_POLICY_LATER_MS, 1u));
        change(RUNNING, error == EAGAIN ? IDLE : OFF);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = saved;
}

void hz3_reclaim_wake_purger(uint32_t now)
{
    /* Whether the program has one thread.  Where libc does not say, as far as hz3 knows. */
    bool several = hz3_get(hz3_heap_highest) || hz3_get(hz3_threads_several);
    bool alone = hz3_libc_counts_threads() ? hz3_libc_single_threaded() : !several;
    /* Free memory may wait where the background thread looks after it, or, alone, the thread itself. */
    if (hz3_get(state) == IDLE && hz3_get(hz3_pages_purger_runs) != alone) hz3_set(hz3_pages_purger_runs, alone);
    if (alone) {
        hz3_reclaim_at_once(now);
        return;
    }
    /* glibc frees what threads leave behind while it holds a lock that pthread_create takes. */
    if (hz3_thread.by_loader || likely(!is_worth_it())) return;
    hz3_fence(memory_order_seq_cst);
    if (hz3_get(state) != IDLE) return;
    if (hz3_ms_passed(hz3_get(not_before), 0, now)) start(now);
}

bool hz3_reclaim_in_background(void)
{
    return hz3_get(state) == RUNNING;
}

void hz3_reclaim_allow_background(bool allow)
{
    hz3_set(allowed, allow);
    if (allow)
        change(OFF, IDLE);
    else if (change(IDLE, OFF))
        hz3_set(hz3_pages_purger_runs, false);
    else if (hz3_get(state) == RUNNING)
        hz3_os_wake(&hz3_threads_none); /* where the decay time is long it waits for long */
}

void hz3_reclaim_forbid_background(void)
{
    hz3_set(state, FORBIDDEN);
    hz3_set(hz3_pages_purger_runs, false); /* the thread, if it is there, stops working */
    hz3_gate_enter_at_last();
    hz3_pages_enforce_limits();
    hz3_gate_leave();
}

void hz3_reclaim_after_fork(void)
{
    if (hz3_get(hz3_pages_purger_runs)) hz3_set(hz3_pages_purger_runs, false);
    if (hz3_get(state) == RUNNING) change(RUNNING, IDLE);
    if (hz3_get(unreclaimable)) hz3_set(unreclaimable, 0); /* it may have been locked, which a child's is not */
}
