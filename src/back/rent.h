/* Rent: what giving memory back may cost.  Pages that went back and are taken again cost a fault each.  For each of two
 * reasons to give back that may be a share of the processor time that the process uses.  This room keeps these
 * accounts, in bytes of pages: os/price says what a page costs on this machine. */
#pragma once

#include "base/types.h"

enum hz3_rent {
    HZ3_RENT_GROWTH,  /* hz3 grows while memory is free: back/limits */
    HZ3_RENT_AT_ONCE, /* the program has one thread, and may never call again: reclaim/at_once */
    HZ3_RENTS
};

/* In percent, 1 to 100: set from the options, at the start and while the program runs. */
extern HZ3_ATOMIC(uint32_t) hz3_rent_share;

/* Bytes that may go back for this reason now; negative: so many too many did.  May ask the system for the time. */
int64_t hz3_rent_left(enum hz3_rent reason);
void hz3_rent_charge(enum hz3_rent reason, size_t bytes);
void hz3_rent_forgive(enum hz3_rent reason); /* nothing is owed any more */

/* Growth is charged only for what is taken again: pages went back because of it; pages that went back were taken. */
void hz3_rent_purged(size_t bytes);
void hz3_rent_refaulted(size_t bytes);
