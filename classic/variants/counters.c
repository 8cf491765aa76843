#include "variants/counters.h"

_Thread_local struct hz3_counters hz3_counters;
static struct hz3_counters dead;

static void add(struct hz3_counters *sum, const struct hz3_counters *more)
{
#define ADD(name, box) sum->name += more->name;
#define MAX(name, box) sum->name = hz3_max(sum->name, more->name);
    HZ3_COUNTERS(ADD) HZ3_COUNTER_MAXIMA(MAX)
#undef ADD
#undef MAX
}

void hz3_counting_start(struct hz3_counting *mine)
{
    mine->counters = &hz3_counters;
    mine->rmw = &hz3_rmw_count;
}

void hz3_counters_of_dead(struct hz3_counters *sum)
{
    *sum = dead;
}

HZ3_RACY void hz3_counters_add(struct hz3_counters *sum, const struct hz3_counting *thread)
{
    thread->counters->rmw = *thread->rmw;
    add(sum, thread->counters);
}

void hz3_counters_bury(const struct hz3_counting *thread)
{
    thread->counters->rmw = *thread->rmw;
    *thread->rmw = 0;
    add(&dead, thread->counters);
    *thread->counters = (struct hz3_counters){.pushed = 0};
}

/* ---- the lines ---- */

static double share(uint64_t part, uint64_t whole)
{
    return whole ? 100.0 * (double)part / (double)whole : 0;
}

static double mean(uint64_t sum, uint64_t n)
{
    return n ? (double)sum / (double)n : 0;
}

static void s44_4(struct hz3_text *text, const struct hz3_counters *c)
{
    hz3_print(text,
              "[HZ3_S44_4] pop_calls=%zu want_avg=%.1f want_32_pct=%.1f drained_avg=%.1f drained_max=%zu "
              "spill_hit_pct=%.1f fastpop_miss_pct=%.1f\n",
              (size_t)c->pop_calls, mean(c->want, c->pop_calls), share(c->want_32, c->pop_calls),
              mean(c->drained, c->drains), (size_t)c->drained_max, share(c->spill_hits, c->pop_calls),
              share(c->fastpop_misses, c->fastpop_tries));
}

static void s96(struct hz3_text *text, const struct hz3_counters *c)
{
    hz3_print(text,
              "[HZ3_S96_OWNER_STASH_PUSH] push_calls=%zu objs=%zu cas_retry_total=%zu cas_retry_max=%zu "
              "push_one: push_calls=%zu objs=%zu cas_retry_total=%zu cas_retry_max=%zu "
              "push_list: push_calls=%zu objs=%zu cas_retry_total=%zu cas_retry_max=%zu\n",
              (size_t)(c->one_calls + c->list_calls), (size_t)(c->one_objs + c->list_objs),
              (size_t)(c->one_retries + c->list_retries), (size_t)hz3_max(c->one_retry_max, c->list_retry_max),
              (size_t)c->one_calls, (size_t)c->one_objs, (size_t)c->one_retries, (size_t)c->one_retry_max,
              (size_t)c->list_calls, (size_t)c->list_objs, (size_t)c->list_retries, (size_t)c->list_retry_max);
}

void hz3_counters_text(struct hz3_text *text, const struct hz3_counters *c)
{
    if (HZ3_S44_STATS)
        hz3_print(text, "[HZ3_S44] pushed=%zu refused=%zu popped=%zu stolen=%zu trimmed=%zu\n", (size_t)c->pushed,
                  (size_t)c->refused, (size_t)c->popped, (size_t)c->stolen, (size_t)c->trimmed);
    if (HZ3_S44_4_STATS) s44_4(text, c);
    if (HZ3_S67_STATS)
        hz3_print(text, "[HZ3_S67] kept=%zu served=%zu put_back=%zu\n", (size_t)c->spill_kept, (size_t)c->spill_served,
                  (size_t)c->spill_put_back);
    if (HZ3_S74_STATS)
        hz3_print(text,
                  "[HZ3_S74] refills=%zu s44_calls=%zu s44_objs=%zu s42_calls=%zu s42_objs=%zu s145_objs=%zu "
                  "central_objs=%zu run_objs=%zu\n",
                  (size_t)c->refills, (size_t)c->s44_calls, (size_t)c->s44, (size_t)c->s42_calls, (size_t)c->s42,
                  (size_t)c->kept, (size_t)c->central, (size_t)c->run);
    if (HZ3_S96_OWNER_STASH_PUSH_STATS) s96(text, c);
    if (HZ3_ATOMIC_STATS) hz3_print(text, "[HZ3_ATOMIC] rmw=%zu\n", (size_t)c->rmw);
}
