/* S144: several bins for each owner and class.  A sender spreads by a hash of its own number, so that fewer of them
 * meet at one head; a pop looks into one bin, the class's next into the next.  Without the box all of this is 0 and 1.
 */
#ifndef HZ3_VARIANTS_INSTANCES_H
#define HZ3_VARIANTS_INSTANCES_H

#include "os/lock.h"

enum { HZ3_INSTANCES_MAX = HZ3_S144_SETTABLE ? 16 : HZ3_OWNER_STASH_INSTANCES };

extern HZ3_HIDDEN unsigned hz3_instances_set; /* HZ3_S144_SETTABLE; const after start */
extern HZ3_HIDDEN _Thread_local uint8_t hz3_instances_turn[];

HZ3_INLINE unsigned hz3_instances(void)
{
    return HZ3_S144_SETTABLE ? hz3_instances_set : (unsigned)HZ3_OWNER_STASH_INSTANCES;
}

HZ3_INLINE unsigned hz3_instance_to_push(unsigned owner, unsigned cls)
{
    if (HZ3_INSTANCES_MAX == 1) return 0;
    uint32_t hash = (hz3_lock_self() + owner * 31u + cls) * 0x9e3779b1u;
    return hash >> 16 & (hz3_instances() - 1);
}

HZ3_INLINE unsigned hz3_instance_to_pop(unsigned cls)
{
    return HZ3_INSTANCES_MAX == 1 ? 0 : hz3_instances_turn[cls]++ & (hz3_instances() - 1);
}
#endif
