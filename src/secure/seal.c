#include "secure/seal.h"

#include "base/check.h"
#include "os/random.h"

uint64_t hz3_seal_secret[2];

void hz3_seal_start(void)
{
    hz3_seal_secret[0] = hz3_random_mix(hz3_os.random + 1);
    hz3_seal_secret[1] = hz3_random_mix(hz3_os.random + 2) | 1;
}

void *hz3_seal(void *p, unsigned cls, size_t size)
{
    if (cls == HZ3_CLASS_LARGE) {
        hz3_seal_store(p, size, hz3_seal_canary(p));
        hz3_large_set_usable(p, size);
    } else {
        hz3_seal_put_small(p, cls, size);
    }
    return p;
}

bool hz3_seal_holds(const void *p, unsigned cls)
{
    if (cls != HZ3_CLASS_LARGE) return hz3_seal_holds_small(p, cls);
    return hz3_seal_load(p, hz3_large_usable(p)) == hz3_seal_canary(p);
}

size_t hz3_seal_usable(const void *p, unsigned cls)
{
    return cls == HZ3_CLASS_LARGE ? hz3_large_usable(p) : hz3_seal_size_small(p, cls);
}

void hz3_seal_overwritten(const void *p)
{
    hz3_misuse("freed object overwritten, found by malloc", p);
}
