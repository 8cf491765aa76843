/* A pseudo-random sequence. */
#pragma once

#include <stdint.h>

#include "compiler.h"

/* The random number after this one, which is not 0: xorshift64 (Marsaglia 2003). */
HZ3_INLINE uint64_t hz3_random_next(uint64_t random)
{
    random ^= random << 13;
    random ^= random >> 7;
    return random ^ random << 17;
}
