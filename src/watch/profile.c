#define _GNU_SOURCE
#include "watch/profile.h"

#include "back/large.h"
#include "base/layout.h"
#include "base/print.h"
#include "os/gate.h"
#include "os/lock.h"
#include "os/sandbox.h"
#include "watch/sample.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Probes for OpenTelemetry's memory profiling, which listens from outside: alloc(pointer, bytes, bytes it stands for)
 * and free(pointer), for samples only.  A probe that nobody listens to is one nop. */
#if __has_include(<sys/sdt.h>)
#include <sys/sdt.h>
#define TELL_ALLOC(p, bytes) DTRACE_PROBE3(otel_memory, alloc, p, bytes, stands_for(bytes))
#define TELL_FREE(p)         DTRACE_PROBE1(otel_memory, free, p)
#else
#define TELL_ALLOC(p, bytes) ((void)(p), (void)(bytes), (void)stands_for)
#define TELL_FREE(p)         ((void)(p))
#endif

enum {
    TRIES = 10000, /* to get the lock */
    OTHERS = 1,    /* the index of all threads for which there was no room; 0 is none */
};

static struct hz3_profile_tables *tables;

HZ3_ATOMIC(size_t) hz3_profile_wanted;
HZ3_TOGETHER struct hz3_lock hz3_profile_setting;
HZ3_ATOMIC(size_t) hz3_profile_rate;

/* The lock is taken inside the gate.  All but `freed` and the threads is under it. */
struct hz3_lock hz3_profile_lock;
static uint32_t used_samples = 1, free_samples, used_stacks, used_cells;
static HZ3_ATOMIC(uint64_t) lost;  /* samples for which there was no room, or the lock was not to be had */
static HZ3_ATOMIC(uint32_t) freed; /* freed samples that are not counted yet, in a list that is only emptied whole */
static HZ3_ATOMIC(uint32_t) thread_count;
static _Thread_local uint16_t thread_index;

static bool make_tables(void)
{
    uintptr_t at = hz3_os_map(sizeof *tables);
    if (!at) return false;
    tables = (struct hz3_profile_tables *)at;
    hz3_os_stack_start();
    return true;
}

static void set(size_t rate, bool may)
{
    hz3_sample_pause();
    if (rate && !tables && !(may && make_tables())) {
        rate = 0;
        hz3_set(hz3_profile_wanted, 0);
    }
    if (rate) hz3_set(hz3_profile_rate, rate);
    hz3_sample_start(HZ3_SAMPLE_PROFILE, rate);
    hz3_sample_go_on();
}

void hz3_profile_set(size_t rate)
{
    int saved = errno;
    if (!hz3_trylock(&hz3_profile_setting)) return; /* another thread is here; or this one is, and allocates */
    /* The unwinder is a file, which a program that has locked itself in may not open, and the loader, if it calls, not
     * yet: then the next call sets what is wanted. */
    bool may = !hz3_sandboxed();
    if (!(rate && !tables && may && hz3_os_loader_is_busy())) set(rate, may);
    hz3_unlock(&hz3_profile_setting);
    errno = saved;
}

static uint16_t this_thread(void)
{
    int saved = errno;
    if (!thread_index) {
        bool full = hz3_get(thread_count) >= HZ3_PROFILE_THREADS; /* else the count would wrap some day */
        uint32_t index = full ? HZ3_PROFILE_THREADS : hz3_add(thread_count, 1) + OTHERS + 1;
        if (index >= HZ3_PROFILE_THREADS) return OTHERS;
        thread_index = (uint16_t)index;
        hz3_set(tables->threads[index].tid, hz3_os_thread());
    }
    /* prctl may be forbidden in a program that has locked itself in. */
    if (!hz3_sandboxed()) prctl(PR_GET_NAME, tables->threads[thread_index].name);
    errno = saved;
    return thread_index;
}

