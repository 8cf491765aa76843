#include "watch/sample.h"

#include "base/sizeclass.h"
#include "os/os.h"

HZ3_ATOMIC(bool) hz3_sampling;
/* The profile counts bytes, guards count allocations. */
enum { PROFILE, GUARD, KINDS };
static HZ3_ATOMIC(size_t) rates[KINDS];

static _Thread_local struct {
    uint64_t random;     /* 0: not seeded yet */
    int64_t left[KINDS]; /* how much until the next chosen one; below 0: not drawn yet */
    uint32_t paused;
} mine = {.left = {-1, -1}};

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

static uint64_t next_random(void)
{
    if (!mine.random) mine.random = (hz3_os.random ^ (uintptr_t)&mine ^ hz3_os_now_ms() << 32) | 1;
    mine.random ^= mine.random << 13; /* Marsaglia's xorshift */
    mine.random ^= mine.random >> 7;
    mine.random ^= mine.random << 17;
    return mine.random;
}

/* Bytes until the next sample are exponentially distributed.  Allocations until the next guarded one are uniformly
 * distributed, so that at a rate of 1 all are guarded. */
static int64_t draw(int kind, size_t rate)
{
    if (kind == GUARD) return (int64_t)(next_random() % (2 * hz3_min(rate, (size_t)INT32_MAX) - 1));
    return (int64_t)(minus_log((next_random() >> 11) + 1) * (double)rate);
}

static void start(int kind, size_t rate)
{
    hz3_store(rates[kind], rate, memory_order_release); /* a thread that sees the rate sees the tables, too */
    bool any = hz3_get(rates[PROFILE]) || hz3_get(rates[GUARD]);
    hz3_set(hz3_sampling, any);
    hz3_sizeclass_hide(any);
}

void hz3_sample_start(size_t rate)
{
    start(PROFILE, rate);
}

void hz3_sample_start_guards(size_t rate)
{
    start(GUARD, rate);
}

size_t hz3_sample_rate(void)
{
    return hz3_get(rates[PROFILE]);
}

static bool chooses(int kind, size_t amount)
{
    size_t rate = hz3_load(rates[kind], memory_order_acquire);
    if (!rate || mine.paused) return false;
    if (unlikely(mine.left[kind] < 0)) mine.left[kind] = draw(kind, rate);
    mine.left[kind] -= (int64_t)hz3_min(amount, (size_t)PTRDIFF_MAX);
    return unlikely(mine.left[kind] < 0);
}

bool hz3_sample_chooses(size_t bytes)
{
    return chooses(PROFILE, bytes);
}

bool hz3_sample_chooses_to_guard(void)
{
    return chooses(GUARD, 1);
}

/* 1 - e^(-bytes / rate), e^x by its limit: to 1 %. */
double hz3_sample_probability(size_t bytes, size_t rate)
{
    enum { SQUARES = 10 };
    double power = 1 + (double)bytes / (double)rate / (1 << SQUARES);
    for (int i = 0; i < SQUARES; i++) power *= power;
    return 1 - 1 / power;
}

bool hz3_sample_chance(double probability)
{
    return (double)(next_random() >> 11) < probability * (double)((uint64_t)1 << 53);
}

void hz3_sample_pause(void)
{
    mine.paused++;
}

void hz3_sample_go_on(void)
{
    mine.paused--;
}
