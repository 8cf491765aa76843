/* Memory for threads that the gate turns away while another one forks: address space that is set aside before, dealt
 * out in whole granules without a lock.  What is given out is a large block like any other, but that the page pool
 * counts it later (hz3_fork_reserve_settle).  What is freed meanwhile waits for that too.
 *
 * Talks to the page pool and the map. */
#ifndef HZ3_BACK_FORK_RESERVE_H
#define HZ3_BACK_FORK_RESERVE_H

#include "back/page_map.h"

/* Inside the gate: sees to it that there is something to give.  Nothing of it is resident. */
void hz3_fork_reserve_fill(void);
/* Inside the gate: what is left is the page pool's again, until the next fork. */
void hz3_fork_reserve_empty(void);
bool hz3_fork_reserve_is_empty(void);
/* Inside the gate, before it frees or resizes a large block: the page pool learns what was taken and put since. */
void hz3_fork_reserve_settle(void);

/* At any time: a large block that reads as zero, or NULL. */
void *hz3_fork_reserve_take(size_t size, size_t alignment);
/* At any time: frees a large block, not necessarily one of these. */
void hz3_fork_reserve_put(void *p);
#endif
