/* HZ3_ADOPT=2: a thread adopts objects of heaps on its own NUMA node.  A heap is on the node of its latest thread. */
#ifndef HZ3_VARIANTS_NEAR_H
#define HZ3_VARIANTS_NEAR_H

#include "base/sizeclass.h"
#include "middle/central.h"

unsigned hz3_near_node(void); /* the node that this thread runs on; 0 if it cannot be told */

/* To be called when a thread joins the heap. */
HZ3_INLINE void hz3_near_join(struct hz3_heap *heap)
{
    hz3_set(heap->node, hz3_near_node());
}

/* Whether threads of heap `own` adopt an object of `owner`. */
HZ3_INLINE bool hz3_near_adopts(unsigned own, unsigned owner, unsigned cls)
{
    return hz3_class_size(cls) >= HZ3_ADOPT_MIN && hz3_get(hz3_heaps[owner].node) == hz3_get(hz3_heaps[own].node);
}
#endif
