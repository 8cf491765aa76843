/* The stash of an owner that takes nothing from it.  The memory in flight to it is bounded.  It serves other threads
 * that need memory, or is retired into its runs.
 *
 *     bounds flood SIZE    many threads free a sleeping owner's objects, far more than its stash may hold
 *     bounds asleep        a third thread gets the sleeping owner's objects before a new run is carved
 *     bounds dead          the same after the owner has ended
 *     bounds heir          the same if a new thread has the ended owner's heap, and so its stash
 *     bounds idle          reclaim retires objects that nobody takes
 *     bounds overtaken     an object that is popped before its push is counted is not counted as in flight for good
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/init.h"
#include "back/gauges.h"
#include "base/sizeclass.h"
#include "hz3.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "support.h"

enum { MOST = 200000, FREERS = 4, SMALL = 128, FEW = 3000 };
#define FLOOD_BYTES MIB(48)

static void *objects[MOST];
static size_t count, size;
static unsigned owner;
static bool heir;
static _Atomic bool done;
static size_t most_in_flight;
static pthread_barrier_t made, end;

static void make(void)
{
    for (size_t i = 0; i < count; i++) CHECK((objects[i] = hz3_malloc(size)) != NULL);
    /* Takes the rest of its magazines, too, so that the thread leaves no free objects to others. */
    while (!heir && hz3_cache_objects(hz3_class_of(size)) && count < MOST) objects[count++] = hz3_malloc(size);
    owner = hz3_thread.cache.owner;
}

static void *make_and_sleep(void *arg)
{
    make();
    pthread_barrier_wait(&made);
    if (arg) pthread_barrier_wait(&end);
    return NULL;
}

static void *free_share(void *arg)
{
    hz3_free(hz3_malloc(1)); /* the thread joins; before that no free is remote */
    for (size_t i = (size_t)arg; i < count; i += FREERS) hz3_free(objects[i]);
    return NULL;
}

static void free_all(void)
{
    pthread_t threads[FREERS];
    for (size_t i = 0; i < FREERS; i++) threads[i] = start_thread(free_share, (void *)i);
    for (size_t i = 0; i < FREERS; i++) join_thread(threads[i]);
}

static void *sample(void *unused)
{
    bool last;
    do {
        last = done;
        most_in_flight = hz3_max(most_in_flight, hz3_owner_stash_in_flight(owner));
    } while (!last);
    return unused;
}

static size_t in_stashes(void)
{
    size_t bytes = 0;
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) bytes += hz3_owner_stash_objects(cls) * hz3_class_size(cls);
    return bytes;
}

static void flood(void)
{
    count = hz3_min(FLOOD_BYTES / size, (size_t)MOST);
    pthread_t sleeper = start_thread(make_and_sleep, (void *)1);
    pthread_barrier_wait(&made);
    size_t live = hz3_get(hz3_heaps[owner].live), bound = hz3_max(MIB(1), live / 8);
    CHECK(live >= count * size && count * size > 2 * bound);
    pthread_t sampler = start_thread(sample, NULL);
    free_all();
    done = true;
    join_thread(sampler);
    fprintf(stderr, "bound=%zu most_in_flight=%zu in_stash=%zu\n", bound, most_in_flight, in_stashes());
    CHECK(most_in_flight > 0 && most_in_flight <= bound && in_stashes() <= bound && in_stashes() > 0);
    pthread_barrier_wait(&end);
    join_thread(sleeper);
}

static int by_address(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)*(void *const *)a, y = (uintptr_t)*(void *const *)b;
    return (x > y) - (x < y);
}

static bool was_made(void *p)
{
    return bsearch(&p, objects, count, sizeof *objects, by_address);
}

static void *need_memory(void *stashed)
{
    size_t used = hz3_gauge(HZ3_GAUGE_USED);
    for (size_t left = (size_t)stashed; left--;) CHECK(was_made(hz3_malloc(size)));
    CHECK(hz3_gauge(HZ3_GAUGE_USED) == used);
    CHECK((hz3_thread.cache.owner == owner) == heir);
    return NULL;
}

