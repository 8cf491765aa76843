#include "back/arena.h"

#include "back/huge_pages.h"
#include "base/layout.h"
#include "base/sizeclass.h"
#include "os/thread_random.h"

uintptr_t hz3_magazine_area;

enum {
    GUARD = HZ3_SECURE * HZ3_GRANULE, /* unused bytes: between tables, and before what a window holds */
    START_MAX = 128,                  /* such granules before it, at most */
    PLACE_TRIES = 8,
    TABLE_STEP = 64 * 1024, /* tables grow by this many bytes */
};
#define WINDOW_MIN HZ3_MIB(4)
/* Windows are placed here: above what programs, sanitizers and brk use, below the mmap area.
 * Nothing is reserved there.  Chunks are mapped one by one, and a chunk that is taken is skipped, so
 * that VIRT, RLIMIT_AS, mlockall and core dumps see what is in use and no more. */
static const uintptr_t place_low = (uintptr_t)1 << 45, place_bytes = (uintptr_t)3 << 44;
/* The state bytes of all windows lie here, so that one addition finds the byte of any address.  The coarser ones
 * lie below.  (A far window may be a reservation anywhere.  It ends where its table would meet other mappings.) */
static const uintptr_t place_states = (uintptr_t)3 << 43;

/* Windows start at multiples of this, and so have whole huge pages and whole steps of the tables of state bytes. */
static size_t window_align;
size_t hz3_magazine_mapped;
static size_t magazine_area_bytes, magazine_used;

/* The size of a table with an entry for each granule. */
static size_t table_bytes(size_t window_bytes, size_t entry)
{
    return hz3_round_up((window_bytes >> HZ3_GRANULE_SHIFT) * entry, HZ3_GRANULE);
}

static size_t tags_bytes(size_t window_bytes)
{
    return table_bytes(window_bytes, sizeof(struct hz3_tag));
}

static size_t states_bytes(size_t window_bytes)
{
    return hz3_state_tables ? hz3_round_up(window_bytes >> HZ3_UNIT_SHIFT, HZ3_GRANULE) : 0;
}

/* The size of the tables that lie right before a window. */
static size_t tables_bytes(size_t window_bytes)
{
    size_t spans = table_bytes(window_bytes, sizeof(struct hz3_span));
    size_t free = table_bytes(window_bytes, sizeof *hz3_windows[0].free);
    return hz3_round_up(spans + GUARD + free + GUARD + tags_bytes(window_bytes), window_align);
}

static enum hz3_map_result map_part(uintptr_t at, size_t bytes, bool reserved)
{
    return reserved ? hz3_os_map_reserved(at, bytes) : hz3_os_map_at(at, bytes);
}

/* magazines | spans | free | tags | window; `at` and `magazines` are multiples of window_align */
static bool place(struct hz3_window *window, uintptr_t at, size_t bytes, size_t magazines, bool reserved)
{
    uintptr_t spans = at + magazines, base = spans + tables_bytes(bytes), tags = base - tags_bytes(bytes);
    if (!reserved && hz3_os_map_readonly_at(tags, tags_bytes(bytes)) != HZ3_MAPPED) return false;
    if (reserved && hz3_os_map_reserved(tags, tags_bytes(bytes)) != HZ3_MAPPED) return false;
    if (reserved) hz3_os_huge_pages(tags, tags_bytes(bytes), false); /* all are writable at once */
    *window = (struct hz3_window){
        .base = base,
        .bytes = bytes,
        .tags = (struct hz3_tag *)tags,
        .spans = (struct hz3_span *)spans,
        .free = (void *)(spans + table_bytes(bytes, sizeof(struct hz3_span)) + GUARD),
        .reserved = reserved,
        .tags_writable = reserved ? (uint32_t)(bytes >> HZ3_GRANULE_SHIFT) : 0,
    };
    if (magazines) {
        hz3_magazine_area = at;
        magazine_area_bytes = magazines;
    }
    return true;
}

static size_t layout_bytes(size_t bytes, size_t magazines)
{
    return magazines + tables_bytes(bytes) + bytes;
}

