/* What a program reads and sets by name; what a thread counts of its own; the profile as bytes. */
#include "unit.h"

#include "hz3.h"
#include "api/options.h"
#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/threads.h"
#include "os/gate.h"
#include "support.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t get(const char *name)
{
    size_t value = 0, size = sizeof value;
    assert_int_equal(hz3_control(name, &value, &size, NULL, 0), 0);
    return value;
}

static int set(const char *name, size_t value)
{
    return hz3_control(name, NULL, NULL, &value, sizeof value);
}

static void what_has_another_type_is_refused(void **state)
{
    (void)state;
    size_t before = get("HZ3_DECAY"), value = before + 1, size = sizeof value, short_size = 4;
    errno = 42;
    assert_int_equal(hz3_control("HZ3_DECAY", &value, NULL, NULL, 0), EINVAL);
    assert_int_equal(hz3_control("HZ3_DECAY", &value, &short_size, NULL, 0), EINVAL);
    assert_int_equal(hz3_control("HZ3_DECAY", NULL, NULL, &value, 4), EINVAL);
    assert_int_equal(hz3_control("HZ3_DECAY", &value, &short_size, &value, size), EINVAL);
    assert_int_equal(hz3_control("HZ3_PROFILE_FILE", &value, &size, NULL, 0), EINVAL);
    assert_int_equal(hz3_control("HZ3_DECA", &value, &size, NULL, 0), EINVAL);
    assert_int_equal(value, before + 1);
    assert_int_equal(set("HZ3_WINDOW", 1), EPERM);
    assert_int_equal(set("allocated", 1), EPERM);
    assert_int_equal(set("refills.none", 1), EINVAL);
    assert_int_equal(set("HZ3_DECAY", (size_t)INT32_MAX + 1), EINVAL);
    assert_int_equal(get("HZ3_DECAY"), before);
    assert_int_equal(errno, 42);
}

static void the_value_before_comes_with_the_new_one(void **state)
{
    (void)state;
    size_t before = get("HZ3_DECAY"), wanted = before + 7, old = 0, size = sizeof old;
    assert_int_equal(hz3_control("HZ3_DECAY", &old, &size, &wanted, sizeof wanted), 0);
    assert_int_equal(old, before);
    assert_int_equal(get("HZ3_DECAY"), wanted);
    assert_int_equal(hz3_get(hz3_pages_decay), wanted);
    assert_int_equal(set("HZ3_DECAY", before), 0);
}

static void limits_are_those_that_were_set(void **state)
{
    (void)state;
    size_t retain = get("HZ3_RETAIN"), limit = get("HZ3_SOFT_LIMIT");
    assert_int_equal(set("HZ3_RETAIN", HZ3_MIB(3)), 0);
    assert_int_equal(hz3_get(hz3_pages_dirty_max), HZ3_MIB(3));
    assert_int_equal(set("HZ3_RETAIN", HZ3_OPTION_AUTO), 0);
    assert_int_equal(hz3_get(hz3_pages_dirty_max), HZ3_MIB(256));
    assert_int_equal(set("HZ3_RETAIN", retain), 0);
    assert_int_equal(set("HZ3_SOFT_LIMIT", HZ3_MIB(500)), 0);
    assert_int_equal(hz3_get(hz3_pages_soft_limit), HZ3_MIB(500));
    assert_int_equal(set("HZ3_SOFT_LIMIT", 0), 0);
    assert_int_equal(hz3_get(hz3_pages_soft_limit), SIZE_MAX);
    assert_int_equal(set("HZ3_SOFT_LIMIT", limit), 0);
}

/* With HZ3_VERBOSE=1, which says what results, too. */
static void it_reads_what_was_asked_for(void **state)
{
    (void)state;
    const char *asked = getenv("HZ3_SOFT_LIMIT");
    assert_int_equal(get("HZ3_SOFT_LIMIT"), asked ? strtoul(asked, NULL, 10) : HZ3_OPTION_AUTO);
}

static void exit_inside(void *unused)
{
    (void)unused;
    hz3_gate_enter();
    hz3_lock(&hz3_threads_lock);
    exit(0);
}

/* As a signal handler that interrupts malloc does.  Only with HZ3_STATS=1 does exit need that lock. */
static void exit_waits_for_nobody(void **state)
{
    (void)state;
    expect_success(in_child(exit_inside, NULL), 10);
}

static void expect_bytes(size_t *allocated, size_t *freed, size_t more_allocated, size_t more_freed)
{
    size_t before[2] = {*allocated, *freed};
    hz3_thread_bytes(allocated, freed);
    assert_int_equal(*allocated - before[0], more_allocated);
    assert_int_equal(*freed - before[1], more_freed);
}

