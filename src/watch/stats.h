/* The statistics.  They are added up on demand from counters that exist for other reasons. */
#pragma once

#include "base/print.h"
#include "front/thread.h"

/* Bytes; the words are jemalloc's.  allocated <= active <= mapped. */
struct hz3_stats {
    size_t allocated; /* in live objects and blocks */
    size_t large;     /* the part of these that is in blocks */
    size_t cached;    /* free objects in threads' caches and outboxes, owner stashes and the transfer cache */
    size_t stashed;   /* in owner stashes */
    size_t transfer;  /* in the transfer cache */
    size_t active;    /* in runs and large blocks */
    size_t in_heaps;  /* the part of these that the program's own heaps have */
    size_t resident;  /* active and dirty spans: an upper bound, since untouched pages count */
    size_t mapped;    /* address space that is mapped, without metadata */
    size_t retained;  /* free spans: dirty ones, and clean ones, which cost address space only */
    size_t dirty;     /* the part of these that purging would give back */
    size_t metadata;  /* tables and magazines, mapped */
    uint64_t purged;  /* given back so far */
    size_t large_blocks, cached_objects; /* how many */
    unsigned threads;                    /* that have joined */
    struct hz3_cache_stats cache;
};
void hz3_stats_read(struct hz3_stats *stats);
/* The number of free ranges.  Waits for the page pool's lock, as hz3_stats_read does not. */
size_t hz3_stats_free_ranges(void);

/* Prints lines that begin with "hz3: "; one is the config string if `config`, which alone has 1.5 KiB. */
enum { HZ3_STATS_BYTES = 4096 };
void hz3_stats_text(struct hz3_text *text, bool config);
void hz3_stats_text_process(struct hz3_text *text); /* what each line begins with */
/* Prints one JSON object in the format of hz3 stats --json.  HZ3_STATS_JSON_BYTES is its greatest length. */
enum { HZ3_STATS_JSON_BYTES = 12288 };
void hz3_stats_print_json(struct hz3_text *text);
/* Stores the figure of this name: "threads", a name of figures.def, or "refills." and one of those.  False: there is
 * none. */
bool hz3_stats_find(const char *name, size_t *value);