/* Whether the range overlaps a window or its tables. */
static bool is_taken(uintptr_t at, size_t bytes)
{
    bool taken = false;
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        uintptr_t start = i ? (uintptr_t)window->spans : hz3_magazine_area;
        taken |= at < window->base + window->bytes && start < at + bytes;
    }
    return taken;
}

static bool place_by_hint(struct hz3_window *window, size_t bytes, size_t magazines, uint64_t random)
{
    if (layout_bytes(bytes, magazines) > place_bytes) return false;
    for (int i = 0; i < PLACE_TRIES; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        uintptr_t slack = place_bytes - layout_bytes(bytes, magazines);
        uintptr_t at = place_low + ((uintptr_t)(random >> 16) % (slack + 1) & ~(uintptr_t)(window_align - 1));
        if (is_taken(at, layout_bytes(bytes, magazines)) || !place(window, at, bytes, magazines, false)) continue;
        if (!hz3_states) hz3_states = (uint8_t *)(place_states - (place_low >> HZ3_UNIT_SHIFT));
        return true;
    }
    return false;
}

static bool place_by_reservation(struct hz3_window *window, size_t bytes, size_t magazines)
{
    size_t total = states_bytes(bytes) + layout_bytes(bytes, magazines) + window_align;
    uintptr_t got = hz3_os_reserve(total);
    if (!got) return false;
    uintptr_t at = hz3_round_up(got + states_bytes(bytes), window_align), states = at - states_bytes(bytes);
    bool placed = place(window, at, bytes, magazines, true);
    /* The place where its state bytes have to be may lie in this very reservation. */
    uintptr_t its_states = hz3_states ? (uintptr_t)hz3_state_at(window->base, HZ3_UNIT_SHIFT) : 0;
    if (!placed || (its_states < got + total && got < its_states + states_bytes(bytes))) {
        hz3_os_unmap(got, total);
        return false;
    }
    /* The first window's states are in its reservation; those of a further one are where they have to be. */
    if (!hz3_states) hz3_states = (uint8_t *)(states - (window->base >> HZ3_UNIT_SHIFT));
    return true;
}

static void use_state_tables(unsigned tables)
{
    hz3_state_tables = HZ3_FREE_CHECK ? tables : 0;
    window_align = hz3_state_tables > 1 ? (size_t)TABLE_STEP << hz3_state_table_shift(tables - 1) : HZ3_MIB(2);
    for (unsigned cls = 0; cls < HZ3_CLASS_VALUES; cls++) {
        unsigned table = tables - 1;
        while (table && !(hz3_class_size(cls) >> hz3_state_table_shift(table))) table--;
        hz3_state_shift[cls] = (uint8_t)hz3_state_table_shift(table);
    }
}

static bool place_somewhere(size_t bytes, size_t least, bool first)
{
    struct hz3_window *window = &hz3_windows[hz3_get(hz3_window_count)];
    uint64_t seed = hz3_os.random + hz3_get(hz3_window_count);
    if (first) use_state_tables(HZ3_STATE_TABLES);
    for (size_t try = bytes; try >= least; try /= 2)
        if (place_by_hint(window, try, first ? (size_t)1 << HZ3_MAGAZINE_AREA_BITS : 0, seed)) return true;
    if (first) use_state_tables(1); /* the others would lie outside the reservation */
    /* Leaves half of the space to the rest of the process. */
    for (size_t try = bytes / 2; try >= least; try /= 2)
        if (place_by_reservation(window, try, first ? hz3_round_up(try / 16, window_align) : 0)) return true;
    *window = (struct hz3_window){0};
    return false;
}

static bool grow_tags(struct hz3_window *window, uint32_t upto)
{
    if (upto <= window->tags_writable) return true;
    size_t page = hz3_os.page, all = tags_bytes(window->bytes);
    size_t from = window->tags_writable * sizeof(struct hz3_tag);
    size_t to = hz3_min(hz3_round_up(upto * sizeof(struct hz3_tag), page), all);
    if (!hz3_os_writable((uintptr_t)window->tags + from, to - from)) return false;
    /* A core has the tags of what is in use, and not 32 MiB of zeros. */
    if (from) hz3_os_dump((uintptr_t)window->tags + from, to - from, true);
    if (!from && to < all) hz3_os_dump((uintptr_t)window->tags + to, all - to, false);
    window->tags_writable = (uint32_t)(to / sizeof(struct hz3_tag));
    return true;
}

