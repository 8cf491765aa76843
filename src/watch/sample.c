#include "watch/sample.h"

#include "base/sizeclass.h"
#include "os/os.h"

HZ3_ATOMIC(bool) hz3_sampling;
static HZ3_ATOMIC(size_t) sample_rate; /* bytes */

static _Thread_local struct {
    uint64_t random; /* 0: no draw yet */
    int64_t left;    /* bytes to the chosen one */
    uint32_t paused;
} mine;

/* -ln(x / 2^53), x in (0, 2^53]: by the exponent, and for the rest m in [1, 2) by the series of atanh: ln m is
 * 2 (z + z^3 / 3 + ...) with z = (m - 1) / (m + 1) <= 1/3, here to 2e-6. */
static double minus_log(uint64_t x)
{
    enum { BITS = 53 };
    int exponent = 63 - __builtin_clzll(x);
    double m = (double)x / (double)((uint64_t)1 << exponent), z = (m - 1) / (m + 1), zz = z * z;
    double rest = 2 * z * (1 + zz * (1.0 / 3 + zz * (1.0 / 5 + zz * (1.0 / 7 + zz / 9))));
    return (BITS - exponent) * 0.69314718055994531 - rest;
}

/* Bytes to the next chosen one: exponentially distributed. */
static int64_t draw(void)
{
    if (!mine.random) mine.random = (hz3_os.random ^ (uintptr_t)&mine ^ hz3_os_now_ms() << 32) | 1;
    mine.random ^= mine.random << 13; /* Marsaglia's xorshift */
    mine.random ^= mine.random >> 7;
    mine.random ^= mine.random << 17;
    return (int64_t)(minus_log((mine.random >> 11) + 1) * (double)hz3_get(sample_rate));
}

void hz3_sample_start(size_t rate)
{
    hz3_set(sample_rate, rate);
    hz3_set(hz3_sampling, rate > 0);
    hz3_sizeclass_hide(rate > 0);
}

size_t hz3_sample_rate(void)
{
    return hz3_get(sample_rate);
}

bool hz3_sample_chooses(size_t bytes)
{
    if (mine.paused || !hz3_get(hz3_sampling)) return false;
    if (unlikely(!mine.random)) mine.left = draw();
    mine.left -= (int64_t)hz3_min(bytes, (size_t)PTRDIFF_MAX);
    if (likely(mine.left >= 0)) return false;
    mine.left = draw();
    return true;
}

void hz3_sample_pause(void)
{
    mine.paused++;
}

void hz3_sample_go_on(void)
{
    mine.paused--;
}
