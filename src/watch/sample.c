#include "watch/sample.h"

#include "base/random.h"
#include "base/sizeclass.h"
#include "os/os.h"

HZ3_ATOMIC(uint32_t) hz3_sampling;
static HZ3_ATOMIC(size_t) rates[HZ3_SAMPLE_KINDS];
#define RATE_MAX ((size_t)1 << 50) /* bytes; a larger rate is as good as this, which cannot overflow */
/* How much a thread counts before it checks again whether a kind that is off was switched on. */
static const int64_t off_for[HZ3_SAMPLE_KINDS] = {4096, 64};
_Thread_local struct hz3_sampler hz3_sampler = {.left = {-1, -1}};

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
    if (!hz3_sampler.random) hz3_sampler.random = (hz3_os.random ^ (uintptr_t)&hz3_sampler ^ hz3_os_now_ms() << 32) | 1;
    return hz3_sampler.random = hz3_random_next(hz3_sampler.random);
}

/* Bytes until the next sample are exponentially distributed.  Allocations until the next guarded one are uniformly
 * distributed, so that at a rate of 1 all are guarded. */
static int64_t draw(int kind, size_t rate)
{
    if (kind == HZ3_SAMPLE_GUARD) return (int64_t)(next_random() % (2 * hz3_min(rate, (size_t)INT32_MAX) - 1));
    return (int64_t)(minus_log((next_random() >> 11) + 1) * (double)hz3_min(rate, RATE_MAX));
}

void hz3_sample_start(enum hz3_sample_kind kind, size_t rate)
{
    hz3_store(rates[kind], rate, memory_order_release); /* a thread that sees the rate sees the tables, too */
    bool bytes = hz3_get(rates[HZ3_SAMPLE_PROFILE]), guards = hz3_get(rates[HZ3_SAMPLE_GUARD]);
    hz3_sizeclass_hide(bytes || guards);
    hz3_store(hz3_sampling,
              guards  ? HZ3_SAMPLING_GUARDS
              : bytes ? HZ3_SAMPLING_BYTES
                      : HZ3_SAMPLING_NONE,
              memory_order_release);
}

size_t hz3_sample_rate(void)
{
    return hz3_get(rates[HZ3_SAMPLE_PROFILE]);
}

static bool chooses(int kind, size_t amount)
{
    size_t rate = hz3_load(rates[kind], memory_order_acquire);
    if (hz3_sampler.paused) return false;
    bool was_off = hz3_sampler.off[kind];
    hz3_sampler.off[kind] = !rate;
    if (!rate) {
        hz3_sampler.left[kind] = off_for[kind];
        return false;
    }
    if (unlikely(hz3_sampler.left[kind] < 0 || was_off)) hz3_sampler.left[kind] = draw(kind, rate);
    hz3_sampler.left[kind] -= (int64_t)hz3_min(amount, (size_t)PTRDIFF_MAX);
    return unlikely(hz3_sampler.left[kind] < 0);
}

/* While bytes alone are sampled the thread counts them in units, and asks again when they are used up. */
bool hz3_sample_chooses(size_t bytes)
{
    int64_t *left = &hz3_sampler.left[HZ3_SAMPLE_PROFILE], units = hz3_thread.unsampled;
    if (hz3_sampler.paused) return false;
    if (units >= 0) *left += units << HZ3_UNIT_SHIFT;
    hz3_thread.unsampled = -1;
    bool chosen = chooses(HZ3_SAMPLE_PROFILE, bytes);
    if (*left < 0 || hz3_load(hz3_sampling, memory_order_acquire) != HZ3_SAMPLING_BYTES) return chosen;
    hz3_thread.unsampled = *left >> HZ3_UNIT_SHIFT;
    *left &= HZ3_UNIT - 1;
    return chosen;
}

bool hz3_sample_chooses_to_guard(void)
{
    return chooses(HZ3_SAMPLE_GUARD, 1);
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
    if (hz3_sampler.paused++) return;
    hz3_sampler.kept = hz3_thread.unsampled;
    hz3_thread.unsampled = -1;
}

void hz3_sample_go_on(void)
{
    if (!--hz3_sampler.paused) hz3_thread.unsampled = hz3_sampler.kept;
}
