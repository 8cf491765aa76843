#define _GNU_SOURCE
#include "watch/guard.h"

#include "base/check.h"
#include "base/print.h"
#include "os/gate.h"
#include "os/lock.h"
#include "os/mappings.h"
#include "os/backtrace.h"
#include "watch/sample.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/auxv.h>
#include <ucontext.h>
#include <unistd.h>

enum { SLOTS = 256, FRAMES = 24, FILL = 0xa5, REPORT = 8192 };

struct trace {
    bool happened;
    int thread; /* 0: not known */
    unsigned depth;
    void *frames[FRAMES];
};

/* Slot i has page 2 i + 1 of the region; the even pages are inaccessible. */
static struct slot {
    uintptr_t start;
    size_t size;
    HZ3_ATOMIC(bool) live;
    uint32_t next; /* in the list `freed`, or in the queue of slots to use again */
    struct trace allocated, freed;
} *slots; /* 0 is none */

uintptr_t hz3_guard_base;
size_t hz3_guard_bytes;

struct hz3_lock hz3_guard_lock;         /* taken inside the gate */
static uint32_t used, oldest, youngest; /* under it: how many slots were ever used; a queue of slots to use again */
static HZ3_ATOMIC(uint32_t) freed;      /* a list that is only emptied whole */
static struct sigaction handler_before;

static uintptr_t page_of(uint32_t slot)
{
    return hz3_guard_base + (2 * (uintptr_t)slot + 1) * hz3_os.page;
}

static HZ3_NOINLINE void remember(struct trace *trace)
{
    int saved = errno;
    hz3_sample_pause();
    struct hz3_calls stack;
    hz3_os_stack(&stack, NULL);
    trace->depth = hz3_min(stack.depth, (unsigned)FRAMES);
    memcpy(trace->frames, stack.frames, sizeof trace->frames);
    trace->thread = hz3_os_thread();
    trace->happened = true;
    hz3_sample_go_on();
    errno = saved;
}

/* ---- slots ---- */

/* The slot that was freed first is used first, and none while there are fresh ones. */
static void queue_freed(void)
{
    uint32_t newest = hz3_exchange(freed, 0, memory_order_acquire), first = 0, last = newest;
    for (uint32_t i = newest, next; i; i = next) { /* turns the list round */
        next = slots[i].next;
        slots[i].next = first;
        first = i;
    }
    if (!newest) return;
    if (oldest)
        slots[youngest].next = first;
    else
        oldest = first;
    youngest = last;
}

static uint32_t take_slot(void)
{
    queue_freed();
    if (used < SLOTS - 1) return ++used;
    uint32_t slot = oldest;
    if (slot) oldest = slots[slot].next;
    return slot;
}

static uint32_t take_slot_inside(void)
{
    uint32_t slot = 0;
    if (!hz3_gate_enter()) return 0;
    if (hz3_trylock(&hz3_guard_lock)) {
        slot = take_slot();
        hz3_unlock(&hz3_guard_lock);
    }
    hz3_gate_leave();
    return slot;
}

static void put_slot(uint32_t i)
{
    hz3_push(freed, i, slots[i].next);
}

void *hz3_guard_alloc(size_t size, size_t alignment)
{
    size_t least = alignment > HZ3_UNIT ? alignment : HZ3_UNIT;
    if (size > hz3_os.page || least > hz3_os.page || !hz3_guard_bytes) return NULL;
    uint32_t i = take_slot_inside();
    if (!i) return NULL;
    if (!hz3_os_writable(page_of(i), hz3_os.page)) {
        put_slot(i);
        return NULL;
    }
    struct slot *slot = &slots[i];
    uintptr_t page = page_of(i);
    memset((void *)page, FILL, hz3_os.page);
    slot->start = page + ((hz3_os.page - size) & ~(uintptr_t)(least - 1));
    slot->size = size;
    slot->freed.happened = false;
    remember(&slot->allocated);
    hz3_set(slot->live, true);
    return (void *)slot->start;
}

/* ---- the message ---- */

static void print_trace(struct hz3_text *text, const char *what, const struct trace *trace)
{
    char module[128], own[128] = "", program[128] = "";
    size_t offset;
    if (!trace->happened) return;
    hz3_os_module_of((const void *)hz3_guard_start, own, sizeof own, &offset);
    hz3_os_module_of((const void *)getauxval(AT_ENTRY), program, sizeof program, &offset);
    bool ours = strcmp(own, program) != 0; /* else hz3 is linked in, and its own frames are shown too */
    hz3_print(text, "hz3:   %s by thread %d from", what, trace->thread);
    for (unsigned i = 0; i < trace->depth; i++) {
        if (!hz3_os_module_of((const char *)trace->frames[i] - 1, module, sizeof module, &offset)) continue;
        ours &= !strcmp(module, own);
        if (!ours) hz3_print(text, " %s+0x%zx", module, offset + 1);
    }
    hz3_print(text, "\n");
}

