/* A stub of central for the owner stash.  It counts retired objects as home. */
#include "house.h"
#include "middle/central.h"

struct hz3_heap hz3_heaps[HZ3_NUM_SHARDS];
unsigned hz3_heap_count = 1;
HZ3_ATOMIC(unsigned) hz3_heap_highest;

void hz3_central_retire(unsigned, void **objects, unsigned n)
{
    for (unsigned i = 0; i < n; i++) model_home(objects[i]);
}

void hz3_central_take_apart(unsigned cls, struct hz3_magazine *magazine)
{
    hz3_central_retire(cls, &magazine->word[magazine->header.floor + 1], hz3_magazine_count(magazine));
    hz3_magazine_put(cls, magazine);
}
