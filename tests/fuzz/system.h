/* The system under the fuzzer's hand: linked with --wrap, so that what hz3 asks of it comes by here first. */
#ifndef HZ3_FUZZ_SYSTEM_H
#define HZ3_FUZZ_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bit i: the i-th of the next 32 calls that map, unmap, move, purge or protect is refused with ENOMEM.  (A refused move
 * counts twice.) */
extern uint32_t system_refuses;
extern unsigned system_had_no_room; /* how often what hz3 cannot do without was refused, here or by the system itself */

extern uint64_t system_ms; /* what hz3 takes for the time */

/* Makes mappings of their own of [p, p + bytes), as a program may of its memory, or has them be like all others again.
 * p is a multiple of the page size. */
void system_mark(void *p, size_t bytes, bool differs);
#endif
