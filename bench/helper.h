/* Threads that get jobs and sleep between them, for programs in which it matters which thread is alive, asleep or
 * ended.  A sleeping helper does not call the allocator. */
#ifndef BENCH_HELPER_H
#define BENCH_HELPER_H

#include <semaphore.h>

#include "bench.h"

struct helper {
    pthread_t thread;
    uint64_t id;
    void (*job)(uint64_t id); /* NULL: the thread ends.  Written before `given` is posted. */
    sem_t given, done;
};

static inline void *helper_main(void *arg)
{
    struct helper *h = arg;
    for (;;) {
        sem_wait(&h->given);
        if (!h->job) return NULL;
        h->job(h->id);
        sem_post(&h->done);
    }
}

static inline void helper_hire(struct helper *h, uint64_t id)
{
    h->id = id;
    if (sem_init(&h->given, 0, 0) != 0 || sem_init(&h->done, 0, 0) != 0) bench_die("bench: no semaphore");
    h->thread = bench_spawn(helper_main, h);
}

static inline void helper_give(struct helper *h, void (*job)(uint64_t id))
{
    h->job = job;
    sem_post(&h->given);
}

static inline void helper_await(struct helper *h)
{
    sem_wait(&h->done);
}

/* Gives a job, and waits until it is done. */
static inline void helper_do(struct helper *h, void (*job)(uint64_t id))
{
    helper_give(h, job);
    helper_await(h);
}

/* When this returns, the thread has ended and left the allocator. */
static inline void helper_dismiss(struct helper *h)
{
    helper_give(h, NULL);
    pthread_join(h->thread, NULL);
}

#endif
