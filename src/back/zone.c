#include "back/zone.h"

#include "back/large.h"
#include "back/pages.h"
#include "back/purge.h"
#include "back/run.h"
#include "back/run_span.h"
#include "base/check.h"
#include "base/sizeclass.h"
#include HZ3_FREE_CHECK_H

static struct hz3_lock zones_lock;
static struct hz3_zone *zones; /* all of them; under that lock */

struct hz3_zone *hz3_zone_of(const void *p)
{
    const struct hz3_window *window = hz3_window_or_none(p);
    if (!window) return NULL;
    const struct hz3_tag *tag = &window->tags[hz3_granule_of(window, p)];
    return tag->cls == HZ3_CLASS_NONE && hz3_get(tag->owner) == HZ3_OWNER_ZONE ? hz3_run_of(p)->in_zone.zone : NULL;
}

unsigned hz3_zone_class(const void *p)
{
    const struct hz3_span *span = hz3_run_of(p);
    return span->kind == HZ3_SPAN_RUN ? span->cls : (unsigned)HZ3_CLASS_LARGE;
}

/* ---- lists ---- */

static bool has_room(const struct hz3_span *run)
{
    return hz3_get(run->live) < hz3_class_info[run->cls].objects;
}

static struct hz3_span **list_of(struct hz3_zone *zone, const struct hz3_span *span)
{
    return &zone->lists[span->kind == HZ3_SPAN_RUN && has_room(span) ? span->cls : HZ3_CLASS_LARGE];
}

static void list(struct hz3_zone *zone, struct hz3_span *span)
{
    struct hz3_span **head = list_of(zone, span);
    span->in_zone.prev = NULL;
    span->in_zone.next = *head;
    if (*head) (*head)->in_zone.prev = span;
    *head = span;
}

static void unlist(struct hz3_zone *zone, struct hz3_span *span)
{
    struct hz3_span *next = span->in_zone.next, *prev = span->in_zone.prev;
    *(prev ? &prev->in_zone.next : list_of(zone, span)) = next;
    if (next) next->in_zone.prev = prev;
}

/* ---- spans come and go ---- */

/* A negative `change` is given modulo 2^64. */
static void count(struct hz3_zone *zone, size_t live, size_t held)
{
    hz3_set(zone->live, hz3_get(zone->live) + live);
    hz3_set(zone->held, hz3_get(zone->held) + held);
}

static void adopt(struct hz3_zone *zone, struct hz3_span *span)
{
    hz3_map_tag(span->start, span->kind == HZ3_SPAN_RUN ? span->granules : 1, HZ3_CLASS_NONE, HZ3_OWNER_ZONE);
    span->in_zone.zone = zone;
    list(zone, span);
    count(zone, 0, hz3_span_bytes(span));
}

/* The block is an ordinary one from now on. */
static void release(struct hz3_zone *zone, void *p)
{
    hz3_lock(&zone->lock);
    if (unlikely(hz3_zone_of(p) != zone)) hz3_misuse("double free", p); /* another thread was faster */
    unlist(zone, hz3_span_at(p));
    count(zone, 0, -hz3_span_bytes(hz3_span_at(p)));
    hz3_map_tag((uintptr_t)p, 1, HZ3_CLASS_LARGE, 0);
    hz3_unlock(&zone->lock);
}

static void adopt_block(struct hz3_zone *zone, void *p)
{
    hz3_lock(&zone->lock);
    adopt(zone, hz3_span_at(p));
    hz3_unlock(&zone->lock);
}

static struct hz3_span *new_run(struct hz3_zone *zone, unsigned cls, size_t *grown)
{
    struct hz3_span *run = hz3_run_new(cls, HZ3_OWNER_ZONE);
    if (!run) return NULL;
    if (run->zeroed) *grown = hz3_span_bytes(run);
    adopt(zone, run);
    return run;
}

/* ---- objects ---- */

