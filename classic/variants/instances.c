#include "variants/instances.h"

unsigned hz3_instances_set = HZ3_OWNER_STASH_INSTANCES;
_Thread_local uint8_t hz3_instances_turn[HZ3_CLASS_VALUES];
