/* Threads that cannot get memory for a magazine, an outbox or their destructor.  They are served nevertheless, and lose
 * no object. */
#include "allocated.h"
#include "unit.h"

#include "back/arena.h"
#include "base/sizeclass.h"
#include "front/cache.h"
#include "front/remote_free.h"
#include "front/spares.h"
#include "front/threads.h"
#include "support.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { N = 10, UNIT = 256 }; /* the area of magazines deals out multiples of UNIT bytes */

static bool no_mappings;
static _Thread_local bool no_keys;

void *mmap(void *at, size_t bytes, int protection, int how, int fd, off_t offset)
{
    if (!no_mappings) return (void *)syscall(SYS_mmap, at, bytes, protection, how, fd, offset);
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

static void *free_after_the_end(void *objects)
{
    unsigned cls = hz3_class_of(64);
    join(cls);
    CHECK(hz3_cache_depart().left && hz3_thread.state == HZ3_THREAD_LEFT);
    free_all(objects);
    void *p = hz3_cache_malloc(cls);
    CHECK(p && hz3_cache_objects(cls) == 0);
    hz3_cache_free(p, cls);
    CHECK(hz3_cache_objects(cls) == 0);
    return NULL;
}

/* Nothing is cached that no destructor would give back. */
static void *go_without_a_destructor(void *objects)
{
    unsigned cls = hz3_class_of(64);
    no_keys = true;
    void *p = hz3_cache_malloc(cls);
    CHECK(p && hz3_thread.state == HZ3_THREAD_LEFT);
    hz3_cache_free(p, cls);
    CHECK(hz3_cache_objects(cls) == 0);
    free_all(objects);
    CHECK(hz3_cache_objects(cls) == 0);
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

RUN(cmocka_unit_test(without_an_outbox_objects_are_freed), cmocka_unit_test(without_magazines_objects_are_freed),
    cmocka_unit_test(a_thread_that_has_left_caches_nothing), cmocka_unit_test(nor_does_one_without_a_destructor))
