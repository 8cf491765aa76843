#include "front/orphans.h"

#include "base/layout.h"
#include "front/evict.h"
#include "front/registry.h"

enum {
    NOTES = (HZ3_MAGAZINE_BYTES - 2 * sizeof(void *)) / sizeof(uint32_t), /* on a page, which is a magazine's memory */
    TOP_BITS = 5,                                                         /* for a word's index in a magazine */
    NO_CLASS = 0, /* its notes: of an outbox, or empty magazines */
};
_Static_assert(HZ3_MAGAZINE_AREA_BITS - 8 + TOP_BITS <= 32, "a note has 32 bits");

/* | number of a magazine | index of its top |.  Without a class: | number | how many empty ones; 0: an outbox |. */
struct notes {
    uint64_t header; /* of the magazine: stays as stacks want it */
    struct notes *below;
    uint32_t note[NOTES];
};
_Static_assert(sizeof(struct notes) <= HZ3_MAGAZINE_BYTES, "it fits a magazine");

struct hz3_lock hz3_orphans_lock;
static struct {
    HZ3_ATOMIC(struct notes *) last[HZ3_CLASS_VALUES]; /* written under the lock */
    uint8_t count[HZ3_CLASS_VALUES];                   /* of notes on the last page; the others are full */
    HZ3_ATOMIC(bool) idle[HZ3_CLASS_VALUES];           /* nothing was taken since the last trim */
} pages;
HZ3_ATOMIC(size_t) hz3_orphans_waiting;
static struct hz3_magazine *fresh; /* empty magazines that are not used yet, while the child notes */

/* ---- at the fork ---- */

static struct notes *new_page(void)
{
    if (!fresh) fresh = hz3_magazine_carve();
    struct hz3_magazine *magazine = fresh;
    if (magazine) fresh = magazine->word[1];
    return (struct notes *)magazine;
}

/* False: there is no memory for it, and what is there is lost. */
static bool note(unsigned cls, const void *place, unsigned index)
{
    struct notes *page = hz3_get(pages.last[cls]);
    if (!page || pages.count[cls] == NOTES) {
        struct notes *next = new_page();
        if (!next) return false;
        next->below = page;
        hz3_set(pages.last[cls], page = next);
        pages.count[cls] = 0;
        hz3_set(pages.idle[cls], false);
    }
    page->note[pages.count[cls]++] = hz3_magazine_number((const struct hz3_magazine *)place) << TOP_BITS | index;
    return true;
}

static size_t full_bytes(unsigned cls)
{
    return hz3_class_size(cls) * hz3_class_info[cls].load;
}

static void note_magazine(unsigned cls, void **top)
{
    const struct hz3_magazine *magazine = hz3_magazine_of(top);
    if (hz3_is_stub(top)) return;
    if (note(cls, magazine, (unsigned)(top - (void **)magazine->word))) hz3_add(hz3_orphans_waiting, full_bytes(cls));
}

void hz3_orphans_note(const struct hz3_thread *gone)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        note_magazine(cls, gone->cache.top[cls]);
        void **previous = gone->cache.previous[cls];
        for (unsigned i = 0; i <= gone->cache.stored[cls]; i++, previous = hz3_cache_behind(previous))
            note_magazine(cls, previous);
    }
    if (gone->cache.spare) note(NO_CLASS, gone->cache.spare, gone->cache.spares);
    if (*gone->outbox) note(NO_CLASS, *gone->outbox, 0);
    note(NO_CLASS, hz3_registry_memory(gone->entry), 1);
}

void hz3_orphans_noted(void)
{
    while (fresh) {
        struct hz3_magazine *next = fresh->word[1];
        hz3_magazine_put(0, fresh);
        fresh = next;
    }
}

/* ---- afterwards ---- */

