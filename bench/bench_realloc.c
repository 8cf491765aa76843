#define BENCH_QUESTION "How fast is a random mix of malloc, calloc, aligned_alloc, realloc and free?"
/* Known from rptest.  A thread repeatedly picks a random slot.  An empty one is filled: by malloc six times in ten,
 * by calloc and by aligned_alloc (16 to 4096 bytes) twice each.  The object in a full one is freed or gets another
 * random size by realloc, equally often.  After each of `rounds` rounds every thread continues with the slots of
 * its neighbour. */
#include "object.h"

enum { THREADS, ROUNDS, ITERS, SLOTS, MIN, MAX, LATENCY };
static struct bench_param param[] = {
    [THREADS] = {.name = "threads", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [ROUNDS] = {.name = "rounds", .min = 1, .required = true},
    [ITERS] = {.name = "iters", .min = 1, .required = true},
    [SLOTS] = {.name = "slots", .min = 1, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static struct object **slots; /* [row][slot] */
static uint64_t round_now;
static _Atomic uint64_t made, resized, freed;

static struct object *make_zeroed(uint64_t size)
{
    struct object *o;
    BENCH_TIMED(BENCH_MALLOC, o = calloc(1, size));
    if (!o) bench_die("bench: calloc(%llu) failed", (unsigned long long)size);
    const char *bytes = (const char *)o;
    if (bytes[0] || memcmp(bytes, bytes + 1, size - 1) != 0) bench_die("bench: calloc gave memory that is not zero");
    object_seal(o, size);
    return o;
}

static struct object *make_aligned(uint64_t size, uint32_t random_bits)
{
    struct object *o;
    uint64_t alignment = UINT64_C(16) << bench_scale(random_bits, 9);
    size = (size + alignment - 1) & ~(alignment - 1);
    BENCH_TIMED(BENCH_MALLOC, o = aligned_alloc(alignment, size));
    if (!o) bench_die("bench: aligned_alloc failed");
    if ((uintptr_t)o % alignment != 0)
        bench_die("bench: aligned_alloc(%llu, %llu) gave %p", (unsigned long long)alignment, (unsigned long long)size,
                  (void *)o);
    object_seal(o, size);
    return o;
}

static struct object *make(uint64_t size, uint64_t random)
{
    uint64_t tenth = bench_scale((uint32_t)random, 10);
    if (tenth < 6) return object_make(size);
    return tenth < 8 ? make_zeroed(size) : make_aligned(size, (uint32_t)(random >> 32));
}

static struct object *resize(struct object *o, uint64_t size)
{
    uintptr_t before = (uintptr_t)o;
    struct object *after;
    object_check(o);
    BENCH_TIMED(BENCH_MALLOC, after = realloc(o, size));
    if (!after) bench_die("bench: realloc(%llu) failed", (unsigned long long)size);
    object_check_moved(after, (const void *)before, size);
    object_seal(after, size);
    return after;
}

static void work(uint64_t id)
{
    uint64_t threads = param[THREADS].value, state = round_now * threads + id, count[3] = {0};
    struct object **row = slots + (id + round_now) % threads * param[SLOTS].value;
    for (uint64_t i = 0; i < param[ITERS].value; i++) {
        uint64_t random = bench_random(&state), fate = bench_random(&state);
        struct object **slot = &row[bench_scale((uint32_t)random, param[SLOTS].value)];
        uint64_t size = bench_random_size((uint32_t)(random >> 32), param[MIN].value, param[MAX].value);
        if (!*slot) {
            *slot = make(size, fate);
            count[0]++;
        } else if (fate % 2) {
            *slot = resize(*slot, size);
            count[1]++;
        } else {
            object_free(*slot);
            *slot = NULL;
            count[2]++;
        }
    }
    atomic_fetch_add(&made, count[0]);
    atomic_fetch_add(&resized, count[1]);
    atomic_fetch_add(&freed, count[2]);
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    object_check_sizes(param[MIN].value, param[MAX].value);
    uint64_t threads = param[THREADS].value, left = 0;
    slots = bench_map(threads * param[SLOTS].value * sizeof *slots);
    double seconds = 0;
    for (; round_now < param[ROUNDS].value; round_now++) seconds += bench_run_threads(threads, work);
    for (uint64_t i = 0; i < threads * param[SLOTS].value; i++)
        if (slots[i]) {
            object_free(slots[i]);
            left++;
        }
    if (made != freed + left) bench_die("bench: an object was lost");
    bench_print_ops(made + resized + freed, seconds);
    printf(" made=%llu resized=%llu freed=%llu left=%llu", (unsigned long long)made, (unsigned long long)resized,
           (unsigned long long)freed, (unsigned long long)left);
    bench_finish();
    return 0;
}
