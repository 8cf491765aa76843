/* Pushes a list of as many objects as a refill asks for to this thread's own shard, and pops it, ROUNDS times: for
 * instructions to be counted in hz3_owner_stash_pop_batch.
 *
 *     pop ROUNDS
 */
#include <stdlib.h>

#include "api/init.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "middle/owner_stash.h"
#include "support.h"

int main(int argc, char **argv)
{
    CHECK(argc == 2);
    enum { N = HZ3_SMALL_V2_REFILL_BATCH };
    void *objects[N];
    hz3_ensure_started();
    unsigned cls = hz3_class_of(64);
    for (int i = 0; i < N; i++) CHECK((objects[i] = hz3_cache_malloc(cls)) != NULL);
    for (long round = strtol(argv[1], NULL, 10); round--;) {
        for (int i = 0; i + 1 < N; i++) *(void **)objects[i] = objects[i + 1];
        CHECK(hz3_owner_stash_push_list(hz3_thread.cache.owner, cls, objects[0], objects[N - 1], N));
        CHECK(hz3_owner_stash_pop_batch(hz3_thread.cache.owner, cls, objects, N) == N);
    }
}