static uint32_t hash_of(const void *words, size_t bytes)
{
    uint64_t hash = 0xcbf29ce484222325u; /* FNV-1a, but by words, and mixed at the end */
    for (const uint32_t *word = words; (const char *)word < (const char *)words + bytes; word++)
        hash = (hash ^ *word) * 0x100000001b3u;
    return (uint32_t)(hash ^ hash >> 29);
}

/* Tables are filled to three quarters, so that a search ends. */
static bool is_crowded(uint32_t used, uint32_t size)
{
    return used >= size / 4 * 3;
}

/* The number of the stack, from 1 on; 0: no room. */
static uint32_t stack_of(void *const *frames, uint32_t depth)
{
    uint32_t hash = hash_of(frames, depth * sizeof *frames), i = hash % HZ3_PROFILE_STACKS;
    for (struct hz3_profile_stack *stack; (stack = &tables->stacks[i])->depth; i = (i + 1) % HZ3_PROFILE_STACKS)
        if (stack->hash == hash && stack->depth == depth && !memcmp(stack->frames, frames, depth * sizeof *frames))
            return i + 1;
    if (is_crowded(used_stacks, HZ3_PROFILE_STACKS)) return 0;
    used_stacks++;
    struct hz3_profile_stack *stack = &tables->stacks[i];
    stack->hash = hash;
    stack->depth = depth;
    memcpy(stack->frames, frames, depth * sizeof *frames);
    return i + 1;
}

static bool count(struct hz3_profile_cell what)
{
    struct hz3_profile_cell *cell;
    uint32_t i = hash_of(&what, sizeof what) % HZ3_PROFILE_CELLS;
    for (; (cell = &tables->cells[i])->count; i = (i + 1) % HZ3_PROFILE_CELLS)
        if (cell->bytes == what.bytes && cell->stack == what.stack && cell->by == what.by && cell->to == what.to &&
            cell->age == what.age)
            return cell->count++, true;
    if (is_crowded(used_cells, HZ3_PROFILE_CELLS)) return false;
    used_cells++;
    *cell = what;
    cell->count = 1;
    return true;
}

static struct hz3_profile_cell cell_of(const struct hz3_profile_sample *sample)
{
    struct hz3_profile_cell cell;
    memset(&cell, 0, sizeof cell); /* the padding is hashed too */
    cell.bytes = sample->bytes;
    cell.stack = sample->stack;
    cell.by = sample->by;
    return cell;
}

static void count_freed(void)
{
    struct hz3_profile_sample *sample;
    for (uint32_t i = hz3_exchange(freed, 0, memory_order_acquire), next; i; i = next) {
        sample = &tables->samples[i];
        next = sample->next;
        struct hz3_profile_cell cell = cell_of(sample);
        cell.to = sample->to;
        uint32_t ms = sample->died - sample->born;
        cell.age = ms ? 32 - (uint8_t)__builtin_clz(ms) : 0;
        if (!count(cell)) hz3_add(lost, 1);
        sample->next = free_samples;
        free_samples = i;
    }
}

static uint32_t new_sample(void)
{
    uint32_t i = free_samples;
    if (i)
        free_samples = tables->samples[i].next;
    else if (used_samples < HZ3_PROFILE_SAMPLES)
        i = used_samples++;
    return i;
}

/* The number of the new sample, or 0: no room. */
static uint32_t add(void *const *frames, unsigned depth, size_t bytes, uint16_t by)
{
    count_freed();
    uint32_t stack = stack_of(frames, depth), i = stack ? new_sample() : 0;
    if (!i) return 0;
    tables->samples[i] =
        (struct hz3_profile_sample){.bytes = bytes, .stack = stack, .born = (uint32_t)hz3_os_now_ms(), .by = by};
    if (count(cell_of(&tables->samples[i]))) return i;
    tables->samples[i].next = free_samples;
    free_samples = i;
    return 0;
}

