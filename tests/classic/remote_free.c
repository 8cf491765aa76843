/* Remote frees: the object waits with the sender, and then goes back to its owner.  Nothing is lost, also if the owner
 * has ended. */
#include "../unit/allocated.h"
#include "../unit/unit.h"

#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/evict.h"
#include "front/remote_free.h"
#include "front/sleepers.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "os/gate.h"

#include <pthread.h>

enum { N = 50, LATER = 300 }; /* more than a magazine */

/* A thread of another heap.  It allocates N objects at once, and LATER more when `told` opens. */
struct owner {
    pthread_t thread;
    pthread_barrier_t ready, told;
    unsigned cls, number;
    void *objects[N], *later[LATER];
};

static void *allocate(void *arg)
{
    struct owner *owner = arg;
    owner->number = (assert_non_null(owner->objects[0] = hz3_cache_malloc(owner->cls)), hz3_thread.cache.owner);
    for (int i = 1; i < N; i++) assert_non_null(owner->objects[i] = hz3_cache_malloc(owner->cls));
    hz3_cache_flush();
    pthread_barrier_wait(&owner->ready);
    pthread_barrier_wait(&owner->told);
    for (int i = 0; i < LATER; i++) owner->later[i] = hz3_cache_malloc(owner->cls);
    for (int i = 0; i < LATER; i++) hz3_cache_free(owner->later[i], owner->cls);
    return NULL;
}

static void start(struct owner *owner, unsigned cls)
{
    owner->cls = cls;
    pthread_barrier_init(&owner->ready, NULL, 2);
    pthread_barrier_init(&owner->told, NULL, 2);
    void *own = hz3_cache_malloc(cls); /* so that this thread has a heap, and capacity */
    assert_int_equal(pthread_create(&owner->thread, NULL, allocate, owner), 0);
    pthread_barrier_wait(&owner->ready);
    assert_int_not_equal(owner->number, hz3_thread.cache.owner);
    hz3_cache_free(own, cls);
    hz3_cache_flush();
}

static void end(struct owner *owner)
{
    pthread_barrier_wait(&owner->told);
    pthread_join(owner->thread, NULL);
}

static void what_waits_here_goes_on(void)
{
    if (hz3_outbox && hz3_cache_enter()) {
        hz3_outgoing_flush(hz3_outbox);
        hz3_cache_leave();
    }
}

static void objects_come_back_to_their_owner(void **state)
{
    (void)state;
    struct owner owner;
    start(&owner, hz3_class_of(48));
    size_t before = allocated(), stashed = hz3_owner_stash_objects(owner.cls);
    for (int i = 0; i < N; i++) hz3_remote_free(owner.objects[i], owner.cls, owner.number);
    assert_int_equal(allocated(), before - N * hz3_class_size(owner.cls));
    what_waits_here_goes_on();
    assert_int_equal(hz3_outbox ? hz3_outgoing_objects(hz3_outbox, owner.cls) : 0, 0);
    if (HZ3_STASH_PUSHES && !HZ3_S121_PAGE_LOCAL_REMOTE)
        assert_int_equal(hz3_owner_stash_objects(owner.cls), stashed + N);
    end(&owner);
    for (int i = 0, there; i < N; i++) {
        there = 0;
        for (int j = 0; j < LATER; j++) there += owner.later[j] == owner.objects[i];
        assert_int_equal(there, 1);
    }
    assert_int_equal(allocated(), before - N * hz3_class_size(owner.cls));
}

/* Nobody asks whether a shard has threads: the next one that has it takes what waits. */
static void what_a_thread_left_behind_waits_for_the_next_of_its_shard(void **state)
{
    (void)state;
    struct owner owner, next;
    start(&owner, hz3_class_of(144));
    size_t before = allocated();
    end(&owner);
    assert_int_equal(hz3_get(hz3_heaps[owner.number].threads), 0);
    size_t left = hz3_owner_stash_objects(owner.cls);
    for (int i = 0; i < N; i++) hz3_remote_free(owner.objects[i], owner.cls, owner.number);
    what_waits_here_goes_on();
    if (HZ3_STASH_PUSHES && !HZ3_S121_PAGE_LOCAL_REMOTE) assert_int_equal(hz3_owner_stash_objects(owner.cls), left + N);
    assert_int_equal(allocated(), before - N * hz3_class_size(owner.cls));
    start(&next, owner.cls);
    assert_int_equal(next.number, owner.number);
    end(&next);
    if (HZ3_STASH_POPS && HZ3_OWNER_STASH_INSTANCES == 1)
        assert_false(hz3_owner_stash_has_pending(owner.number, owner.cls));
}

/* What the stash has no room for goes to the transfer cache, by magazines of the sender. */
static void what_is_refused_goes_to_the_transfer_cache(void **state)
{
    (void)state;
    struct owner owner;
    unsigned cls = HZ3_SMALL_NUM_SC + 1; /* the stash has no bins for it */
    if (HZ3_S121_PAGE_LOCAL_REMOTE) skip();
    start(&owner, cls);
    hz3_transfer_trim(cls, true);
    unsigned load = hz3_class_info[cls].load;
    for (int i = 0; i < N; i++) hz3_remote_free(owner.objects[i], cls, owner.number);
    what_waits_here_goes_on();
    assert_int_equal(hz3_transfer_objects(cls), N);
    struct hz3_magazine *magazine = hz3_transfer_pop(cls);
    assert_in_range(hz3_magazine_count(magazine), 1, load);
    hz3_central_take_apart(cls, magazine);
    hz3_transfer_trim(cls, true);
    end(&owner);
}

