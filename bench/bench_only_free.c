#define BENCH_QUESTION "How fast is a thread that frees what others made, and does nothing else?"
/* Known from xmalloc.  Makers fill batches with objects of random size, and put them into one bounded queue under
 * a lock.  Freers take batches out, and free the objects and the batch, which is an object too.  Unlike in
 * bench_prodcons objects come in bulk, and any freer may get any maker's. */
#include "object.h"

#define QUEUE_SLOTS 64

enum { MAKERS, FREERS, BATCHES, BATCH, MIN, MAX, LATENCY };
static struct bench_param param[] = {
    [MAKERS] = {.name = "makers", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [FREERS] = {.name = "freers", .min = 1, .max = BENCH_MAX_THREADS, .required = true},
    [BATCHES] = {.name = "batches", .min = 1, .required = true},
    [BATCH] = {.name = "batch", .min = 1, .max = 65536, .required = true},
    [MIN] = {.name = "min", .required = true},
    [MAX] = {.name = "max", .required = true},
    [LATENCY] = {.name = BENCH_LATENCY},
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t not_full, not_empty;
    struct object *batch[QUEUE_SLOTS];
    uint64_t put, taken, makers_done;
} queue = {
    .lock = PTHREAD_MUTEX_INITIALIZER, .not_full = PTHREAD_COND_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};

static _Atomic uint64_t freed;

static void queue_put(struct object *batch)
{
    pthread_mutex_lock(&queue.lock);
    while (queue.put - queue.taken == QUEUE_SLOTS) pthread_cond_wait(&queue.not_full, &queue.lock);
    queue.batch[queue.put++ % QUEUE_SLOTS] = batch;
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.not_empty);
}

/* Returns NULL when all batches were taken and no more will come. */
static struct object *queue_take(void)
{
    struct object *batch = NULL;
    pthread_mutex_lock(&queue.lock);
    while (queue.put == queue.taken && queue.makers_done < param[MAKERS].value)
        pthread_cond_wait(&queue.not_empty, &queue.lock);
    if (queue.put > queue.taken) batch = queue.batch[queue.taken++ % QUEUE_SLOTS];
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_signal(&queue.not_full);
    return batch;
}

static void queue_leave(void)
{
    pthread_mutex_lock(&queue.lock);
    queue.makers_done++;
    pthread_mutex_unlock(&queue.lock);
    pthread_cond_broadcast(&queue.not_empty);
}

static void make(uint64_t maker)
{
    uint64_t random = maker, min = param[MIN].value, max = param[MAX].value;
    for (uint64_t i = 0; i < param[BATCHES].value; i++) {
        struct object *batch = object_make(OBJECT_MIN + param[BATCH].value * sizeof batch->body[0]);
        for (uint64_t k = 0; k < param[BATCH].value; k++)
            batch->body[k] = object_make(bench_random_size((uint32_t)bench_random(&random), min, max));
        queue_put(batch);
    }
    queue_leave();
}

static void free_batches(void)
{
    uint64_t count = 0;
    for (struct object *batch; (batch = queue_take()); count += param[BATCH].value + 1) {
        for (uint64_t k = 0; k < param[BATCH].value; k++) object_free(batch->body[k]);
        object_free(batch);
    }
    atomic_fetch_add(&freed, count);
}

static void work(uint64_t id)
{
    if (id < param[MAKERS].value)
        make(id);
    else
        free_batches();
}

int main(int argc, char **argv)
{
    bench_start(argc, argv, param, BENCH_COUNT(param));
    object_check_sizes(param[MIN].value, param[MAX].value);
    double seconds = bench_run_threads(param[MAKERS].value + param[FREERS].value, work);
    uint64_t made = param[MAKERS].value * param[BATCHES].value * (param[BATCH].value + 1);
    if (freed != made) bench_die("bench: an object was lost");
    bench_print_ops(2 * made, seconds);
    bench_finish();
    return 0;
}