/* Takes the last note of the class, or returns 0. */
static uint32_t take(unsigned cls)
{
    if (likely(!hz3_get(pages.last[cls]))) return 0;
    struct notes *page, *used = NULL;
    uint32_t taken = 0;
    hz3_lock(&hz3_orphans_lock);
    if ((page = hz3_get(pages.last[cls]))) {
        taken = page->note[--pages.count[cls]];
        if (!pages.count[cls]) {
            used = page;
            hz3_set(pages.last[cls], page->below);
            pages.count[cls] = NOTES;
        }
        if (cls != NO_CLASS) hz3_sub(hz3_orphans_waiting, full_bytes(cls));
    }
    hz3_unlock(&hz3_orphans_lock);
    if (used) hz3_magazine_put(cls, (struct hz3_magazine *)used);
    return taken;
}

static struct hz3_magazine *place_of(uint32_t note, unsigned *index)
{
    *index = note & ((1u << TOP_BITS) - 1);
    return hz3_magazine_numbered(note >> TOP_BITS);
}

/* Closes the last magazine that was noted. */
static struct hz3_magazine *take_magazine(unsigned cls)
{
    unsigned index;
    struct hz3_magazine *magazine = place_of(take(cls), &index);
    if (magazine) magazine->header.top = (uint8_t)index;
    return magazine;
}

struct hz3_magazine *hz3_orphans_pop(unsigned cls)
{
    struct hz3_magazine *magazine;
    while ((magazine = take_magazine(cls)) && !hz3_magazine_count(magazine)) hz3_magazine_put(cls, magazine);
    if (magazine) hz3_set(pages.idle[cls], false);
    return magazine;
}

static bool clear_one_without_class(void)
{
    unsigned count;
    void *place = place_of(take(NO_CLASS), &count);
    if (!place) return false;
    if (count > 1) {
        hz3_magazine_put_bundle(0, (struct hz3_magazine *)place, count);
    } else if (count) {
        hz3_magazine_put(0, (struct hz3_magazine *)place);
    } else {
        hz3_evict_outbox((struct hz3_outbox *)place);
        hz3_outbox_put((struct hz3_outbox *)place);
    }
    return true;
}

static bool clear_one(unsigned cls)
{
    if (cls == NO_CLASS) return clear_one_without_class();
    struct hz3_magazine *magazine = hz3_orphans_pop(cls);
    if (magazine) hz3_central_take_apart(cls, magazine);
    return magazine;
}

void hz3_orphans_trim(unsigned cls, bool all)
{
    if (likely(!hz3_get(pages.last[cls]))) return;
    bool idle = hz3_get(pages.idle[cls]);
    for (unsigned i = 0; (all || (idle && i < NOTES)) && clear_one(cls); i++) continue;
    hz3_set(pages.idle[cls], true);
}

/* ---- observation ---- */

static void each_note(unsigned cls, void (*visit)(void *place, unsigned index, void *arg), void *arg)
{
    if (!hz3_get(pages.last[cls])) return;
    hz3_lock(&hz3_orphans_lock);
    unsigned count = pages.count[cls], index;
    for (struct notes *page = hz3_get(pages.last[cls]); page; page = page->below, count = NOTES)
        for (unsigned i = 0; i < count; i++) {
            void *place = place_of(page->note[i], &index);
            visit(place, index, arg);
        }
    hz3_unlock(&hz3_orphans_lock);
}

struct count {
    unsigned cls;
    size_t objects;
};

static void count_magazine(void *place, unsigned index, void *to)
{
    ((struct count *)to)->objects += hz3_magazine_objects(&((struct hz3_magazine *)place)->word[index]);
}

static void count_outbox(void *place, unsigned magazines, void *to)
{
    struct count *count = to;
    if (!magazines) count->objects += hz3_evict_waiting(place, count->cls); /* else it is empty ones */
}

size_t hz3_orphans_objects(unsigned cls)
{
    struct count count = {cls, 0};
    each_note(cls, count_magazine, &count);
    each_note(NO_CLASS, count_outbox, &count);
    return count.objects;
}

const struct hz3_place hz3_orphans_places[] = {
    HZ3_PLACES("orphans.last", pages.last),
    HZ3_PLACES("orphans.count", pages.count),
    HZ3_NUMBER("orphans.notes", NOTES),
    HZ3_NUMBER("orphans.top_bits", TOP_BITS),
    HZ3_FIELD("notes.below", struct notes, below),
    HZ3_FIELD("notes.note", struct notes, note),
    HZ3_PLACES_END,
};
