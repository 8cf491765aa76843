/* The constants that decide when memory goes back, and how much of it: a few sizes, shares and times, each with all its
 * uses.  src/reclaim/README.md has the table of who gives memory back.  Options (HZ3_DECAY, HZ3_RETAIN,
 * HZ3_RETAIN_SHARE, HZ3_SOFT_LIMIT) are no constants; how the caches are bounded is each cache's own matter. */
#pragma once

#include "base/types.h"

enum {
    /* Passes in a decay time, and slices of a pass: a thread of the program makes one slice at a time. */
    HZ3_PASSES_PER_DECAY = 4,
    HZ3_PASS_SLICES = 8,
    /* Free memory may be a sixteenth of what is in use while hz3 grows.  Objects that fill less than that of their runs
     * are the last ones.  Huge pages stay broken once that share of memory in use went out of them. */
    HZ3_POLICY_SHARE = 16,
    /* Steps in which a program that frees all it has gives that back; objects freed within that share of the decay time
     * may be wanted again; a thread looks what growth calls for twice in such a share of what is in use. */
    HZ3_POLICY_STEPS = 64,
    /* A pass that gives back less than an eighth of what waits was in vain.  Each byte that was taken since a pass at
     * once has eight more wait for the next.  Where less than an eighth of what is resident is live, that is the last of
     * what a program with one thread has. */
    HZ3_POLICY_WORTH = 8,
    /* Less than this share of the soft limit is not worth a pass at once. */
    HZ3_POLICY_LIMIT_SHARE = 32,
    /* Passes and failed searches are so far apart at least, and what was freed so lately is spared while hz3 grows. */
    HZ3_POLICY_SOON_MS = 10,
    /* What was refused is tried again after so long. */
    HZ3_POLICY_LATER_MS = 1000,
};

/* With so much waiting the background thread is worth its cost.  It is as much as one class of the transfer cache may
 * hold. */
#define HZ3_POLICY_MUCH HZ3_MIB(16)
/* The most that is worked on at a time by a thread of the program: in a slice, or between two looks while it grows.
 * Less than this out of huge pages breaks none for good. */
#define HZ3_POLICY_STEP HZ3_MIB(2)
/* A process that has used hardly any processor time yet could give back next to nothing for a share of it, and would
 * learn what its growth calls for by faults.  So it begins as if it had paid for so many bytes, and works that off; not
 * in a sandbox, which may forbid to ask for processor time. */
#define HZ3_POLICY_START HZ3_MIB(8)
/* With less waiting the background thread ends, and so much may be free in locked memory.  Growth keeps twice as much;
 * giving back at once takes half of it for the price of a pass. */
#define HZ3_POLICY_LITTLE HZ3_KIB(256)
