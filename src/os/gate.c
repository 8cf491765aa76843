#include "os/gate.h"

#include "os/os.h"

enum {
    SLOTS = 1024, /* threads beyond share the first */
    SHARED = 0,
    WAIT_MS = 1, /* the first wait at a closed gate: as long as most forks take.  Each next is twice as long */
    WAIT_MAX_MS = 64,
    CALLS_PER_WAIT = 16, /* only one call in so many waits: the fork is soon over */
    AT_LAST_MS = 200,
    SPINS = 1000,
    PATIENCE_MS = 60 * 1000, /* a thread that is inside for so long has ended there */
};

/* Threads inside, by slot: 0 or 1, but in the shared slot.  Only the thread that claimed a slot writes it. */
static struct {
    HZ3_ATOMIC(uint32_t) inside;
    HZ3_ATOMIC(uint32_t) claimed; /* `generation`: it is; else no thread of this process has it */
} HZ3_CACHE_ALIGNED slots[SLOTS];
static uint32_t generation = 1;       /* of processes: a fork raises it in the child, and so frees all slots */
static HZ3_ATOMIC(bool) ended_inside; /* a thread did: its locks are still taken */
static HZ3_ATOMIC(uint32_t) highest;  /* slot ever claimed */
static HZ3_ATOMIC(uint32_t) hint;     /* slots below it are taken, except after two threads wrote it at once */
HZ3_ATOMIC(uint32_t) hz3_gate_closed;

static _Thread_local struct {
    uint32_t slot, depth;
    uint32_t entered;     /* the slot in which it is counted; it may have given the slot up since */
    uint32_t turned_away; /* how often, since it was inside last */
    bool counted;         /* it is: set after and cleared before the count, so that a child never counts too many */
    uint32_t closes;      /* how often this thread closed it */
} mine;

static void count_in(void)
{
    mine.entered = mine.slot;
    if (mine.slot == SHARED)
        hz3_add(slots[SHARED].inside, 1);
    else
        hz3_set(slots[mine.slot].inside, 1);
    mine.counted = true;
    /* This thread counts itself, then reads `closed`; hz3_gate_close writes `closed`, then reads the counts.  So at
     * least one of the two sees the other. */
    hz3_fence(memory_order_seq_cst);
}

static void count_out(void)
{
    mine.counted = false;
    /* Release: a thread that sees this one outside sees what it did inside. */
    if (mine.entered == SHARED) {
        hz3_fence(memory_order_release);
        hz3_sub(slots[SHARED].inside, 1);
    } else {
        hz3_store(slots[mine.entered].inside, 0, memory_order_release);
    }
}

static bool go_in(void)
{
    count_in();
    if (likely(hz3_load(hz3_gate_closed, memory_order_acquire) == mine.closes)) return true;
    count_out();
    return false;
}

static void wait(uint32_t ms)
{
    uint32_t by = hz3_get(hz3_gate_closed);
    if (by != mine.closes) hz3_os_wait(&hz3_gate_closed, by, ms);
}

static HZ3_NOINLINE bool wait_and_go_in(void)
{
    if (mine.turned_away++ % CALLS_PER_WAIT == 0)
        wait(hz3_min(WAIT_MS << hz3_min(mine.turned_away / CALLS_PER_WAIT, 8u), (uint32_t)WAIT_MAX_MS));
    if (go_in()) return true;
    mine.depth--;
    return false;
}

bool hz3_gate_enter(void)
{
    if (mine.depth++) return true;
    if (unlikely(!go_in()) && !wait_and_go_in()) return false;
    mine.turned_away = 0;
    return true;
}

void hz3_gate_leave(void)
{
    if (mine.depth == 1) count_out(); /* first: a signal handler that forks in between finds its thread inside */
    mine.depth--;
}

/* Returns once the system is not, or no longer, copying the process for a child: meanwhile no mapping changes. */
static void await_copy(void)
{
    uintptr_t at = hz3_os_reserve(hz3_os.page);
    if (at) hz3_os_unmap(at, hz3_os.page);
}

