#include "churn.h"

#include <stdlib.h>

enum { LIVE = 48 };

static size_t any_size(uint64_t *seed)
{
    size_t most = (size_t)16 << next_random(seed) % (next_random(seed) % 16 ? 13 : 18); /* rarely up to 2 MiB */
    return 1 + next_random(seed) % most;
}

void churn(uint64_t seed, int rounds)
{
    struct {
        void *p;
        size_t size;
    } live[LIVE] = {{0}};
    for (int i = 0; i < rounds; i++) {
        size_t which = next_random(&seed) % LIVE, size = any_size(&seed), old = live[which].size;
        CHECK(live[which].p == NULL || is_filled(live[which].p, old, which));
        if (next_random(&seed) % 3 == 0) {
            live[which].p = realloc(live[which].p, size);
            CHECK(live[which].p != NULL && is_filled(live[which].p, size < old ? size : old, which));
        } else {
            free(live[which].p);
            live[which].p = malloc(size);
            CHECK(live[which].p != NULL);
        }
        live[which].size = size;
        fill(live[which].p, size, which);
    }
    for (size_t i = 0; i < LIVE; i++) free(live[i].p);
}

static void *run_busy(void *arg)
{
    struct busy *busy = (struct busy *)arg;
    for (uint64_t seed = (uintptr_t)busy; !__atomic_load_n(&busy->stop, __ATOMIC_ACQUIRE); seed++) churn(seed, 50);
    return NULL;
}

void busy_start(struct busy *busy)
{
    busy->stop = false;
    busy->thread = start_thread(run_busy, busy);
}

void busy_stop(struct busy *busy)
{
    __atomic_store_n(&busy->stop, true, __ATOMIC_RELEASE);
    join_thread(busy->thread);
}
