/* Proves that hz3 starts and works under RLIMIT_AS.  At the limit every thread gets ENOMEM, once memory is freed all of
 * it can be allocated again, and free memory never makes a request fail. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "support.h"

/* Blocks of one size, each holding the address of the one before it. */
struct chain {
    void *last;
    size_t bytes;
};

static void append(struct chain *chain, void *p, size_t size)
{
    memset(p, 1, size);
    memcpy(p, &chain->last, sizeof(p));
    chain->last = p;
    chain->bytes += size;
}

static struct chain exhaust(size_t size)
{
    struct chain chain = {NULL, 0};
    void *p;
    errno = 0;
    while ((p = malloc(size)) != NULL) append(&chain, p, size);
    CHECK(errno == ENOMEM);
    return chain;
}

static size_t release(struct chain chain)
{
    for (void *p = chain.last, *before; p != NULL; p = before) {
        memcpy(&before, p, sizeof(before));
        errno = 4321;
        free(p);
        CHECK(errno == 4321);
    }
    return chain.bytes;
}

static pthread_barrier_t exhausted;

/* The thread's first calls come when there is no memory left, not even for its cache. */
static void *first_calls_when_exhausted(void *others_block)
{
    pthread_barrier_wait(&exhausted);
    free(others_block);
    errno = 0;
    void *p = malloc(40000);
    CHECK(p != NULL || errno == ENOMEM);
    free(p);
    return NULL;
}

static pthread_t start_small_thread(void *arg)
{
    pthread_t thread;
    pthread_attr_t attributes;
    CHECK(pthread_attr_init(&attributes) == 0);
    CHECK(pthread_attr_setstacksize(&attributes, KIB(64)) == 0);
    CHECK(pthread_create(&thread, &attributes, first_calls_when_exhausted, arg) == 0);
    return thread;
}

static void live_under(size_t limit)
{
    size_t at_least = limit / 8;
    CHECK(pthread_barrier_init(&exhausted, NULL, 2) == 0);
    pthread_t thread = start_small_thread(malloc(100));
    struct chain all = exhaust(1000);
    pthread_barrier_wait(&exhausted);
    join_thread(thread);
    size_t small = release(all);
    CHECK(small >= at_least);
    CHECK(release(exhaust(1000)) >= small / 10 * 9);
    for (int round = 0; round < 4; round++) {
        CHECK(release(exhaust(30000)) >= at_least);
        CHECK(release(exhaust(KIB(300))) >= at_least);
        CHECK(release(exhaust(1000)) >= small / 2); /* address space may be fragmented by now, but not lost */
    }
}

static void *touched(size_t size)
{
    void *p = malloc(size);
    CHECK(p != NULL);
    return memset(p, 1, size);
}

/* The free memory is in pieces around one live block. */
static void large_blocks_make_room(size_t limit)
{
    void *block[8];
    for (size_t i = 0; i < COUNT_OF(block); i++) block[i] = touched(limit / 10);
    for (size_t i = 0; i < COUNT_OF(block); i++)
        if (i != 4) free(block[i]);
    free(touched(limit / 10 * 6));
    free(block[4]);
}

static void small_objects_make_room(size_t limit)
{
    enum { SIZE = 1000 };
    struct chain kept = {NULL, 0}, gone = kept;
    for (size_t i = 0; i < limit / 10 * 6 / SIZE; i++) append(i % 50000 ? &gone : &kept, touched(SIZE), SIZE);
    release(gone);
    free(touched(limit / 10 * 6));
    release(kept);
}

/* Objects of one size take all there is and are freed but for one in 512 KiB.  At least half of that serves the other.
 */
static void serves(size_t size, size_t other)
{
    const uintptr_t apart = 512 << 10;
    struct chain all = exhaust(size), kept = {NULL, 0};
    size_t freed = 0;
    for (void *p = all.last, *before; p != NULL; p = before) {
        memcpy(&before, p, sizeof(before));
        if (kept.last && (uintptr_t)kept.last / apart == (uintptr_t)p / apart) {
            free(p);
            freed += size;
        } else {
            append(&kept, p, size);
        }
    }
    struct chain more = exhaust(other);
    CHECK(more.bytes >= freed / 2);
    release(more);
    release(kept);
}

static void other_sizes_have_what_was_freed(size_t limit)
{
    (void)limit;
    serves(2000, 48);
    serves(48, 2000);
}

