/* Memory for threads that the gate turns away while another one forks.  Address space is set aside beforehand, and
 * dealt out in whole granules without a lock.  Each block is a large block like any other, except that the page pool
 * learns of it later (hz3_fork_reserve_settle).  Blocks that are freed meanwhile wait for that, too.
 *
 * Talks to the page pool and the map. */
#ifndef HZ3_BACK_FORK_RESERVE_H
#define HZ3_BACK_FORK_RESERVE_H

#include "back/page_map.h"

/* Inside the gate: fills the reserve.  Nothing of it is resident. */
void hz3_fork_reserve_fill(void);
/* Inside the gate: gives the rest of the reserve back to the page pool. */
void hz3_fork_reserve_empty(void);
size_t hz3_fork_reserve_bytes(void); /* of the rest */
/* Inside the gate, before a large block is freed or resized: tells the page pool what was taken and put since. */
void hz3_fork_reserve_settle(void);

/* At any time: a large block that reads as zero, or NULL. */
void *hz3_fork_reserve_take(size_t size, size_t alignment);
/* At any time: frees any large block. */
void hz3_fork_reserve_put(void *p);
#endif
