/* The arena: where windows, their tables and the magazines lie in the address space, and what of them is mapped.
 * Little is mapped before it is needed.  Addresses that somebody else has mapped are found by trying, and skipped.
 * Everything here but the start is under the page pool's lock, or that of the magazines. */
#ifndef HZ3_BACK_ARENA_H
#define HZ3_BACK_ARENA_H

#include "back/page_map.h"
#include "base/layout.h"

/* bytes: of the first window, halved until the system agrees. */
void hz3_arena_start(size_t bytes);
/* A further window with room for `least` bytes, twice the size of the last as long as there is space for that; or NULL.
 * Caller holds the page pool's lock, also for the next. */
struct hz3_window *hz3_arena_open_window(size_t least);
/* Takes `granules` of never used address space, mapped, with its tables: the index of the first, or a reason. */
enum { HZ3_ARENA_FULL = -1, HZ3_ARENA_REFUSED = -2 };
int64_t hz3_arena_extend(struct hz3_window *window, size_t granules);
size_t hz3_arena_metadata_bytes(void); /* of all tables and magazines */

/* Magazines live in one range of their own, so that 26 bits name one; never unmapped. */
enum { HZ3_MAGAZINE_AREA_BITS = 34 };
extern uintptr_t hz3_magazine_area;
/* The next never used `bytes` of it (a multiple of 256, 64 KiB at most), or 0.  Caller holds the magazine lock. */
uintptr_t hz3_arena_magazines(size_t bytes);
extern const struct hz3_place hz3_arena_places[]; /* for readers outside: base/layout */
#endif