/* While a thread only allocates, or only frees, what it counts is exact. */
static void a_thread_counts_what_it_allocates_and_frees(void **state)
{
    (void)state;
    if (HZ3_SECURE) skip(); /* there a block counts with its seal, and as freed when it leaves the quarantine */
    enum { OBJECTS = 500 };
    static void *objects[OBJECTS];
    static const size_t sizes[] = {16, 112, 1024, HZ3_KIB(40), HZ3_KIB(100)};
    size_t allocated, freed, usable;
    hz3_thread_bytes(&allocated, &freed);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        for (int n = 0; n < OBJECTS; n++) {
            objects[n] = hz3_malloc(sizes[i]);
            usable = hz3_malloc_usable_size(objects[n]);
            if (n % 7 == 0) expect_bytes(&allocated, &freed, (n ? 7 : 1) * usable, 0);
        }
        expect_bytes(&allocated, &freed, (OBJECTS - 1) % 7 * usable, 0);
        hz3_collect(false); /* gives up what the thread caches: no malloc, and no free */
        expect_bytes(&allocated, &freed, 0, 0);
        for (int n = 0; n < OBJECTS; n++) {
            hz3_free(objects[n]);
            if (n % 7 == 0) expect_bytes(&allocated, &freed, 0, (n ? 7 : 1) * usable);
        }
        expect_bytes(&allocated, &freed, 0, (OBJECTS - 1) % 7 * usable);
    }
}

/* However mallocs and frees alternate, the difference is exact, and neither is more than happened. */
static void the_difference_is_exact(void **state)
{
    (void)state;
    if (HZ3_SECURE) skip(); /* as above */
    enum { OBJECTS = 200, ROUNDS = 100000 };
    static void *objects[OBJECTS];
    size_t before[2], after[2], live = 0, all = 0;
    uint64_t random = 1;
    hz3_thread_bytes(&before[0], &before[1]);
    for (int round = 0; round < ROUNDS; round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        void **object = &objects[(random >> 33) % OBJECTS];
        if (*object) {
            hz3_free(*object);
            *object = NULL;
        } else {
            *object = hz3_malloc(240);
            all += 240;
        }
        live += *object ? 240 : -(size_t)240;
    }
    hz3_thread_bytes(&after[0], &after[1]);
    assert_int_equal(after[0] - before[0] - (after[1] - before[1]), live);
    assert_in_range(after[0] - before[0], live, all);
    for (int i = 0; i < OBJECTS; i++) hz3_free(objects[i]);
}

/* A sampled object has pages of its own, of which it counts as much as others of its class. */
static void what_was_sampled_is_freed_whole(void **state)
{
    (void)state;
    if (HZ3_SECURE) skip(); /* as above */
    enum { OBJECTS = 5000 };
    static void *objects[OBJECTS];
    size_t before[2], after[2];
    assert_int_equal(set("HZ3_PROFILE", 4096), 0);
    hz3_thread_bytes(&before[0], &before[1]);
    for (int i = 0; i < OBJECTS; i++) objects[i] = hz3_malloc(1024);
    hz3_thread_bytes(&after[0], &after[1]);
    assert_int_equal(after[0] - before[0] - (after[1] - before[1]), OBJECTS * hz3_class_size(hz3_class_of(1024)));
    for (int i = 0; i < OBJECTS; i++) hz3_free(objects[i]);
    assert_int_equal(set("HZ3_PROFILE", 0), 0);
    hz3_thread_bytes(&after[0], &after[1]);
    assert_int_equal(after[0] - before[0], after[1] - before[1]);
}

static void a_large_block_is_freed_whole(void **state)
{
    (void)state;
    size_t before[2], after[2];
    hz3_thread_bytes(&before[0], &before[1]);
    for (size_t size = HZ3_KIB(65); size < HZ3_KIB(70); size += 100)
        hz3_free(hz3_realloc(hz3_malloc(size), size + HZ3_KIB(200)));
    hz3_thread_bytes(&after[0], &after[1]);
    assert_true(after[0] > before[0]);
    assert_int_equal(after[0] - before[0], after[1] - before[1]);
}

static void a_block_of_a_heap_does_not_count(void **state)
{
    (void)state;
    size_t before[2], after[2];
    hz3_heap_t *heap = hz3_heap_new();
    assert_non_null(heap);
    hz3_thread_bytes(&before[0], &before[1]);
    void *p = hz3_heap_malloc(heap, HZ3_MIB(1));
    assert_non_null(p = hz3_heap_realloc(heap, p, HZ3_MIB(8)));
    assert_non_null(p = hz3_realloc(p, HZ3_MIB(2)));
    hz3_free(p);
    hz3_thread_bytes(&after[0], &after[1]);
    hz3_heap_destroy(heap);
    assert_int_equal(after[0], before[0]);
    assert_int_equal(after[1], before[1]);
}

static void *read_at_once(void *bytes)
{
    size_t *of = bytes;
    hz3_thread_bytes(&of[0], &of[1]);
    void *p = hz3_malloc(1000);
    hz3_thread_bytes(&of[2], &of[3]);
    hz3_free(p);
    return NULL;
}

