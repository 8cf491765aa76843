/* Memory for threads that the gate turns away during a fork.  Address space is set aside beforehand, and dealt out in
 * whole granules without a lock.  Each block is an ordinary large block, except that the page pool learns of it later,
 * in hz3_fork_reserve_settle; so it does of blocks that are freed meanwhile. */
#pragma once

#include "back/page_map.h"

extern struct hz3_lock hz3_fork_reserve_lock; /* for fork */

/* Inside the gate: fills the reserve where half of it or less is left: 64 MiB of address space, 2 MiB where mapped
 * memory counts.  Nothing of it is resident. */
void hz3_fork_reserve_fill(void);
/* Inside the gate: gives the rest of the reserve back to the page pool. */
void hz3_fork_reserve_empty(void);
size_t hz3_fork_reserve_bytes(void); /* of the rest */
/* Call inside the gate, before a large block is freed or resized: tells the page pool which blocks were taken and freed
 * since. */
void hz3_fork_reserve_settle(void);

/* At any time: a large block that reads as zero, or NULL. */
void *hz3_fork_reserve_take(size_t size, size_t alignment);
/* At any time: frees any large block. */
void hz3_fork_reserve_put(void *p);
