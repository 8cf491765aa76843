/* Proves that fork does not deadlock with a library that allocates under its own lock and takes that lock in an atfork
 * handler, even if the handler was registered before the allocator's constructor ran. */
#include <stdlib.h>

#include "churn.h"

static pthread_mutex_t library = PTHREAD_MUTEX_INITIALIZER;
static bool stop;

static void lock(void)
{
    CHECK(pthread_mutex_lock(&library) == 0);
}

static void unlock(void)
{
    CHECK(pthread_mutex_unlock(&library) == 0);
}

static void before_constructors(void)
{
    free(forget(malloc(1)));
    CHECK(pthread_atfork(lock, unlock, unlock) == 0);
}

__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_constructors;

static void *work(void *unused)
{
    while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
        lock();
        churn(1, 20);
        unlock();
        sleep_for(0.0001); /* the mutex is not fair, so others need time to take it */
    }
    return unused;
}

static void live(void *unused)
{
    (void)unused;
    lock();
    churn(2, 20);
    unlock();
}

static void fork_often(void *unused)
{
    (void)unused;
    pthread_t worker = start_thread(work, NULL);
    for (int i = 0; i < 100; i++) expect_success(in_child(live, NULL), 5);
    __atomic_store_n(&stop, true, __ATOMIC_RELEASE);
    join_thread(worker);
}

int main(void)
{
    expect_success(in_child(fork_often, NULL), 20);
}
