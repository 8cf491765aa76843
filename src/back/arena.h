/* The arena decides where windows, their tables and the magazines lie in the address space, and maps them.  Little is
 * mapped before it is needed.  Where a try shows that somebody else has mapped the addresses, they are skipped.
 * Everything here but the start is under the page pool's lock, or that of the magazines. */
#ifndef HZ3_BACK_ARENA_H
#define HZ3_BACK_ARENA_H

#include "back/page_map.h"
#include "base/layout.h"

/* bytes: the size of the first window; it is halved until the system agrees. */
void hz3_arena_start(size_t bytes);
/* A further window with room for `least` bytes, or NULL: twice the size of the last one, if there is so much space.
 * The caller holds the page pool's lock, for this and for the next. */
struct hz3_window *hz3_arena_open_window(size_t least);
/* Maps `granules` of address space that was never used, and its tables.  The index of the first, or why not: */
enum { HZ3_ARENA_FULL = -1, HZ3_ARENA_REFUSED = -2 };
int64_t hz3_arena_extend(struct hz3_window *window, size_t granules);
/* Ends the window for what is mapped from now on: granules further on count as without descriptors. */
void hz3_arena_end(struct hz3_window *window);
/* Asks for no huge pages in the tables that are mapped.  (Later parts are advised as they are mapped.)  The same lock
 * is held. */
void hz3_arena_advise(void);
size_t hz3_arena_metadata_bytes(void); /* of all tables and magazines */

/* Magazines lie in one range of their own, so that 26 bits name one.  They are never unmapped. */
enum { HZ3_MAGAZINE_AREA_BITS = 34 };
extern uintptr_t hz3_magazine_area;
/* The next `bytes` of that range (a multiple of 256, 64 KiB at most), or 0.  The caller holds the magazines' lock. */
uintptr_t hz3_arena_magazines(size_t bytes);
extern const struct hz3_place hz3_arena_places[]; /* for readers outside: base/layout */
#endif
