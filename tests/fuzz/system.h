/* System calls that the fuzzer can refuse.  They are linked with --wrap, so that hz3's calls come here. */
#ifndef HZ3_FUZZ_SYSTEM_H
#define HZ3_FUZZ_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* If bit i is set, the i-th of the next 32 calls that map, unmap, move, purge or protect is refused with ENOMEM.
 * (A refused move uses up two bits.) */
extern uint32_t system_refuses;
extern unsigned system_had_no_room; /* how often a call that malloc depends on was refused, here or by the system */

extern uint64_t system_ms; /* the time that hz3 sees */

/* Makes [p, p + bytes) a mapping of its own, as a program may with its memory, or makes it like the others again.  p is
 * a multiple of the page size. */
void system_mark(void *p, size_t bytes, bool differs);
#endif
