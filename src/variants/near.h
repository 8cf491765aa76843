/* HZ3_ADOPT=2: a thread adopts the objects of heaps whose last thread came on its own NUMA node. */
#ifndef HZ3_VARIANTS_NEAR_H
#define HZ3_VARIANTS_NEAR_H

#include "base/sizeclass.h"
#include "middle/central.h"

unsigned hz3_near_node(void); /* that this thread runs on; 0 where that cannot be told */

/* For any build; without the variant no heap is near.  A thread came to the heap. */
HZ3_INLINE void hz3_near_join(struct hz3_heap *heap)
{
    if (HZ3_ADOPT == 2) hz3_set(heap->node, hz3_near_node());
}

/* Whether threads of heap `own` adopt an object of `owner`. */
HZ3_INLINE bool hz3_near_adopts(unsigned own, unsigned owner, unsigned cls)
{
    return HZ3_ADOPT == 2 && hz3_class_size(cls) >= HZ3_ADOPT_MIN &&
           hz3_get(hz3_heaps[owner].node) == hz3_get(hz3_heaps[own].node);
}
#endif
