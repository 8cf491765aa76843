#define BENCH_QUESTION "Do buffers that grow by small reallocs leave more behind than they hold?"
/* One thread has `buffers` buffers.  It repeatedly picks one at random and grows it by 1 to `step` bytes, which it
 * touches, until all have `kib` KiB.  overhead_ratio is the peak RSS over what is live at the end. */
#include "bench.h"

enum { BUFFERS, KIB, STEP };
static struct bench_param param[] = {
    [BUFFERS] = {.name = "buffers", .value = 500, .min = 1},
    [KIB] = {.name = "kib", .value = 700, .min = 1, .max = 1 << 20},
    [STEP] = {.name = "step", .value = 4096, .min = 1},
};

struct buffer {
    char *p;
    uint64_t size;
};

static void grow(struct buffer *b, uint64_t more)
{
    b->p = realloc(b->p, b->size + more);
    if (!b->p) bench_die("bench: realloc failed");
    memset(b->p + b->size, 1, more);
    b->size += more;
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t buffers = param[BUFFERS].value, most = param[KIB].value << 10, random = 0, live = 0, ops = 0;
    struct buffer *b = bench_map(buffers * sizeof *b);
    uint64_t start = bench_now_ns();
    while (live < buffers * most) {
        uint64_t bits = bench_random(&random);
        struct buffer *one = &b[bench_scale((uint32_t)bits, buffers)];
        if (one->size == most) continue;
        uint64_t more = 1 + bench_scale((uint32_t)(bits >> 32), param[STEP].value);
        if (more > most - one->size) more = most - one->size;
        grow(one, more);
        live += more;
        ops++;
    }
    uint64_t spent = bench_now_ns() - start;
    double overhead = (double)bench_peak_kib() * 1024 / (double)live;
    for (uint64_t i = 0; i < buffers; i++) bench_free(b[i].p);

    bench_print_ops(ops, (double)spent / 1e9);
    printf(" overhead_ratio=%.3f", overhead);
    bench_finish();
    return 0;
}
