#include "middle/transfer_cache.h"

#include "base/sizeclass.h"
#include "middle/central.h"

enum { MAGAZINES_MIN = 4 };

static struct {
    struct hz3_stack stack;
    HZ3_ATOMIC(unsigned) low; /* fewest magazines in it since the last trim */
    unsigned max;             /* const after start */
} HZ3_CACHE_ALIGNED cache[HZ3_BINS];

void hz3_transfer_start(size_t bytes)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        size_t magazine = hz3_class_size(cls) * hz3_class_info[cls].load;
        cache[cls].max = (unsigned)hz3_min(hz3_max(bytes / magazine, MAGAZINES_MIN), HZ3_STACK_MAX);
    }
}

bool hz3_transfer_push(unsigned cls, struct hz3_magazine *magazine)
{
    /* Several pushers may pass at the bound: each adds one. */
    if (hz3_stack_count(&cache[cls].stack) >= cache[cls].max) return false;
    hz3_stack_push(&cache[cls].stack, magazine);
    return true;
}

struct hz3_magazine *hz3_transfer_pop(unsigned cls)
{
    struct hz3_magazine *magazine = hz3_stack_pop(&cache[cls].stack);
    unsigned count = hz3_stack_count(&cache[cls].stack);
    if (magazine && count < hz3_get(cache[cls].low)) hz3_set(cache[cls].low, count);
    return magazine;
}

void hz3_transfer_trim(bool all)
{
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) {
        unsigned excess = all ? HZ3_STACK_MAX : hz3_get(cache[cls].low);
        struct hz3_magazine *magazine;
        while (excess-- && (magazine = hz3_stack_pop(&cache[cls].stack))) {
            hz3_central_retire_magazine(cls, magazine);
            hz3_magazine_put(cls, magazine);
        }
        hz3_set(cache[cls].low, hz3_stack_count(&cache[cls].stack));
    }
}

size_t hz3_transfer_objects(unsigned cls)
{
    return hz3_stack_objects(&cache[cls].stack);
}
