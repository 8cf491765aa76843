#include "variants/counters.h"

#include "back/arena.h"
#include "front/thread.h"
#include "middle/magazine.h"
#include "os/os.h"

_Thread_local struct hz3_counters *hz3_counters_mine;

static struct record {
    struct hz3_counters counters;
    struct record *next;                     /* in the list of all */
    struct record *unused;                   /* the next of those whose threads ended */
} last_resort, *all = &last_resort, *unused; /* last_resort: for all threads that have no record */
static struct hz3_lock lock;
enum { RECORD_BYTES = 1024 };
_Static_assert(sizeof(struct record) <= RECORD_BYTES, "a record fits");

static struct record *make(void)
{
    hz3_lock(&hz3_magazine_lock);
    struct record *record = (struct record *)hz3_arena_magazines(RECORD_BYTES);
    hz3_unlock(&hz3_magazine_lock);
    if (!record) return &last_resort;
    *record = (struct record){.next = all};
    return all = record;
}

/* A thread that has not joined, or has left, gets no record, since it would leave it to nobody.  Such threads only
 * reclaim; of two at once one may lose a count. */
HZ3_COLD struct hz3_counters *hz3_counters_claim(void)
{
    bool joined = hz3_thread.state == HZ3_THREAD_JOINED;
    hz3_lock(&lock);
    if (all == &last_resort) hz3_os_keep_stderr(); /* programs close it before the process ends */
    struct record *record = joined ? unused : &last_resort;
    if (!record)
        record = make();
    else if (joined)
        unused = record->unused;
    hz3_unlock(&lock);
    if (joined) hz3_counters_mine = &record->counters;
    return &record->counters;
}

void hz3_counters_leave(void)
{
    struct record *mine = (struct record *)hz3_counters_mine;
    hz3_counters_mine = NULL;
    if (!mine || mine == &last_resort) return;
    hz3_lock(&lock);
    mine->unused = unused;
    unused = mine;
    hz3_unlock(&lock);
}

void hz3_counters_each_lock(void (*visit)(struct hz3_lock *lock))
{
    visit(&lock);
}

void hz3_counters_after_fork(void)
{
    unused = NULL;
    for (struct record *record = all; record; record = record->next) {
        record->counters = (struct hz3_counters){.pushed = 0};
        if (record == &last_resort || &record->counters == hz3_counters_mine) continue;
        record->unused = unused;
        unused = record;
    }
}

static void add(struct hz3_counters *sum, const struct hz3_counters *more)
{
#define ADD(name, box) sum->name += more->name;
#define MAX(name, box) sum->name = hz3_max(sum->name, more->name);
    HZ3_COUNTERS(ADD)
    HZ3_COUNTER_MAXIMA(MAX)
#undef ADD
#undef MAX
    for (unsigned i = 0; i < HZ3_S44_4_STATS * HZ3_LENGTHS; i++) sum->lengths[i] += more->lengths[i];
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

/* At most so many objects came from 95 of 100 drains; too high by an eighth at most. */
static size_t drained_p95(const struct hz3_counters *c)
{
    uint64_t so_far = 0;
    for (unsigned i = 0; i < HZ3_S44_4_STATS * HZ3_LENGTHS; i++)
        if ((so_far += c->lengths[i]) * 100 >= c->drains * 95)
            return hz3_min(hz3_length_upto(i), (size_t)c->drained_max);
    return 0;
}

static void s44_4(struct hz3_text *text, const struct hz3_counters *c)
{
    hz3_print(text,
              "[HZ3_S44_4] pop_calls=%zu want_avg=%.1f want_32_pct=%.1f drained_avg=%.1f drained_max=%zu "
              "spill_hit_pct=%.1f fastpop_miss_pct=%.1f drained_p95=%zu\n",
              (size_t)c->pop_calls, mean(c->want, c->pop_calls), share(c->want_32, c->pop_calls),
              mean(c->drained, c->drains), (size_t)c->drained_max, share(c->spill_hits, c->pop_calls),
              share(c->fastpop_misses, c->fastpop_tries), drained_p95(c));
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

static void print_boxes(struct hz3_text *text, const struct hz3_counters *c)
{
    if (HZ3_S44_STATS)
        hz3_print(text, "[HZ3_S44] pushed=%zu refused=%zu popped=%zu trimmed=%zu\n", (size_t)c->pushed,
                  (size_t)c->refused, (size_t)c->popped, (size_t)c->trimmed);
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
}

/* Other threads may still count. */
__attribute__((destructor)) HZ3_RACY static void print_at_the_end(void)
{
    char buf[2048];
    struct hz3_text text = {buf, sizeof buf, 0};
    struct hz3_counters sum = {.pushed = 0};
    for (const struct record *record = all; record; record = record->next) add(&sum, &record->counters);
    print_boxes(&text, &sum);
    hz3_os_stderr(buf, hz3_min(text.length, sizeof buf - 1));
}