/* Skips the next granules of the window, which stay unused.  False: there are not as many, or the system has no memory
 * for their tags. */
static bool skip(struct hz3_window *window, size_t granules)
{
    size_t first = window->frontier;
    if (granules > (window->bytes >> HZ3_GRANULE_SHIFT) - first) return false;
    if (!grow_tags(window, (uint32_t)(first + granules))) return false;
    hz3_map_skip(window->base + (first << HZ3_GRANULE_SHIFT), granules);
    window->frontier += (uint32_t)granules;
    return true;
}

/* In lane secure the place of the first run is random, though a window starts on a multiple of window_align. */
static bool open_window(size_t bytes, size_t least, bool first)
{
    if (!place_somewhere(bytes, least, first)) return false;
    uint32_t count = hz3_get(hz3_window_count);
    struct hz3_window *window = &hz3_windows[count];
    hz3_store(hz3_window_count, count + 1, memory_order_release);
    size_t room = hz3_min(window->bytes, hz3_os.address_space) >> (HZ3_GRANULE_SHIFT + 6);
    size_t most = hz3_max(hz3_min(room, (size_t)START_MAX), 1);
    if (GUARD) skip(window, GUARD / HZ3_GRANULE * (1 + hz3_random_mix(hz3_os.random) % most));
    return true;
}

void hz3_arena_start(size_t bytes)
{
    size_t power = WINDOW_MIN;
    while (2 * power <= hz3_min(bytes, place_bytes / 2)) power *= 2;
    open_window(power, WINDOW_MIN, true);
}

struct hz3_window *hz3_arena_open_window(size_t least)
{
    uint32_t count = hz3_get(hz3_window_count);
    if (count == HZ3_WINDOWS_MAX) return NULL;
    /* No more than is likely to be free in one piece between the earlier windows. */
    size_t usual = count ? hz3_min(2 * hz3_windows[count - 1].bytes, place_bytes / 4) : WINDOW_MIN;
    least += (size_t)GUARD * (START_MAX + 1);
    size_t bytes = hz3_max(least, usual);
    if (bytes > place_bytes / 2) return NULL;
    return open_window(bytes, least, count == 0) ? &hz3_windows[count] : NULL;
}

/* How much of a table is mapped when so many of its entries are usable. */
static size_t mapped_bytes(uint32_t entries, size_t entry)
{
    return hz3_round_up(entries * entry, TABLE_STEP);
}

/* Makes entries [0, upto) of a table of the window usable; *have says how far they are. */
static enum hz3_map_result grow_table(uintptr_t table, size_t entry, uint32_t *have, uint32_t upto, bool reserved)
{
    size_t from = mapped_bytes(*have, entry), to = mapped_bytes(upto, entry);
    if (to > from) {
        enum hz3_map_result result = map_part(table + from, to - from, reserved);
        if (result != HZ3_MAPPED) return result;
        hz3_huge_pages_refuse(table + from, table + to);
    }
    *have = hz3_max(*have, upto);
    return HZ3_MAPPED;
}

void hz3_arena_end(struct hz3_window *window)
{
    window->spans_mapped = hz3_min(window->spans_mapped, window->frontier);
    window->frontier = (uint32_t)(window->bytes >> HZ3_GRANULE_SHIFT);
}

static enum hz3_map_result grow_tables(struct hz3_window *window, uint32_t upto)
{
    enum hz3_map_result result =
        grow_table((uintptr_t)window->spans, sizeof(struct hz3_span), &window->spans_mapped, upto, window->reserved);
    if (result == HZ3_MAPPED)
        result =
            grow_table((uintptr_t)window->free, sizeof *window->free, &window->free_mapped, upto, window->reserved);
    return result == HZ3_MAPPED && !grow_tags(window, upto) ? HZ3_MAP_NOMEM : result;
}