/* A sample that comes while another thread forks, or writes the table, is lost. */
static uint32_t add_inside(void *const *frames, unsigned depth, size_t bytes, uint16_t by)
{
    uint32_t sample = 0;
    bool mine = false;
    if (!hz3_gate_enter()) return 0;
    for (int i = 0; !mine && i < TRIES && !hz3_lock_is_mine(&hz3_profile_lock); i++, hz3_pause())
        mine = hz3_trylock(&hz3_profile_lock);
    if (mine) {
        sample = add(frames, depth, bytes, by);
        hz3_unlock(&hz3_profile_lock);
    }
    hz3_gate_leave();
    return sample;
}

static uint64_t stands_for(size_t bytes)
{
    return (uint64_t)((double)bytes / hz3_sample_probability(bytes, hz3_get(hz3_profile_rate)));
}

HZ3_NOINLINE void hz3_profile_allocated(void *p, size_t bytes)
{
    struct hz3_calls calls;
    uint16_t by = this_thread();
    struct hz3_calls *before = by == OTHERS ? NULL : &tables->threads[by].calls;
    hz3_sample_pause();
    hz3_os_stack(&calls, before);
    if (before) *before = calls;
    uint32_t sample = calls.depth ? add_inside(calls.frames, calls.depth, bytes, by) : 0;
    if (sample)
        TELL_ALLOC(p, bytes);
    else
        hz3_add(lost, 1);
    hz3_large_set_sample(p, sample);
    hz3_sample_go_on();
}

void hz3_profile_freed(const void *p, uint32_t sample)
{
    if (likely(!sample)) return;
    TELL_FREE(p);
    struct hz3_profile_sample *died = &tables->samples[sample];
    died->died = (uint32_t)hz3_os_now_ms();
    died->to = this_thread();
    hz3_push(freed, sample, died->next);
}

void hz3_profile_resized(const void *before, void *p, uint32_t sample, size_t bytes_before, size_t bytes)
{
    hz3_profile_freed(before, sample);
    size_t rate = hz3_get(hz3_profile_rate);
    /* The new block is a sample as often as if it had had its new size from the first. */
    bool chosen = bytes > bytes_before ? sample || hz3_sample_chooses(bytes - bytes_before)
                                       : sample && hz3_sample_chance(hz3_sample_probability(bytes, rate) /
                                                                     hz3_sample_probability(bytes_before, rate));
    if (chosen) hz3_profile_allocated(p, bytes);
}

bool hz3_profile_look(void (*look)(const struct hz3_profile_tables *tables, void *to), void *to)
{
    if (!tables) return false;
    hz3_gate_enter_at_last();
    hz3_lock(&hz3_profile_lock);
    count_freed();
    if (look) look(tables, to);
    hz3_unlock(&hz3_profile_lock);
    hz3_gate_leave();
    return true;
}

/* ---- the table as text ---- */

typedef void output(const char *text, size_t length);

static void end_line(struct hz3_text *line, output *put)
{
    hz3_print(line, "\n");
    put(line->buf, hz3_min(line->length, line->size - 1));
    line->length = 0;
}

HZ3_RACY static void write_threads(struct hz3_text *line, output *put)
{
    uint32_t end_of_list = hz3_min(hz3_get(thread_count) + OTHERS + 1, (uint32_t)HZ3_PROFILE_THREADS);
    for (uint32_t i = OTHERS + 1; i < end_of_list; i++) {
        hz3_print(line, "thread %u %d ", i, hz3_get(tables->threads[i].tid));
        hz3_print_name(line, tables->threads[i].name, 0);
        end_line(line, put);
    }
}

HZ3_RACY static void write_stacks(struct hz3_text *line, output *put)
{
    for (uint32_t i = 0; i < HZ3_PROFILE_STACKS; i++) {
        const struct hz3_profile_stack *stack = &tables->stacks[i];
        if (!stack->depth) continue;
        hz3_print(line, "stack %u", i + 1);
        for (uint32_t frame = 0; frame < stack->depth; frame++) hz3_print(line, " 0x%zx", (size_t)stack->frames[frame]);
        end_line(line, put);
    }
}

