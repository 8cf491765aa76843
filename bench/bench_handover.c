#define BENCH_QUESTION "Is memory that one thread allocated and another freed there for a third to use?"
/* An owner makes `mib` MiB of touched objects, a second thread frees them all, and a third makes as many again.
 * The second stays alive, asleep.  again_ratio is RSS after the third over RSS after the owner: 1 means that all
 * memory was used again, 2 that none was.  In case `sleep` the owner is asleep meanwhile, and in case `dead` it
 * has ended before the second thread begins.  In case `never` the owner is the main thread, and the second thread
 * has never allocated before it frees; in the other two it has. */
#include "bench.h"
#include "helper.h"

enum { OWNER, MIB, SIZE };
enum { OWNER_SLEEPS, OWNER_DEAD, OWNER_NEVER };
static struct bench_param param[] = {
    [OWNER] = {.name = "owner", .words = "sleep|dead|never", .required = true},
    [MIB] = {.name = "mib", .value = 128, .min = 1},
    [SIZE] = {.name = "size", .value = 512, .min = 1},
};

enum { FIRST, SECOND, THIRD, HELPERS };
static void **objects; /* from bench_map, so in no figure */
static uint64_t count;

static void make_all(uint64_t id)
{
    (void)id;
    for (uint64_t i = 0; i < count; i++) objects[i] = bench_alloc(param[SIZE].value, BENCH_TOUCH_ALL);
}

static void free_all(uint64_t id)
{
    (void)id;
    for (uint64_t i = 0; i < count; i++) bench_release(objects[i], param[SIZE].value, BENCH_TOUCH_ALL);
}

static uint64_t spent_ns;

static void timed(struct helper *h, void (*job)(uint64_t id))
{
    uint64_t start = bench_now_ns();
    helper_do(h, job);
    spent_ns += bench_now_ns() - start;
}

static void introduce(uint64_t id)
{
    free(bench_alloc(param[SIZE].value + id, BENCH_TOUCH_ALL));
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t owner = param[OWNER].value;
    count = (param[MIB].value << 20) / param[SIZE].value;
    if (!count) bench_refuse("mib must have room for an object");
    objects = bench_map(count * sizeof *objects);
    struct helper *helpers = bench_map(HELPERS * sizeof *helpers);
    for (uint64_t i = 0; i < HELPERS; i++) helper_hire(&helpers[i], i);

    if (owner != OWNER_NEVER) {
        helper_do(&helpers[SECOND], introduce);
        timed(&helpers[FIRST], make_all);
    } else {
        uint64_t start = bench_now_ns();
        make_all(FIRST);
        spent_ns = bench_now_ns() - start;
    }
    uint64_t first = bench_rss_kib();
    if (owner == OWNER_DEAD) helper_dismiss(&helpers[FIRST]);
    timed(&helpers[SECOND], free_all);
    uint64_t freed = bench_rss_kib();
    timed(&helpers[THIRD], make_all);
    uint64_t third = bench_rss_kib();
    bench_print_ops(3 * count, (double)spent_ns / 1e9);
    printf(" first_kib=%llu freed_kib=%llu third_kib=%llu again_ratio=%.3f", (unsigned long long)first,
           (unsigned long long)freed, (unsigned long long)third, (double)third / (double)first);
    bench_finish();
    return 0;
}