/* The tables stay once they are mapped.  So what is to be in them is mapped first. */
static enum hz3_map_result extend_once(struct hz3_window *window, uint32_t granules)
{
    uintptr_t start = window->base + ((uintptr_t)window->frontier << HZ3_GRANULE_SHIFT);
    size_t bytes = (size_t)granules << HZ3_GRANULE_SHIFT;
    enum hz3_map_result result = map_part(start, bytes, window->reserved);
    if (result != HZ3_MAPPED) return result;
    result = grow_tables(window, window->frontier + granules);
    if (result != HZ3_MAPPED)
        (void)(window->reserved ? hz3_os_reserve_again(start, bytes) : hz3_os_unmap(start, bytes));
    if (result == HZ3_MAP_TAKEN) hz3_arena_end(window);
    return result;
}

int64_t hz3_arena_extend(struct hz3_window *window, size_t granules)
{
    for (size_t step = hz3_max(granules, 16);; step *= 2) {
        if (granules > (window->bytes >> HZ3_GRANULE_SHIFT) - window->frontier) return HZ3_ARENA_FULL;
        enum hz3_map_result result = extend_once(window, (uint32_t)granules);
        if (result == HZ3_MAP_NOMEM) return HZ3_ARENA_REFUSED;
        uint32_t first = window->frontier;
        size_t rest = (window->bytes >> HZ3_GRANULE_SHIFT) - first;
        if (result == HZ3_MAPPED) {
            window->frontier += (uint32_t)granules;
            return first;
        }
        if (!rest) return HZ3_ARENA_FULL; /* somebody else's mapping was in the way of a table */
        /* Somebody else's mapping is in the way: leave it alone and look further on. */
        if (!skip(window, hz3_min(step, rest))) return HZ3_ARENA_REFUSED;
    }
}

uintptr_t hz3_arena_magazines(size_t bytes)
{
    if (magazine_used + bytes > hz3_magazine_mapped) {
        /* The last step is left out: a stack's link has no number for the very last magazine. */
        if (hz3_magazine_mapped + (size_t)2 * TABLE_STEP > magazine_area_bytes) return 0;
        uintptr_t at = hz3_magazine_area + hz3_magazine_mapped;
        if (map_part(at, TABLE_STEP, hz3_windows[0].reserved) != HZ3_MAPPED) return 0;
        hz3_magazine_mapped += TABLE_STEP;
    }
    magazine_used += bytes;
    return hz3_magazine_area + magazine_used - bytes;
}

void hz3_arena_advise(void)
{
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        uintptr_t spans = (uintptr_t)window->spans, free = (uintptr_t)window->free;
        hz3_huge_pages_refuse(spans, spans + mapped_bytes(window->spans_mapped, sizeof(struct hz3_span)));
        hz3_huge_pages_refuse(free, free + mapped_bytes(window->free_mapped, sizeof *window->free));
    }
    size_t small = hz3_get(hz3_small_pages_bytes);
    if (small) hz3_huge_pages_advise(&hz3_windows[0], hz3_get(hz3_small_pages_start), small);
}

size_t hz3_arena_metadata_bytes(void)
{
    size_t bytes = hz3_magazine_mapped;
    for (uint32_t i = 0; i < hz3_get(hz3_window_count); i++) {
        const struct hz3_window *window = &hz3_windows[i];
        bytes += mapped_bytes(window->spans_mapped, sizeof(struct hz3_span)) +
                 mapped_bytes(window->free_mapped, sizeof *window->free) +
                 window->tags_writable * sizeof(struct hz3_tag) + window->state_bytes;
    }
    return bytes;
}

const struct hz3_place hz3_arena_places[] = {
    HZ3_PLACE("magazines.area", hz3_magazine_area),
    HZ3_PLACE("magazines.mapped", hz3_magazine_mapped),
    HZ3_NUMBER("table.step", TABLE_STEP),
    HZ3_PLACES_END,
};
