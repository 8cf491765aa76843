/* Instances (work order S144): several bins for each owner and class.  Senders spread over them by a hash of their
 * number, so that fewer meet at one head.  A pop looks into one bin, the next pop of the class that looks into one into
 * the next bin.  Without it there is one. */
#pragma once

#include "os/lock.h"

enum {
    HZ3_INSTANCES_FIXED = HZ3_S144_SETTABLE ? 0 : HZ3_OWNER_STASH_INSTANCES, /* 0: the environment may set them */
    HZ3_INSTANCES_MAX = HZ3_INSTANCES_FIXED ? HZ3_INSTANCES_FIXED : 16,
};

extern HZ3_HIDDEN unsigned hz3_instances_set; /* HZ3_S144_SETTABLE; const after start */
extern HZ3_HIDDEN _Thread_local uint8_t hz3_instances_turn[];

HZ3_INLINE unsigned hz3_instances(void)
{
    return HZ3_INSTANCES_FIXED ? (unsigned)HZ3_INSTANCES_FIXED : hz3_instances_set;
}

HZ3_INLINE unsigned hz3_instance_to_push(unsigned owner, unsigned cls)
{
    if (HZ3_INSTANCES_MAX == 1) return 0;
    uint32_t hash = (hz3_lock_self() + owner * 31u + cls) * 0x9e3779b1u;
    return hash >> 16 & (hz3_instances() - 1);
}

HZ3_INLINE unsigned hz3_instance_to_pop(unsigned cls)
{
    return HZ3_INSTANCES_MAX == 1 ? 0 : hz3_instances_turn[cls] & (hz3_instances() - 1);
}

/* To be called by a pop that looks into the bin. */
HZ3_INLINE void hz3_instances_next(unsigned cls)
{
    if (HZ3_INSTANCES_MAX > 1) hz3_instances_turn[cls]++;
}
