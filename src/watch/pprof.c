/* The heap profile as pprof has it: profile.proto of github.com/google/pprof, whose fields the numbers below are.
 * Samples come first, made under the profile's lock; then, without it, the places in them, for whose names the loader
 * is asked. */
#define _GNU_SOURCE
#include "watch/pprof.h"

#include "os/lock.h"
#include "os/mappings.h"
#include "os/os.h"
#include "watch/layout_head.h"
#include "watch/profile.h"
#include "watch/sample.h"

#include <dlfcn.h>
#include <string.h>
#include <sys/auxv.h>

/* As in look/symbols.py. */
static const char of_allocator[] =
    "hz3_.*|(re|c|m)alloc|reallocarray|free|(posix_)?memalign|aligned_alloc|p?valloc|operator new.*|backtrace"
    "|(__rustc(\\[\\w+\\])?::)?__r(ust|dl|g)_(re)?alloc(_zeroed)?|<hz3::Hz3 as .*";
enum { ADDRESSES = 1 << 19, MAPPINGS = 1 << 12 };
/* The most addresses that stacks have: the table is never full. */
_Static_assert(ADDRESSES > HZ3_PROFILE_STACKS / 4 * 3 * HZ3_PROFILE_FRAMES, "room for every frame");

/* How much a stack allocated, and how much of it lives. */
enum { OBJECTS, BYTES, LIVE_OBJECTS, LIVE_BYTES, VALUES };

/* Address space, emptied after each profile. */
static struct scratch {
    double sums[HZ3_PROFILE_STACKS][VALUES];
    uintptr_t addresses[ADDRESSES], functions[ADDRESSES]; /* those seen so far, by hash */
    struct {
        uintptr_t start, end;
    } mappings[MAPPINGS];
} *scratch;

struct output {
    char *buf;
    size_t size, length;
    uint64_t strings, mappings; /* how many were written */
    const void *own;            /* where the library's first mapping is; NULL where hz3 is a part of the program */
};

static void put(struct output *to, const void *bytes, size_t length)
{
    if (to->length < to->size) memcpy(to->buf + to->length, bytes, hz3_min(length, to->size - to->length));
    to->length += length;
}

static void put_varint(struct output *to, uint64_t value)
{
    for (; value > 127; value >>= 7) put(to, &(char){(char)(value | 128)}, 1);
    put(to, &(char){(char)value}, 1);
}

static void put_number(struct output *to, unsigned field, uint64_t value)
{
    put_varint(to, field << 3);
    put_varint(to, value);
}

static void put_bytes(struct output *to, unsigned field, const void *bytes, size_t length)
{
    put_varint(to, field << 3 | 2);
    put_varint(to, length);
    put(to, bytes, length);
}

/* Returns the string's number. */
static uint64_t put_string(struct output *to, const char *text)
{
    put_bytes(to, 6, text, strlen(text));
    return to->strings++;
}

/* A message within the profile, of so many numbers: fields 1, 2, ... */
static void put_message(struct output *to, unsigned field, const uint64_t *numbers, unsigned count)
{
    char room[64];
    struct output message = {room, sizeof room, 0, 0, 0, NULL};
    for (unsigned i = 0; i < count; i++) put_number(&message, i + 1, numbers[i]);
    put_bytes(to, field, room, message.length);
}

static void put_type(struct output *to, unsigned field, const char *type, const char *unit)
{
    uint64_t first = put_string(to, type);
    put_message(to, field, (uint64_t[]){first, put_string(to, unit)}, 2);
}

/* Whether it was not there yet. */
static bool add(uintptr_t *set, uintptr_t address)
{
    size_t i = (address * 0x9e3779b97f4a7c15u) >> 45;
    while (set[i] && set[i] != address) i = (i + 1) % ADDRESSES;
    bool is_new = !set[i];
    set[i] = address;
    return is_new;
}
_Static_assert(ADDRESSES == 1 << (64 - 45), "the hash is an index");

/* ---- samples ---- */

static void add_up(const struct hz3_profile_tables *tables)
{
    for (uint32_t i = 0; i < HZ3_PROFILE_CELLS; i++) {
        const struct hz3_profile_cell *cell = &tables->cells[i];
        if (!cell->count) continue;
        double *sums = scratch->sums[cell->stack - 1], bytes = (double)cell->bytes;
        double objects = (double)cell->count / hz3_sample_probability(cell->bytes, hz3_get(hz3_profile_rate));
        if (!cell->to) sums[OBJECTS] += objects;
        if (!cell->to) sums[BYTES] += objects * bytes;
        sums[LIVE_OBJECTS] += cell->to ? -objects : objects;
        sums[LIVE_BYTES] += cell->to ? -objects * bytes : objects * bytes;
    }
}

