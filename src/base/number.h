/* Reads numbers in text, without locale. */
#pragma once

#include "base/types.h"

/* Reads the decimal number at the start of text; *end is what follows it.  False: there is none, or it is too large. */
static inline bool hz3_number(const char *text, const char **end, size_t *value)
{
    if (*text < '0' || *text > '9') return false;
    size_t n = 0;
    for (; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(n, 10, &n) || __builtin_add_overflow(n, (size_t)(*text - '0'), &n)) return false;
    *end = text;
    *value = n;
    return true;
}
