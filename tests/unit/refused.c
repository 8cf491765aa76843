/* Threads that cannot get memory for a magazine, an outbox or their destructor.  They are served nevertheless, and lose
 * no object.  And a run that is refused where its window meets somebody else's mapping. */
#include "allocated.h"
#include "unit.h"

#include "back/arena.h"
#include "back/pages.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/remote_free.h"
#include "front/threads.h"
#include "os/gate.h"
#include "support.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 10, UNIT = 256 }; /* the area of magazines deals out multiples of UNIT bytes */

static bool no_mappings;
static uintptr_t refused_from = UINTPTR_MAX; /* an address */
static _Thread_local bool no_keys;

void *mmap(void *at, size_t bytes, int protection, int how, int fd, off_t offset)
{
    bool refused = no_mappings || (uintptr_t)at >= refused_from;
    if (!refused) return (void *)syscall(SYS_mmap, at, bytes, protection, how, fd, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int __real_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value);
int __wrap_pthread_setspecific(pthread_key_t key, const void *value)
{
    return no_keys ? ENOMEM : __real_pthread_setspecific(key, value);
}

/* Objects of this thread's heap. */
struct objects {
    unsigned cls, owner;
    void *at[N];
};

static struct objects take(size_t size)
{
    struct objects objects = {.cls = hz3_class_of(size), .owner = hz3_thread.cache.owner};
    for (int i = 0; i < N; i++) assert_non_null(objects.at[i] = hz3_cache_malloc(objects.cls));
    return objects;
}

static void join(unsigned cls)
{
    void *p = hz3_cache_malloc(cls);
    CHECK(p && hz3_thread.state == HZ3_THREAD_JOINED);
    hz3_cache_free(p, cls);
}

/* Takes all magazines, and makes the system refuse memory for more. */
static struct hz3_magazine *take_magazines(void)
{
    struct hz3_magazine *all = NULL, *magazine;
    no_mappings = true;
    while (hz3_arena_magazines(UNIT)) continue;
    while ((magazine = hz3_spares_get(&hz3_thread.cache, 0)) || (magazine = hz3_magazine_get(0))) {
        magazine->word[1] = all;
        all = magazine;
    }
    return all;
}

static void give_magazines(struct hz3_magazine *all)
{
    no_mappings = false;
    for (struct hz3_magazine *next; all; all = next) {
        next = all->word[1];
        hz3_magazine_put(0, all);
    }
}

static void free_all(const struct objects *objects)
{
    size_t before = allocated(), size = hz3_class_size(objects->cls);
    for (int i = 0; i < N; i++) hz3_remote_free(objects->at[i], objects->cls, objects->owner);
    CHECK(allocated() == before - N * size);
}

static void *free_without_an_outbox(void *objects)
{
    join(hz3_class_of(64));
    bool has_one = hz3_outbox; /* in lanes where malloc needs one */
    struct hz3_magazine *all = take_magazines();
    free_all(objects);
    CHECK(has_one || !hz3_outbox);
    give_magazines(all);
    return NULL;
}

static void *free_without_magazines(void *objects)
{
    join(hz3_class_of(64));
    CHECK(hz3_outbox_get());
    struct hz3_magazine *all = take_magazines();
    free_all(objects);
    give_magazines(all);
    return NULL;
}

static void allocate_and_free(unsigned cls)
{
    size_t cached = hz3_cache_objects(cls); /* by other threads */
    void *p = hz3_cache_malloc(cls);
    CHECK(p && hz3_thread.state == HZ3_THREAD_LEFT && hz3_cache_objects(cls) == cached);
    hz3_cache_free(p, cls);
    CHECK(hz3_cache_objects(cls) == cached);
}

static void *free_after_the_end(void *objects)
{
    unsigned cls = hz3_class_of(64);
    join(cls);
    CHECK(hz3_threads_leave().left);
    free_all(objects);
    allocate_and_free(cls);
    return NULL;
}

/* Nothing is cached that no destructor would give back. */
static void *go_without_a_destructor(void *objects)
{
    no_keys = true;
    allocate_and_free(hz3_class_of(64));
    no_keys = false; /* sanitizers have destructors, too */
    free_all(objects);
    return NULL;
}

static void in_a_thread(void *(*body)(void *))
{
    struct objects objects = take(48);
    join_thread(start_thread(body, &objects));
}

static void without_an_outbox_objects_are_freed(void **state)
{
    (void)state;
    in_a_thread(free_without_an_outbox);
}

static void without_magazines_objects_are_freed(void **state)
{
    (void)state;
    in_a_thread(free_without_magazines);
}

static void a_thread_that_has_left_caches_nothing(void **state)
{
    (void)state;
    in_a_thread(free_after_the_end);
}

static void nor_does_one_without_a_destructor(void **state)
{
    (void)state;
    in_a_thread(go_without_a_destructor);
}

/* In lane secure, where each run has a mapping of its own. */
static void a_run_behind_a_taken_place_may_be_refused(void **state)
{
    (void)state;
    if (!HZ3_SECURE) skip();
    enum { GRANULES = 30 }; /* more than are free in one place */
    struct hz3_window *window = &hz3_windows[0];
    struct hz3_span *run;
    uintptr_t at = window->base + ((window->frontier + (uintptr_t)1) << HZ3_GRANULE_SHIFT);
    char *theirs = mmap((void *)at, hz3_os.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_ptr_equal(theirs, at);
    *theirs = 42;
    refused_from = at + 1;
    assert_null(hz3_pages_alloc(GRANULES, 1, HZ3_SPAN_RUN));
    refused_from = UINTPTR_MAX;
    assert_non_null(run = hz3_pages_alloc(GRANULES, 1, HZ3_SPAN_RUN));
    assert_true(run->start > at);
    memset((void *)run->start, 1, hz3_span_bytes(run));
    assert_int_equal(*theirs, 42);
    hz3_pages_free(run);
}

RUN(cmocka_unit_test(without_an_outbox_objects_are_freed), cmocka_unit_test(without_magazines_objects_are_freed),
    cmocka_unit_test(a_thread_that_has_left_caches_nothing), cmocka_unit_test(nor_does_one_without_a_destructor),
    cmocka_unit_test(a_run_behind_a_taken_place_may_be_refused))
