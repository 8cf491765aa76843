#include "os/gate.h"

#include "os/os.h"

enum {
    SLOTS = 1024, /* threads beyond share the first */
    SHARED = 0,
    WAIT_MS = 1, /* at a closed gate, the first time: as long as most forks take; then twice as long, */
    WAIT_MAX_MS = 64,
    CALLS_PER_WAIT = 16, /* and only every so many calls: who is in our way is soon out of it */
    AT_LAST_MS = 200,
    SPINS = 1000,
    PATIENCE_MS = 60 * 1000, /* nobody is inside for so long, unless it is gone */
};

/* Threads inside, by slot: 0 or 1, but for the shared one.  A slot is written by the thread that claimed it. */
static struct {
    HZ3_ATOMIC(uint32_t) inside;
    HZ3_ATOMIC(bool) claimed;
} HZ3_CACHE_ALIGNED slots[SLOTS];
static HZ3_ATOMIC(uint32_t) highest; /* slot ever claimed */
static HZ3_ATOMIC(uint32_t) hint;    /* below it no slot is free, but for those that two threads missed at once */
static HZ3_ATOMIC(uint32_t) closed;  /* by so many threads */
static HZ3_ATOMIC(uint32_t) never;   /* to wait on */

static _Thread_local struct {
    uint32_t slot, depth;
    uint32_t entered;     /* the slot in which it is counted, which it may have left since */
    uint32_t turned_away; /* so many times since it was inside */
    bool counted;         /* there: set after and cleared before the count, so that a child never counts it too often */
    bool closes;
} mine;

static void count_in(void)
{
    mine.entered = mine.slot;
    if (mine.slot == SHARED)
        hz3_add(slots[SHARED].inside, 1);
    else
        hz3_set(slots[mine.slot].inside, 1);
    mine.counted = true;
    /* Before the look at `closed`, as hz3_gate_close writes that before it looks here: one sees the other. */
    hz3_fence(memory_order_seq_cst);
}

static void count_out(void)
{
    mine.counted = false;
    /* Release: who sees this thread outside sees what it did inside. */
    if (mine.entered == SHARED) {
        hz3_fence(memory_order_release);
        hz3_sub(slots[SHARED].inside, 1);
    } else {
        hz3_store(slots[mine.entered].inside, 0, memory_order_release);
    }
}

static bool pass(void)
{
    count_in();
    if (likely(hz3_load(closed, memory_order_acquire) == mine.closes)) return true;
    count_out();
    return false;
}

static void wait(uint32_t ms)
{
    uint32_t by = hz3_get(closed);
    if (by != mine.closes) hz3_os_wait(&closed, by, ms);
}

static HZ3_NOINLINE bool wait_and_pass(void)
{
    if (mine.turned_away++ % CALLS_PER_WAIT == 0)
        wait(hz3_min(WAIT_MS << hz3_min(mine.turned_away / CALLS_PER_WAIT, 8u), (uint32_t)WAIT_MAX_MS));
    if (pass()) return true;
    mine.depth--;
    return false;
}

bool hz3_gate_enter(void)
{
    if (mine.depth++) return true;
    if (unlikely(!pass()) && !wait_and_pass()) return false;
    mine.turned_away = 0;
    return true;
}

void hz3_gate_leave(void)
{
    if (mine.depth == 1) count_out(); /* first: a handler that forks in between finds its thread inside */
    mine.depth--;
}

void hz3_gate_enter_at_last(void)
{
    uint64_t since = hz3_os_now_ms();
    while (!hz3_gate_enter() && hz3_os_now_ms() - since < AT_LAST_MS) wait(WAIT_MS);
    if (mine.depth) return;
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

void hz3_gate_claim_slot(void)
{
    for (uint32_t slot = hz3_max(hz3_get(hint), SHARED + 1u); slot < SLOTS && mine.slot == SHARED; slot++) {
        hz3_set(hint, slot + 1);
        if (hz3_get(slots[slot].claimed) || hz3_exchange(slots[slot].claimed, true, memory_order_acquire)) continue;
        uint32_t before = hz3_get(highest);
        while (before < slot && !hz3_cas(highest, &before, slot, memory_order_seq_cst, memory_order_relaxed)) continue;
        mine.slot = slot;
    }
}

void hz3_gate_give_up_slot(void)
{
    uint32_t slot = mine.slot;
    mine.slot = mine.entered = SHARED;
    if (slot == SHARED) return;
    hz3_store(slots[slot].claimed, false, memory_order_release);
    if (slot < hz3_get(hint)) hz3_set(hint, slot);
}

void hz3_gate_close(void)
{
    mine.closes = true;
    hz3_add(closed, 1);
    hz3_fence(memory_order_seq_cst);
}

void hz3_gate_open(void)
{
    mine.closes = false;
    hz3_fence(memory_order_release); /* who finds it open sees what this thread did till now */
    hz3_sub(closed, 1);
    hz3_os_wake(&closed);
}

/* Whether the slot is empty but for this thread.  What a signal handler finds in its own thread's slot it may have cut
 * short. */
static bool is_empty(uint32_t slot)
{
    if (slot != SHARED && (slot == mine.slot || slot == mine.entered)) return true;
    int own = mine.counted && slot == mine.entered;
    return (int)hz3_load(slots[slot].inside, memory_order_acquire) <= own;
}

bool hz3_gate_drain(void)
{
    uint64_t since = hz3_os_now_ms();
    bool patient = !mine.depth; /* else others may wait for a lock of ours */
    /* Whoever comes to a slot from here on finds the gate closed: each has to be seen empty once. */
    for (uint32_t slot = 0; slot <= hz3_load(highest, memory_order_acquire); slot++)
        for (int i = 0; !is_empty(slot); i++) {
            if (i < SPINS) {
                hz3_pause();
            } else {
                if (!patient || hz3_os_now_ms() - since > PATIENCE_MS) return false;
                hz3_os_wait(&never, 0, 1);
            }
        }
    return patient;
}

bool hz3_gate_after_fork(void)
{
    bool alone = true;
    for (uint32_t slot = 0; slot <= hz3_get(highest); slot++) {
        alone &= is_empty(slot);
        if (slot != SHARED && slot == mine.slot) continue;
        hz3_set(slots[slot].inside, mine.counted && slot == mine.entered);
        hz3_set(slots[slot].claimed, false);
    }
    hz3_set(hint, 0);
    hz3_set(closed, mine.closes);
    return alone;
}