/* The old block and a new one together would exceed the limit. */
static void a_block_grows_where_it_is(size_t limit)
{
    unsigned char *p = touched(limit / 100 * 55);
    p = realloc(p, limit / 100 * 65);
    CHECK(p != NULL && p[0] == 1 && p[limit / 100 * 55 - 1] == 1);
    free(p);
}

void free_sized(void *p, size_t size) __attribute__((weak)); /* C23 */

/* There is no memory for a smaller block, so it stays, and has its new size. */
static void a_block_shrinks_where_it_is(size_t limit)
{
    enum { SMALLER = 2000 };
    void *p = touched(limit / 2);
    struct chain all = exhaust(SMALLER);
    CHECK((p = realloc(p, SMALLER)) != NULL);
    if (free_sized)
        free_sized(p, SMALLER);
    else
        free(p);
    release(all);
}

static void what_is_refused_costs_nothing(size_t limit)
{
    for (size_t size = (size_t)1 << 40; size < (size_t)1 << 45; size *= 2) {
        errno = 0;
        CHECK(malloc(size) == NULL && errno == ENOMEM);
    }
    free(touched(limit / 2));
}

static size_t largest_block(size_t limit)
{
    size_t size = limit;
    void *p;
    while ((p = malloc(size)) == NULL) size -= MIB(1);
    free(memset(p, 1, size));
    return size;
}

static void *wait_for_it(void *unlocked)
{
    pthread_mutex_lock(unlocked);
    return NULL;
}

static void nothing(void *arg)
{
    (void)arg;
}

/* The memory set aside for forks beside threads must not make requests fail, wherever it lies.  After a block of each
 * size the heap has mapped all its tables, in lane secure, too, where freed addresses wait. */
static void forks_cost_nothing(size_t limit)
{
    pthread_mutex_t end = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&end);
    pthread_t thread = start_thread(wait_for_it, &end);
    enum { SIZES = 4 };
    size_t largest = 0;
    for (int fork = 0; fork < SIZES + 6; fork++) {
        free(touched(limit / 10 * (1 + (size_t)fork % SIZES)));
        expect_success(in_child(nothing, NULL), 20);
        size_t now = largest_block(limit);
        if (fork < SIZES) largest = now;
        CHECK(now >= largest);
    }
    pthread_mutex_unlock(&end);
    join_thread(thread);
}

/* The heap has grown and become empty, but for a block, before there is a limit. */
static void the_limit_comes_late(void)
{
    void *block[16];
    for (size_t i = 0; i < COUNT_OF(block); i++) block[i] = touched(MIB(40));
    for (size_t i = 0; i < COUNT_OF(block); i++)
        if (i != 8) free(block[i]);
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){MIB(1024), RLIM_INFINITY}) == 0);
    free(touched(MIB(700)));
    free(block[8]);
}

static const struct {
    const char *name;
    void (*live)(size_t limit);
    size_t limit;
} cases[] = {
    {"64_mib", live_under, MIB(64)},
    {"16_mib", live_under, MIB(16)},
    {"large_blocks", large_blocks_make_room, MIB(256)},
    {"small_objects", small_objects_make_room, MIB(256)},
    {"other_sizes", other_sizes_have_what_was_freed, MIB(64)},
    {"growing", a_block_grows_where_it_is, MIB(256)},
    {"shrinking", a_block_shrinks_where_it_is, MIB(64)},
    {"refused", what_is_refused_costs_nothing, MIB(256)},
    {"forks", forks_cost_nothing, MIB(256)},
};

/* address_limit CASE [BYTES].  With BYTES the limit is set already, so that hz3's start is under it, too.  Without CASE
 * it comes late. */
int main(int argc, char **argv)
{
    char bytes[24];
    if (argc == 1) return the_limit_comes_late(), 0;
    CHECK(argc == 2 || argc == 3);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (strcmp(argv[1], cases[i].name) != 0) continue;
        if (argc == 3) {
            cases[i].live(strtoul(argv[2], NULL, 10));
            return 0;
        }
        CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){cases[i].limit, RLIM_INFINITY}) == 0);
        snprintf(bytes, sizeof(bytes), "%zu", cases[i].limit);
        execv("/proc/self/exe", (char *const[]){argv[0], argv[1], bytes, NULL});
        return 127;
    }
    CHECK(!"a case of that name");
}