void hz3_gate_enter_at_last(void)
{
    uint64_t since = hz3_os_now_ms();
    while (!hz3_gate_enter() && hz3_os_now_ms() - since < AT_LAST_MS) wait(WAIT_MS);
    if (mine.depth) return;
    await_copy();
    if (hz3_gate_enter()) return;
    mine.depth++;
    count_in();
}

void hz3_gate_enter_patiently(void)
{
    while (!hz3_gate_enter()) wait(WAIT_MAX_MS);
}

bool hz3_gate_turned_away(void)
{
    return mine.turned_away;
}

bool hz3_gate_is_inside(void)
{
    return mine.depth;
}

uint32_t hz3_gate_claim_slot(void)
{
    for (uint32_t slot = hz3_max(hz3_get(hint), SHARED + 1u); slot < SLOTS && mine.slot == SHARED; slot++) {
        hz3_set(hint, slot + 1);
        uint32_t before = hz3_get(slots[slot].claimed);
        if (before == generation ||
            !hz3_cas(slots[slot].claimed, &before, generation, memory_order_acquire, memory_order_relaxed))
            continue;
        before = hz3_get(highest);
        while (before < slot && !hz3_cas(highest, &before, slot, memory_order_seq_cst, memory_order_relaxed)) continue;
        mine.slot = slot;
    }
    return mine.slot;
}

void hz3_gate_clear_slot(uint32_t slot)
{
    if (slot == SHARED) return;
    if (hz3_get(slots[slot].inside)) hz3_set(ended_inside, true);
    hz3_set(slots[slot].inside, 0);
    hz3_store(slots[slot].claimed, 0, memory_order_release);
    if (slot < hz3_get(hint)) hz3_set(hint, slot);
}

void hz3_gate_give_up_slot(void)
{
    uint32_t slot = mine.slot;
    mine.slot = mine.entered = SHARED;
    hz3_gate_clear_slot(slot);
}

void hz3_gate_close(void)
{
    mine.closes++;
    hz3_add(hz3_gate_closed, 1);
    hz3_fence(memory_order_seq_cst);
}

void hz3_gate_open(void)
{
    mine.closes--;
    hz3_fence(memory_order_release); /* a thread that finds the gate open sees what this one did before */
    hz3_sub(hz3_gate_closed, 1);
    hz3_os_wake(&hz3_gate_closed);
}

/* Whether no other thread is in the slot.  In this thread's own slot the count may be wrong: a signal handler may have
 * interrupted its change. */
static bool is_empty(uint32_t slot)
{
    if (slot != SHARED && (slot == mine.slot || slot == mine.entered)) return true;
    int own = mine.counted && slot == mine.entered;
    return (int)hz3_load(slots[slot].inside, memory_order_acquire) <= own;
}

bool hz3_gate_drain(void)
{
    uint64_t since = hz3_os_now_ms();
    bool patient = !mine.depth; /* else other threads may wait for a lock that this one holds */
    /* A thread that enters a slot from now on finds the gate closed, so it is enough to see each slot empty once. */
    for (uint32_t slot = 0; slot <= hz3_load(highest, memory_order_acquire); slot++)
        for (int i = 0; !is_empty(slot); i++) {
            if (i < SPINS) {
                hz3_pause();
            } else {
                if (!patient || hz3_os_now_ms() - since > PATIENCE_MS) return false;
                hz3_os_sleep(1);
            }
        }
    return patient;
}

/* Writes only what is wrong: each page that a child writes is copied. */
bool hz3_gate_after_fork(void)
{
    bool alone = !hz3_get(ended_inside);
    for (uint32_t slot = 0; slot <= hz3_get(highest); slot++) {
        uint32_t inside = mine.counted && slot == mine.entered;
        alone &= is_empty(slot);
        if (slot != SHARED && slot == mine.slot) continue;
        if (hz3_get(slots[slot].inside) != inside) hz3_set(slots[slot].inside, inside);
    }
    if (!++generation) generation = 1; /* 0 is no generation */
    if (mine.slot != SHARED) hz3_set(slots[mine.slot].claimed, generation);
    hz3_set(hint, 0);
    hz3_set(ended_inside, false);
    hz3_set(hz3_gate_closed, mine.closes);
    return alone;
}