static void serve(bool dead)
{
    count = FEW;
    size = SMALL;
    pthread_t maker = start_thread(make_and_sleep, dead ? NULL : (void *)1);
    pthread_barrier_wait(&made);
    if (dead) join_thread(maker);
    if (heir) hz3_cache_clear_handoffs(0, 1, true); /* the heir would find free objects in it that are not tested */
    hz3_add(hz3_heaps[owner].threads, 1);           /* so that no thread joins this heap yet */
    free_all();
    size_t stashed = hz3_owner_stash_objects(hz3_class_of(size));
    CHECK(stashed > 100);
    if (heir) hz3_sub(hz3_heaps[owner].threads, 1);
    qsort(objects, count, sizeof *objects, by_address);
    join_thread(start_thread(need_memory, (void *)stashed));
    if (!dead) {
        pthread_barrier_wait(&end);
        join_thread(maker);
    }
}

static void go_home_idle(void)
{
    unsigned cls;
    count = FEW;
    size = SMALL;
    cls = hz3_class_of(size);
    pthread_t maker = start_thread(make_and_sleep, (void *)1);
    pthread_barrier_wait(&made);
    free_all();
    CHECK(hz3_owner_stash_objects(cls) > 100);
    hz3_owner_stash_trim(cls, false); /* the first trim only looks */
    CHECK(hz3_owner_stash_objects(cls) > 100);
    hz3_owner_stash_trim(cls, false);
    CHECK(hz3_owner_stash_objects(cls) == 0);
    CHECK(hz3_owner_stash_in_flight(owner) == 0);
    pthread_barrier_wait(&end);
    join_thread(maker);
}

static _Atomic bool pushers_turn;

static void push_alone(unsigned cls, void *object)
{
    struct hz3_magazine *magazine = hz3_magazine_get(0);
    void **top = hz3_magazine_open(magazine, 1);
    *++top = object;
    CHECK(hz3_owner_stash_push(owner, cls, hz3_magazine_close(top)));
}

static void *pop_alone(unsigned cls)
{
    struct hz3_magazine *magazine = hz3_owner_stash_pop(owner, cls);
    if (!magazine) return NULL;
    CHECK(hz3_magazine_count(magazine) == 1);
    void *object = magazine->word[magazine->header.top];
    hz3_magazine_put(0, magazine);
    return object;
}

static void *push_by_turns(void *unused)
{
    (void)unused;
    while (!done)
        if (pushers_turn) {
            push_alone(hz3_class_of(size), objects[0]);
            pushers_turn = false;
        }
    return NULL;
}

static void overtake(void)
{
    enum { ROUNDS = 5000, LOOKS = 2 };
    void *popped;
    unsigned cls = hz3_class_of(size);
    CHECK((objects[0] = hz3_malloc(size)) != NULL);
    pthread_t pusher = start_thread(push_by_turns, NULL);
    for (int round = 0; round < ROUNDS; round++) {
        pushers_turn = true;
        while (!(popped = pop_alone(cls))) continue;
        CHECK(popped == objects[0]);
        while (pushers_turn) continue;
        for (int look = 0; look < LOOKS; look++) hz3_owner_stash_trim(cls, false);
        CHECK(hz3_owner_stash_in_flight(owner) == 0);
    }
    done = true;
    join_thread(pusher);
}

int main(int argc, char **argv)
{
    CHECK(argc > 1);
    hz3_ensure_started();
    hz3_free(hz3_malloc(1)); /* heap 0 is this thread's */
    pthread_barrier_init(&made, NULL, 2);
    pthread_barrier_init(&end, NULL, 2);
    if (!strcmp(argv[1], "flood")) {
        size = strtoul(argv[2], NULL, 10);
        flood();
    } else if (!strcmp(argv[1], "overtaken")) {
        size = 16384; /* every push of one object is counted at once */
        overtake();
    } else if (!strcmp(argv[1], "idle")) {
        go_home_idle();
    } else {
        heir = !strcmp(argv[1], "heir");
        serve(strcmp(argv[1], "asleep") != 0);
    }
}
