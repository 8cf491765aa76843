/* Proves that malloc and free work until the very end: in TLS destructors of every kind and round, in atexit handlers
 * and destructors, and in threads that still run while the process exits. */
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "churn.h"

extern int __cxa_thread_atexit_impl(void (*destroy)(void *), void *object, void *dso);
extern void *__dso_handle;

enum { KEYS = 3, LAST_ROUND = 4 }; /* glibc runs PTHREAD_DESTRUCTOR_ITERATIONS = 4 rounds */

static pthread_key_t keys[KEYS];
static size_t *ended; /* counts the handlers that ran; shared, as a child's are counted by its parent */

struct late_value {
    size_t key;
    int round;
};

static void take_and_release_all_sizes(void)
{
    void *p[12];
    for (size_t i = 0; i < COUNT_OF(p); i++) {
        size_t size = (size_t)24 << i;
        p[i] = i % 2 ? malloc(size) : calloc(1, size);
        CHECK(p[i] != NULL);
        p[i] = realloc(p[i], size + size / 2);
        CHECK(p[i] != NULL && malloc_usable_size(p[i]) >= size + size / 2);
        fill(p[i], size, i);
    }
    for (size_t i = 0; i < COUNT_OF(p); i++) {
        CHECK(is_filled(p[i], (size_t)24 << i, i));
        free(p[i]);
    }
}

/* Sets its key again, so that it runs in every round. */
static void at_thread_end(void *arg)
{
    struct late_value *value = (struct late_value *)arg, *next;
    take_and_release_all_sizes();
    __atomic_add_fetch(ended, 1, __ATOMIC_RELAXED);
    if (value->round < LAST_ROUND) {
        next = malloc(sizeof(*next));
        CHECK(next != NULL);
        *next = (struct late_value){value->key, value->round + 1};
        pthread_setspecific(keys[value->key], next);
    }
    free(value);
}

static void at_object_end(void *object)
{
    CHECK(is_filled(object, 300, 5));
    free(object);
    take_and_release_all_sizes();
    __atomic_add_fetch(ended, 1, __ATOMIC_RELAXED);
}

static void have_an_object_destroyed(void)
{
    void *object = malloc(300);
    CHECK(object != NULL);
    fill(object, 300, 5);
    CHECK(__cxa_thread_atexit_impl(at_object_end, object, &__dso_handle) == 0);
}

static void *thread_with_late_values(void *arg)
{
    for (size_t key = 0; key < KEYS; key++) {
        struct late_value *value = malloc(sizeof(*value));
        CHECK(value != NULL);
        *value = (struct late_value){key, 1};
        pthread_setspecific(keys[key], value);
    }
    have_an_object_destroyed();
    return arg;
}

/* If ending threads made new caches and lost them, 1,200 of them would show in RSS. */
static void threads_end(void)
{
    enum { THREADS = 1500 };
    for (size_t key = 0; key < KEYS; key++) CHECK(pthread_key_create(&keys[key], at_thread_end) == 0);
    size_t settled = 0;
    *ended = 0;
    for (int i = 0; i < THREADS; i++) {
        if (i == THREADS / 5) settled = resident_bytes();
        join_thread(start_thread(thread_with_late_values, NULL));
    }
    CHECK(*ended == THREADS * (KEYS * LAST_ROUND + 1));
    CHECK(resident_bytes() < settled + MIB(8));
}

static void *kept;

static void at_process_end(void)
{
    take_and_release_all_sizes();
    free(kept);
    kept = malloc(1000);
    CHECK(kept != NULL);
    ++*ended;
}

__attribute__((destructor)) static void last_of_all(void)
{
    at_process_end();
}

static void exits_with_handlers(void *arg)
{
    (void)arg;
    *ended = 0;
    kept = malloc(1000);
    for (int i = 0; i < 40; i++) /* glibc allocates beyond 32 */
        CHECK(atexit(at_process_end) == 0);
    have_an_object_destroyed();
    exit(0);
}

static void exits_under_busy_threads(void *arg)
{
    (void)arg;
    static struct busy busy[3];
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_start(&busy[i]);
    churn(9, 100);
    exit(0);
}

int main(void)
{
    ended = mmap(NULL, sizeof(*ended), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(ended != MAP_FAILED);
    threads_end();
    expect_success(in_child(exits_with_handlers, NULL), 10);
    CHECK(*ended == 40 + 1 + 1);
    for (int i = 0; i < 30; i++) expect_success(in_child(exits_under_busy_threads, NULL), 10);
}
