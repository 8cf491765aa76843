/* The tables of state bytes (HZ3_FREE_CHECK).  They are mapped in parts, each with the first run whose class uses the
 * table there.  So locked memory is not spent on tables that no run uses; large blocks have none.
 *
 * A part describes at least as much as 64 KiB of its table do, and at least a 128th of what lies before it in the
 * window.  So a table has at most 64 parts for each doubling of memory, and never many mappings.  A part stays mapped;
 * its pages go back with the granules that it describes. */
#pragma once

#include "back/page_map.h"

/* Maps the state bytes of a span that becomes a run of the class.  TAKEN: something else is mapped in their place.
 * NOMEM: the system refused, also after as many bytes of free spans were unmapped.  The page pool's lock is not held.
 */
enum hz3_map_result hz3_states_cover(const struct hz3_span *span, unsigned cls);
/* Purges the pages of the state bytes of granules [first, end), which hold no live object.  Pages that describe more
 * than these stay. */
void hz3_states_purge(const struct hz3_window *window, size_t first, size_t end);
/* Asks for no huge pages in the parts that are mapped, since every purge would split one.  Later parts are advised when
 * they are mapped.  The page pool's lock is held. */
void hz3_states_advise(void);