static HZ3_NORETURN void end(const char *what, const void *p, const struct slot *slot, const struct trace *now)
{
    static char report[REPORT];
    struct hz3_text text = {report, sizeof report, 0};
    uintptr_t at = (uintptr_t)p, behind = slot->start + slot->size;
    hz3_print(&text, "hz3: %s: 0x%zx", what, (size_t)at);
    if (at < slot->start)
        hz3_print(&text, ", %zu bytes before", slot->start - at);
    else if (at >= behind)
        hz3_print(&text, ", %zu bytes behind the end of", at - behind + 1);
    else
        hz3_print(&text, ", at byte %zu of", at - slot->start);
    hz3_print(&text, " a block of %zu bytes at 0x%zx\n", slot->size, slot->start);
    print_trace(&text, "used", now);
    print_trace(&text, "allocated", &slot->allocated);
    print_trace(&text, "freed", &slot->freed);
    hz3_end_saying(report, hz3_min(text.length, sizeof report - 1));
}

static HZ3_NORETURN HZ3_NOINLINE void end_here(const char *what, const void *p, const struct slot *slot)
{
    struct trace now;
    remember(&now);
    end(what, p, slot, &now);
}

/* The slot whose block p is in or nearest to. */
static struct slot *slot_near(const void *p)
{
    size_t page = ((uintptr_t)p - hz3_guard_base) / hz3_os.page;
    if (page % 2) return &slots[page / 2];
    /* p is between two blocks: in the first half of the page the left one is nearer, in the second half the right. */
    const struct slot *left = page ? &slots[page / 2 - 1] : NULL;
    bool far = (uintptr_t)p % hz3_os.page >= hz3_os.page / 2;
    if (left && left->start && !far) return &slots[page / 2 - 1];
    return &slots[hz3_min(page / 2, (size_t)SLOTS - 1)];
}

/* The instruction that faulted; NULL: not known of this machine. */
static const void *fault_code(void *context)
{
#if defined(__x86_64__)
    return (const void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (const void *)((ucontext_t *)context)->uc_mcontext.pc;
#else
    (void)context;
    return NULL;
#endif
}

static HZ3_NORETURN void end_at_fault(const void *p, void *context)
{
    struct slot *slot = slot_near(p);
    struct trace now;
    unsigned ours = 0;
    remember(&now);
    while (ours < now.depth && now.frames[ours] != fault_code(context)) ours++;
    if (ours < now.depth) memmove(now.frames, now.frames + ours, (now.depth -= ours) * sizeof *now.frames);
    end(hz3_get(slot->live) ? "access out of bounds" : "use after free", p, slot, &now);
}

static void handle_fault(int signal, siginfo_t *info, void *context)
{
    bool sent = info->si_code <= 0; /* the signal was sent by kill or the like, and has no address */
    if (!sent && hz3_guard_has(info->si_addr)) end_at_fault(info->si_addr, context);
    if (handler_before.sa_flags & SA_SIGINFO) {
        handler_before.sa_sigaction(signal, info, context);
    } else if (handler_before.sa_handler != SIG_DFL && handler_before.sa_handler != SIG_IGN) {
        handler_before.sa_handler(signal);
    } else {
        sigaction(SIGSEGV, &handler_before, NULL); /* the instruction will fault again, and end the process */
        if (sent) (void)raise(SIGSEGV);
    }
}

/* ---- pointers that come in ---- */

static struct slot *live_slot(const void *p, const char *call)
{
    struct slot *slot = slot_near(p);
    char what[64];
    struct hz3_text text = {what, sizeof what, 0};
    if (slot->start == (uintptr_t)p && hz3_get(slot->live)) return slot;
    if (slot->start == (uintptr_t)p)
        hz3_print(&text, strcmp(call, "free") ? "%s of a freed pointer" : "double free", call);
    else
        hz3_print(&text, strcmp(call, "free") ? "%s of an interior pointer" : "interior pointer freed", call);
    end_here(what, p, slot);
}

/* Ends the process if the rest of the page was written. */
static void check_rest(const struct slot *slot)
{
    const unsigned char *page = (const unsigned char *)page_of((uint32_t)(slot - slots));
    for (size_t i = 0, before = slot->start - (uintptr_t)page; i < hz3_os.page; i++)
        if ((i < before || i >= before + slot->size) && page[i] != FILL)
            end_here("written out of bounds, found by free", page + i, slot);
}

void hz3_guard_free(void *p, const char *call)
{
    struct slot *slot = live_slot(p, call);
    check_rest(slot);
    if (!hz3_exchange(slot->live, false, memory_order_relaxed)) live_slot(p, call);
    remember(&slot->freed);
    uint32_t i = (uint32_t)(slot - slots);
    if (hz3_os_inaccessible(page_of(i), hz3_os.page)) put_slot(i);
}

size_t hz3_guard_size(const void *p, const char *call)
{
    return live_slot(p, call)->size;
}

bool hz3_guard_start(void)
{
    size_t region = (2 * SLOTS + 1) * hz3_os.page, table = hz3_round_up(SLOTS * sizeof *slots, hz3_os.page);
    uintptr_t at = hz3_os_reserve(region + table);
    if (!at || hz3_os_map_reserved(at, table) != HZ3_MAPPED) return false;
    struct sigaction ours = {.sa_sigaction = handle_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    slots = (struct slot *)at;
    hz3_os_stack_start();
    hz3_guard_base = at + table;
    hz3_guard_bytes = region;
    return sigaction(SIGSEGV, &ours, &handler_before) == 0;
}