/* It needs an outgoing magazine for this owner and class that has room, and is one store then. */
static void the_quick_way_needs_a_magazine_with_room(void **state)
{
    (void)state;
    struct owner owner;
    start(&owner, hz3_class_of(240));
    size_t before = allocated();
    what_waits_here_goes_on();
    assert_false(hz3_remote_free_quick(owner.objects[0], owner.cls, owner.number));
    hz3_remote_free(owner.objects[0], owner.cls, owner.number);
    int quick = 0;
    for (int i = 1; i < N; i++) {
        if (hz3_remote_free_quick(owner.objects[i], owner.cls, owner.number))
            quick++;
        else
            hz3_remote_free(owner.objects[i], owner.cls, owner.number);
    }
    bool dense = !HZ3_REMOTE_STASH_SPARSE && !HZ3_S121_PAGE_LOCAL_REMOTE;
    assert_int_equal(quick > 0, dense);
    assert_int_equal(HZ3_OUTGOING > 0, dense);
    if (dense) assert_in_range(hz3_outgoing_objects(hz3_outbox, owner.cls), 1, HZ3_MAGAZINE_LAST);
    assert_false(hz3_remote_free_quick(owner.objects[0], owner.cls, owner.number ^ 1));
    assert_int_equal(allocated(), before - N * hz3_class_size(owner.cls));
    what_waits_here_goes_on();
    end(&owner);
    assert_int_equal(allocated(), before - N * hz3_class_size(owner.cls));
}

static pthread_barrier_t asleep;
static struct hz3_thread *sleeper;
static void *for_the_sleeper[N];

/* Has another thread's objects wait in its outbox, and keeps the rest of what it drained. */
static void *free_and_sleep(void *of)
{
    struct owner *others = of;
    void *one;
    hz3_cache_free(hz3_cache_malloc(others->cls), others->cls);
    sleeper = &hz3_thread;
    pthread_barrier_wait(&asleep);
    pthread_barrier_wait(&asleep);
    for (int i = 0; i < N; i++) hz3_remote_free(others->objects[i], others->cls, others->number);
    if (hz3_owner_stash_pop_batch(hz3_thread.cache.owner, others->cls, &one, 1)) hz3_cache_free(one, others->cls);
    pthread_barrier_wait(&asleep);
    pthread_barrier_wait(&asleep);
    return NULL;
}

static bool visit(void)
{
    hz3_gate_enter_at_last();
    hz3_lock(&hz3_threads_lock);
    bool emptied = hz3_sleeper_empty(sleeper);
    hz3_unlock(&hz3_threads_lock);
    hz3_gate_leave();
    return emptied;
}

static void what_waits_with_a_sleeper_goes_on(void **state)
{
    (void)state;
    struct owner owner;
    pthread_t thread;
    if (HZ3_OUTGOING || !hz3_sleepers_can_be_emptied() || !hz3_os_barrier()) skip();
    start(&owner, hz3_class_of(400));
    pthread_barrier_init(&asleep, NULL, 2);
    assert_int_equal(pthread_create(&thread, NULL, free_and_sleep, &owner), 0);
    pthread_barrier_wait(&asleep);
    for (int i = 0; i < N; i++) assert_non_null(for_the_sleeper[i] = hz3_cache_malloc(owner.cls));
    for (int i = 0; i < N; i++) /* as if they were the sleeper's */
        if (!hz3_owner_stash_push_one(sleeper->cache.owner, owner.cls, for_the_sleeper[i]))
            hz3_central_retire(owner.cls, &for_the_sleeper[i], 1);
    pthread_barrier_wait(&asleep);
    pthread_barrier_wait(&asleep);
    size_t ring = HZ3_REMOTE_STASH_SPARSE ? N : 0;
    bool keeps = HZ3_S48_OWNER_STASH_SPILL && HZ3_S112_FULL_DRAIN_EXCHANGE && HZ3_OWNER_STASH_INSTANCES == 1;
    size_t rest = keeps && HZ3_STASH_PUSHES && HZ3_STASH_POPS ? N - 1 : 0;
    assert_true(hz3_evict_waiting(*sleeper->outbox, owner.cls) >= ring + rest);
    assert_true(visit());
    assert_int_equal(hz3_evict_waiting(*sleeper->outbox, owner.cls), 0);
    pthread_barrier_wait(&asleep);
    pthread_join(thread, NULL);
    end(&owner);
}

static void small_objects_of_others_go_home(void **state)
{
    (void)state;
    struct owner owner;
    start(&owner, hz3_class_of(32));
    bool small_go = HZ3_HOME_CLASSES > 0;
    assert_int_equal(hz3_goes_home(&hz3_windows[0], owner.objects[0], owner.cls), small_go);
    assert_int_equal(hz3_goes_home(&hz3_windows[0], owner.objects[0], hz3_class_of(8192)),
                     HZ3_ADOPT_MIN == HZ3_SMALL_MAX);
    void *own = hz3_cache_malloc(owner.cls);
    while (hz3_owner_at(own) != hz3_thread.cache.owner) own = hz3_cache_malloc(owner.cls);
    assert_false(hz3_goes_home(&hz3_windows[0], own, owner.cls));
    end(&owner);
}

RUN(cmocka_unit_test(objects_come_back_to_their_owner),
    cmocka_unit_test(what_a_thread_left_behind_waits_for_the_next_of_its_shard),
    cmocka_unit_test(what_is_refused_goes_to_the_transfer_cache),
    cmocka_unit_test(the_quick_way_needs_a_magazine_with_room), cmocka_unit_test(what_waits_with_a_sleeper_goes_on),
    cmocka_unit_test(small_objects_of_others_go_home))