void *hz3_zone_take(struct hz3_zone *zone, unsigned cls, size_t *grown)
{
    void *p = NULL;
    hz3_lock(&zone->lock);
    struct hz3_span *run = zone->lists[cls] ? zone->lists[cls] : new_run(zone, cls, grown);
    if (run && hz3_get(run->live) + 1u == hz3_class_info[cls].objects) {
        unlist(zone, run);
        hz3_run_take(run, &p, 1);
        list(zone, run);
    } else if (run) {
        hz3_run_take(run, &p, 1);
    }
    if (p) count(zone, hz3_class_size(cls), 0);
    hz3_unlock(&zone->lock);
    return p;
}

/* A run that becomes empty goes back, but for the last one with room. */
static void retire(struct hz3_zone *zone, void *p)
{
    hz3_lock(&zone->lock);
    if (unlikely(hz3_zone_of(p) != zone)) hz3_misuse("double free", p);
    struct hz3_span *run = hz3_run_of(p);
    bool full = !has_room(run);
    if (full) unlist(zone, run);
    hz3_run_retire(run, &p, 1, false);
    if (full) list(zone, run);
    count(zone, -hz3_class_size(run->cls), 0);
    bool goes = !hz3_get(run->live) && (run->in_zone.next || run->in_zone.prev);
    if (goes) {
        unlist(zone, run);
        count(zone, 0, -hz3_span_bytes(run));
        hz3_run_free(run);
    }
    hz3_unlock(&zone->lock);
    if (goes) hz3_pages_enforce_limits();
}

void *hz3_zone_large_alloc(struct hz3_zone *zone, size_t size, size_t alignment)
{
    void *p = hz3_large_alloc(size, alignment);
    if (p) adopt_block(zone, p);
    return p;
}

void *hz3_zone_large_realloc(void *p, size_t size)
{
    struct hz3_zone *zone = hz3_zone_of(p);
    if (zone) release(zone, p);
    void *to = hz3_large_realloc(p, size);
    if (zone) adopt_block(zone, to ? to : p);
    return to;
}

void hz3_zone_free(struct hz3_zone *zone, void *p, unsigned cls)
{
    if (cls != HZ3_CLASS_LARGE) {
        retire(zone, p);
        return;
    }
    release(zone, p);
    hz3_large_free(p);
}

/* ---- zones ---- */

void hz3_zone_start(struct hz3_zone *zone)
{
    *zone = (struct hz3_zone){.self = zone};
    hz3_lock(&zones_lock);
    zone->next = zones;
    if (zones) zones->prev = zone;
    zones = zone;
    hz3_unlock(&zones_lock);
}

static void end_span(struct hz3_span *span)
{
    if (span->kind == HZ3_SPAN_RUN) {
        hz3_run_span_clear(span);
        hz3_mark_all_freed(span);
        hz3_set(span->live, 0);
        hz3_run_free(span);
    } else {
        hz3_map_tag(span->start, 1, HZ3_CLASS_LARGE, 0);
        hz3_large_free((void *)span->start);
    }
}

void hz3_zone_end(struct hz3_zone *zone)
{
    hz3_lock(&zones_lock);
    *(zone->prev ? &zone->prev->next : &zones) = zone->next;
    if (zone->next) zone->next->prev = zone->prev;
    hz3_unlock(&zones_lock);
    zone->self = NULL;
    for (unsigned cls = 1; cls < HZ3_CLASS_VALUES; cls++)
        for (struct hz3_span *span = zone->lists[cls], *next; span; span = next) {
            next = span->in_zone.next;
            end_span(span);
        }
    hz3_pages_enforce_limits();
}

struct hz3_zone_bytes hz3_zones_count(void)
{
    struct hz3_zone_bytes bytes = {0, 0};
    hz3_lock(&zones_lock);
    for (struct hz3_zone *zone = zones; zone; zone = zone->next) {
        bytes.live += hz3_get(zone->live);
        bytes.held += hz3_get(zone->held);
    }
    hz3_unlock(&zones_lock);
    return bytes;
}

void hz3_zones_each_lock(void (*visit)(struct hz3_lock *lock))
{
    visit(&zones_lock);
    for (struct hz3_zone *zone = zones; zone; zone = zone->next) visit(&zone->lock);
}