HZ3_RACY static void write_cells(struct hz3_text *line, output *put)
{
    for (uint32_t i = 0; i < HZ3_PROFILE_CELLS; i++) {
        const struct hz3_profile_cell *cell = &tables->cells[i];
        if (!cell->count) continue;
        hz3_print(line, cell->to ? "freed" : "allocated");
        hz3_print(line, " %zu %u %zu %u", (size_t)cell->count, cell->stack, (size_t)cell->bytes, cell->by);
        if (cell->to) hz3_print(line, " %u %u", cell->to, cell->age);
        end_line(line, put);
    }
}

static void write_table(output *put)
{
    char buf[32 * (HZ3_PROFILE_FRAMES + 2)];
    struct hz3_text text = {buf, sizeof buf, 0}, *line = &text;
    hz3_print(line, "hz3 heap profile 1\nrate %zu\npid %d\nlost %zu\nprogram ", hz3_get(hz3_profile_rate), hz3_os.pid,
              (size_t)hz3_get(lost));
    hz3_print_name(line, hz3_os_program(), 0);
    end_line(line, put);
    write_threads(line, put);
    write_stacks(line, put);
    write_cells(line, put);
}

/* A fork and other samples would wait while `put` waits for a reader or a disk.  A signal handler may have interrupted
 * its own thread under the lock. */
void hz3_profile_write(void (*put)(const char *text, size_t length))
{
    if (hz3_lock_is_mine(&hz3_profile_lock) || hz3_profile_look(NULL, NULL)) write_table(put);
}

const struct hz3_place hz3_profile_places[] = {
    HZ3_PLACE("profile.wanted", hz3_profile_wanted),
    HZ3_PLACE("profile", tables),
    HZ3_PLACE("profile.rate", hz3_profile_rate),
    HZ3_PLACE("profile.freed", freed),
    HZ3_PLACE("profile.lost", lost),
    HZ3_NUMBER("profile.stack.size", sizeof(struct hz3_profile_stack)),
    HZ3_NUMBER("profile.cell.size", sizeof(struct hz3_profile_cell)),
    HZ3_NUMBER("profile.sample.size", sizeof(struct hz3_profile_sample)),
    HZ3_NUMBER("profile.thread.size", sizeof(struct hz3_profile_thread)),
    HZ3_FIELD("profile.stacks", struct hz3_profile_tables, stacks),
    HZ3_FIELD("profile.cells", struct hz3_profile_tables, cells),
    HZ3_FIELD("profile.samples", struct hz3_profile_tables, samples),
    HZ3_FIELD("profile.threads", struct hz3_profile_tables, threads),
    HZ3_FIELD("stack.depth", struct hz3_profile_stack, depth),
    HZ3_FIELD("stack.frames", struct hz3_profile_stack, frames),
    HZ3_FIELD("cell.bytes", struct hz3_profile_cell, bytes),
    HZ3_FIELD("cell.count", struct hz3_profile_cell, count),
    HZ3_FIELD("cell.stack", struct hz3_profile_cell, stack),
    HZ3_FIELD("cell.by", struct hz3_profile_cell, by),
    HZ3_FIELD("cell.to", struct hz3_profile_cell, to),
    HZ3_FIELD("cell.age", struct hz3_profile_cell, age),
    HZ3_FIELD("sample.bytes", struct hz3_profile_sample, bytes),
    HZ3_FIELD("sample.stack", struct hz3_profile_sample, stack),
    HZ3_FIELD("sample.born", struct hz3_profile_sample, born),
    HZ3_FIELD("sample.died", struct hz3_profile_sample, died),
    HZ3_FIELD("sample.by", struct hz3_profile_sample, by),
    HZ3_FIELD("sample.to", struct hz3_profile_sample, to),
    HZ3_FIELD("sample.next", struct hz3_profile_sample, next),
    HZ3_FIELD("profile.tid", struct hz3_profile_thread, tid),
    HZ3_FIELD("profile.name", struct hz3_profile_thread, name),
    HZ3_PLACES_END,
};
