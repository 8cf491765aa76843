/* The arena places windows, their tables and the magazines in the address space, and maps them, each part when it is
 * needed.  Addresses that somebody else has mapped are skipped.  Call with the page pool's lock held, or that of the
 * magazines; hz3_arena_start without. */
#pragma once

#include "back/page_map.h"

/* Opens the first window. bytes: its size, which is halved until the system agrees. */
void hz3_arena_start(size_t bytes);
/* Opens a further window with room for `least` bytes: twice the size of the last one if there is so much space.  NULL:
 * there is no room.  The page pool's lock is held, here and in the next function. */
struct hz3_window *hz3_arena_open_window(size_t least);
/* Maps `granules` of address space that was never used, and its tables.  Returns the index of the first one, or why
 * not: */
enum { HZ3_ARENA_FULL = -1, HZ3_ARENA_REFUSED = -2 };
int64_t hz3_arena_extend(struct hz3_window *window, size_t granules);
/* Ends the window for all that is mapped later: granules behind its end have no descriptors. */
void hz3_arena_end(struct hz3_window *window);
/* Asks for no huge pages in the tables and the small pages that are mapped so far; later parts are advised when they
 * are mapped. */
void hz3_arena_advise(void);
size_t hz3_arena_metadata_bytes(void); /* of all tables and magazines */

/* Magazines lie in one range of their own, so that 26 bits name one.  They are never unmapped. */
enum { HZ3_MAGAZINE_AREA_BITS = 34 };
extern uintptr_t hz3_magazine_area;
extern size_t hz3_magazine_mapped; /* bytes of it */
/* Returns the next `bytes` of that range (a multiple of 256, at most 64 KiB), or 0.  The magazines' lock is held. */
uintptr_t hz3_arena_magazines(size_t bytes);