/* Though it takes over the magazines of one that ended. */
static void a_new_thread_starts_with_nothing(void **state)
{
    (void)state;
    if (HZ3_SECURE) skip(); /* as above */
    for (int i = 0; i < 5; i++) {
        pthread_t thread;
        size_t bytes[4] = {1, 1, 1, 1};
        pthread_create(&thread, NULL, read_at_once, bytes);
        pthread_join(thread, NULL);
        assert_int_equal(bytes[0], bytes[1]); /* libc may have allocated and freed */
        assert_int_equal(bytes[2] - bytes[3], hz3_class_size(hz3_class_of(1000)));
    }
}

static HZ3_ATOMIC(bool) over;

static void *use_all(void *number)
{
    static _Thread_local char buf[1 << 16];
    for (size_t i = (size_t)number; !hz3_get(over); i++) {
        void *p = hz3_malloc(1 + i % 3000); /* one of 0 bytes joins no thread in lane secure */
        size_t allocated, freed;
        if (set("HZ3_DECAY", 1000 + i % 10) != 0 || get("HZ3_DECAY") < 1000) abort();
        if (set("HZ3_PROFILE", i % 3 ? 4096 : 0) != 0 || get("threads") < 1) abort();
        hz3_thread_bytes(&allocated, &freed);
        hz3_profile_pprof(buf, sizeof buf);
        hz3_free(p);
    }
    return NULL;
}

static void threads_and_forked_children_may_use_it_at_once(void **state)
{
    (void)state;
    enum { THREADS = 3, FORKS = 20 };
    pthread_t threads[THREADS];
    for (size_t i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, use_all, (void *)i);
    for (int i = 0; i < FORKS; i++) {
        pid_t child = fork();
        if (!child) {
            alarm(20);
            _exit(set("HZ3_PROFILE", 4096) || !hz3_profile_pprof(NULL, 0) || set("HZ3_DECAY", 5) ||
                  get("HZ3_DECAY") != 5);
        }
        int status = 1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
    hz3_set(over, true);
    for (size_t i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(set("HZ3_PROFILE", 0), 0);
    assert_int_equal(set("HZ3_DECAY", 1000), 0);
}

static void *set_retain_again_and_again(void *unused)
{
    while (!hz3_get(over)) set("HZ3_RETAIN", HZ3_OPTION_AUTO);
    return unused;
}

/* A forked child may have the value of any moment. */
static void auto_is_a_number_at_any_moment(void **state)
{
    (void)state;
    pthread_t thread;
    size_t most = 0;
    hz3_set(over, false);
    pthread_create(&thread, NULL, set_retain_again_and_again, NULL);
    for (double begun = now(); now() < begun + 0.3;)
        for (int i = 0; i < 1000; i++) most = hz3_max(most, *(volatile size_t *)&hz3_options.RETAIN);
    hz3_set(over, true);
    pthread_join(thread, NULL);
    assert_int_equal(most, HZ3_MIB(256));
}

/* The first field of the profile says how long the empty string is that begins the table of strings: 0. */
static void a_profile_has_one_length_whatever_fits(void **state)
{
    (void)state;
    static char whole[1 << 20], part[64];
    assert_int_equal(set("HZ3_PROFILE", 64), 0);
    void *p = hz3_malloc(100000);
    assert_int_equal(set("HZ3_PROFILE", 0), 0);
    size_t live = get("allocated"), length = hz3_profile_pprof(whole, sizeof whole);
    assert_in_range(length, 100, sizeof whole);
    assert_int_equal(hz3_profile_pprof(NULL, 0), length);
    memset(part, 'x', sizeof part);
    assert_int_equal(hz3_profile_pprof(part, 32), length);
    assert_memory_equal(part, whole, 32);
    assert_int_equal(part[32], 'x');
    assert_memory_equal(whole, "\x32\0", 2);
    assert_int_equal(get("allocated"), live); /* it allocates nothing */
    hz3_free(p);
}

RUN(cmocka_unit_test(it_reads_what_was_asked_for), cmocka_unit_test(exit_waits_for_nobody),
    cmocka_unit_test(what_has_another_type_is_refused), cmocka_unit_test(the_value_before_comes_with_the_new_one),
    cmocka_unit_test(limits_are_those_that_were_set), cmocka_unit_test(a_thread_counts_what_it_allocates_and_frees),
    cmocka_unit_test(the_difference_is_exact), cmocka_unit_test(what_was_sampled_is_freed_whole),
    cmocka_unit_test(a_large_block_is_freed_whole), cmocka_unit_test(a_block_of_a_heap_does_not_count),
    cmocka_unit_test(a_new_thread_starts_with_nothing), cmocka_unit_test(a_profile_has_one_length_whatever_fits),
    cmocka_unit_test(threads_and_forked_children_may_use_it_at_once), cmocka_unit_test(auto_is_a_number_at_any_moment))