/* The frames are return addresses: the calls are before them. */
static void put_samples(const struct hz3_profile_tables *tables, void *to)
{
    add_up(tables);
    for (uint32_t i = 0; i < HZ3_PROFILE_STACKS; i++) {
        const struct hz3_profile_stack *stack = &tables->stacks[i];
        char room[10 * (HZ3_PROFILE_FRAMES + VALUES + 2) + 2 * HZ3_PROFILE_FRAMES];
        struct output sample = {room, sizeof room, 0, 0, 0, NULL};
        for (uint32_t frame = 0; frame < stack->depth; frame++) {
            uintptr_t call = (uintptr_t)stack->frames[frame] - 1;
            put_number(&sample, 1, call);
            add(scratch->addresses, call);
        }
        for (int value = 0; value < VALUES; value++)
            put_number(&sample, 2, (uint64_t)(hz3_max(scratch->sums[i][value], 0.0) + 0.5));
        if (stack->depth) put_bytes(to, 2, room, sample.length);
    }
}

/* ---- the places in them: an address is the number of its location, and a function's start that of the function ----
 */

/* Of hz3's own library pprof is told that it has names, so that it looks for no others there. */
static bool put_mapping(const struct hz3_mapping *mapping, void *to)
{
    struct output *output = to;
    uintptr_t code = (uintptr_t)put_mapping;
    if (!mapping->executable) return true;
    if (output->mappings == MAPPINGS) return false;
    scratch->mappings[output->mappings].start = mapping->start;
    scratch->mappings[output->mappings].end = mapping->end;
    uint64_t name = put_string(output, *mapping->whole ? mapping->whole : mapping->name);
    bool is_own = output->own && code >= mapping->start && code < mapping->end;
    put_message(output, 3,
                (uint64_t[]){++output->mappings, mapping->start, mapping->end, mapping->offset, name, 0, is_own, is_own,
                             is_own},
                9);
    return true;
}

static const void *own_library(void)
{
    Dl_info own, program;
    bool found = dladdr(hz3_config_text, &own) && dladdr((const void *)getauxval(AT_ENTRY), &program);
    return found && own.dli_fbase != program.dli_fbase ? own.dli_fbase : NULL;
}

/* The number of the mapping, or 0. */
static uint64_t mapping_of(const struct output *output, uintptr_t address)
{
    for (uint64_t i = 0; i < output->mappings; i++)
        if (address >= scratch->mappings[i].start && address < scratch->mappings[i].end) return i + 1;
    return 0;
}

/* What hz3 does itself has no names in the dynamic symbol table. */
static void put_location(struct output *to, uintptr_t address)
{
    char room[96], line[12];
    struct output location = {room, sizeof room, 0, 0, 0, NULL}, of = {line, sizeof line, 0, 0, 0, NULL};
    Dl_info info = {0};
    bool found = dladdr((const void *)address, &info), is_own = found && to->own && info.dli_fbase == to->own;
    bool named = found && (is_own || info.dli_sname);
    uintptr_t function = (uintptr_t)(info.dli_sname ? info.dli_saddr : to->own);
    if (named && add(scratch->functions, function)) {
        uint64_t name = put_string(to, info.dli_sname ? info.dli_sname : "hz3_");
        put_message(to, 5, (uint64_t[]){function, name, name}, 3);
    }
    put_number(&location, 1, address);
    put_number(&location, 2, mapping_of(to, address));
    put_number(&location, 3, address);
    put_number(&of, 1, function);
    if (named) put_bytes(&location, 4, line, of.length);
    put_bytes(to, 4, room, location.length);
}

static void clear(void)
{
    if (!hz3_os_purge((uintptr_t)scratch, sizeof *scratch, 0)) memset(scratch, 0, sizeof *scratch);
}

static bool have_scratch(void)
{
    if (!scratch) scratch = (struct scratch *)hz3_os_map(sizeof *scratch);
    return scratch;
}

static void put_profile(struct output *to)
{
    put_string(to, "");
    put_type(to, 1, "alloc_objects", "count");
    put_type(to, 1, "alloc_space", "bytes");
    put_type(to, 1, "inuse_objects", "count");
    put_type(to, 1, "inuse_space", "bytes");
    put_type(to, 11, "space", "bytes");
    put_number(to, 12, hz3_get(hz3_profile_rate));
    put_number(to, 14, put_string(to, "inuse_space"));
    put_number(to, 7, put_string(to, of_allocator)); /* pprof leaves out what these call, too */
    if (!hz3_profile_look(put_samples, to)) to->length = 0;
    if (!to->length) return;
    to->own = own_library();
    hz3_os_each_mapping(put_mapping, to);
    for (size_t i = 0; i < ADDRESSES; i++)
        if (scratch->addresses[i]) put_location(to, scratch->addresses[i]);
}

size_t hz3_pprof_write(void *buf, size_t size)
{
    struct output to = {buf, size, 0, 0, 0, NULL};
    hz3_sample_pause();
    hz3_lock(&hz3_profile_setting);
    if (hz3_get(hz3_profile_rate) && have_scratch()) {
        clear(); /* a fork may have left it half done */
        put_profile(&to);
        clear();
    }
    hz3_unlock(&hz3_profile_setting);
    hz3_sample_go_on();
    return to.length;
}
