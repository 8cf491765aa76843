/* Proves that thousands of threads may start and end, in sequence or at once, may be cancelled anywhere, and may end
 * before their objects that others freed come home.  Almost no memory is lost by that.
 *
 *     threads [THREADS [AT_ONCE [SEED]]] */
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "churn.h"

enum {
    WARM = 4000,
    MOST_AT_ONCE = 10000,
    OBJECTS = 20,
    OWNERS = 30,
    STASHED = 100000,
    STASHED_BYTES = 48,
    CANCELLED = 400
};

static size_t size_of(size_t i)
{
    return i < 2 ? 8 : size_of(i - 1) + size_of(i - 1) / 2;
}

static void take_all(void **p, uint64_t id)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        CHECK((p[i] = malloc(size_of(i))) != NULL);
        fill(p[i], size_of(i), id);
    }
}

static void free_all(void **p, uint64_t id)
{
    for (size_t i = 0; i < OBJECTS; i++) {
        CHECK(is_filled(p[i], size_of(i), id));
        free(p[i]);
    }
}

/* ---- in sequence ---- */

/* Frees a block that its predecessor left, and leaves one of the same size. */
static void *inherit(void *left)
{
    void *p[OBJECTS];
    CHECK(left == NULL || is_filled(left, 200, 1));
    free(left);
    take_all(p, 2);
    free_all(p, 2);
    CHECK((left = malloc(200)) != NULL);
    fill(left, 200, 1);
    return left;
}

/* WARM threads have seen every processor and every size often enough.  `count` more must not grow the heap. */
static void one_after_another(size_t count)
{
    void *left = NULL;
    for (size_t i = 0; i < WARM; i++) left = join_thread(start_thread(inherit, left));
    size_t settled = written_bytes();
    for (size_t i = 0; i < count; i++) left = join_thread(start_thread(inherit, left));
    CHECK(written_bytes() <= settled + KIB(64));
    free(left);
}

/* ---- at once ---- */

static void *belongings[MOST_AT_ONCE][OBJECTS];
static pthread_barrier_t all_have;
static size_t crowd;

static void *be_there(void *number)
{
    size_t me = (size_t)number, neighbour = (me + 1) % crowd;
    take_all(belongings[me], me);
    pthread_barrier_wait(&all_have);
    free_all(belongings[neighbour], neighbour);
    return NULL;
}

static pthread_t start_small_thread(void *(*body)(void *), void *arg)
{
    pthread_attr_t attributes;
    pthread_t thread;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, (size_t)PTHREAD_STACK_MIN + KIB(16)) == 0);
    CHECK(pthread_create(&thread, &attributes, body, arg) == 0);
    CHECK(pthread_attr_destroy(&attributes) == 0);
    return thread;
}

static void live_as_a_child(void *unused)
{
    (void)unused;
    churn(1, 60);
}

/* All threads exist when the process forks. */
static void all_at_once(size_t count)
{
    static pthread_t threads[MOST_AT_ONCE];
    crowd = count;
    CHECK(count <= MOST_AT_ONCE && pthread_barrier_init(&all_have, NULL, (unsigned)count + 1) == 0);
    for (size_t i = 0; i < count; i++) threads[i] = start_small_thread(be_there, (void *)i);
    expect_success(in_child(live_as_a_child, NULL), 20);
    pthread_barrier_wait(&all_have);
    for (size_t i = 0; i < count; i++) join_thread(threads[i]);
}

/* ---- ends ---- */

static void *stashed[STASHED];
static pthread_barrier_t turn;

/* Ends without a refill, so that objects that came home stay in the stash. */
static void *own(void *unused)
{
    for (size_t i = 0; i < STASHED; i++) {
        CHECK((stashed[i] = malloc(STASHED_BYTES)) != NULL);
        fill(stashed[i], STASHED_BYTES, i);
    }
    pthread_barrier_wait(&turn);
    pthread_barrier_wait(&turn);
    return unused;
}

static void *send_home(void *unused)
{
    for (size_t i = 0; i < STASHED; i++) {
        CHECK(is_filled(stashed[i], STASHED_BYTES, i));
        free(stashed[i]);
    }
    return unused;
}

static void owners_end_with_full_stashes(void)
{
    size_t settled = 0;
    CHECK(pthread_barrier_init(&turn, NULL, 2) == 0);
    for (int i = 0; i < OWNERS; i++) {
        pthread_t owner = start_thread(own, NULL);
        pthread_barrier_wait(&turn);
        join_thread(start_thread(send_home, NULL));
        pthread_barrier_wait(&turn);
        join_thread(owner);
        if (i == OWNERS / 3) settled = resident_bytes();
    }
    CHECK(resident_bytes() <= settled + 2 * (size_t)STASHED * STASHED_BYTES);
}

static pthread_key_t key;

/* Runs in every round of destructors, the last times after the allocator's own. */
static void free_late(void *object)
{
    void *next = malloc(300);
    CHECK(next != NULL && is_filled(object, 300, 3));
    fill(next, 300, 3);
    free(object);
    CHECK(pthread_setspecific(key, next) == 0);
}

static void free_belongings(void *p)
{
    free_all((void **)p, 4);
}

/* May be cancelled between any two calls, as no call of the allocator is a cancellation point. */
static void *live_until_cancelled(void *number)
{
    void *p[OBJECTS], *late = malloc(300);
    CHECK(late != NULL);
    fill(late, 300, 3);
    CHECK(pthread_setspecific(key, late) == 0);
    take_all(p, 4);
    pthread_cleanup_push(free_belongings, p);
    for (uint64_t i = 0;; i++) {
        churn((uintptr_t)number + i, 5);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void threads_are_cancelled(uint64_t seed)
{
    enum { TOGETHER = 4 };
    pthread_t threads[TOGETHER];
    CHECK(pthread_key_create(&key, free_late) == 0);
    for (size_t i = 0; i < CANCELLED; i++) {
        pthread_t *thread = &threads[i % TOGETHER];
        if (i >= TOGETHER) {
            sleep_for((double)(next_random(&seed) % 1000) * 1e-6);
            CHECK(pthread_cancel(*thread) == 0 && join_thread(*thread) == PTHREAD_CANCELED);
        }
        *thread = start_thread(live_until_cancelled, (void *)i);
    }
    for (size_t i = 0; i < TOGETHER; i++)
        CHECK(pthread_cancel(threads[i]) == 0 && join_thread(threads[i]) == PTHREAD_CANCELED);
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000, at_once = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
    one_after_another(count);
    all_at_once(at_once);
    owners_end_with_full_stashes();
    threads_are_cancelled(argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
    size_t all = WARM + count + at_once + 2 * OWNERS + CANCELLED;
    printf("tried=%zu held=%zu\n", all, all);
}
