#include "hardship.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "support.h"

enum { MOST_BLOCKS = 64 };

struct belongings {
    struct {
        void *p;
        size_t size;
    } block[MOST_BLOCKS];
    size_t count, refused;
};

static bool granted(struct belongings *own, void *p)
{
    if (p != NULL) return true;
    CHECK(errno == ENOMEM);
    own->refused++;
    return false;
}

static void take(struct belongings *own, size_t i, size_t size)
{
    errno = 0;
    void *p = i % 3 == 0 ? malloc(size) : i % 3 == 1 ? calloc(1, size) : memalign((size_t)16 << i % 10, size);
    if (granted(own, p) && i % 3 == 1) CHECK(is_zero(p, size));
    own->block[i].p = p;
    own->block[i].size = p != NULL ? size : 0;
    if (p != NULL) fill(p, size, i);
}

static void resize(struct belongings *own, size_t i, size_t size)
{
    size_t old = own->block[i].size;
    errno = 0;
    void *p = realloc(own->block[i].p, size);
    if (granted(own, p)) {
        CHECK(is_filled(p, size < old ? size : old, i));
        fill(p, size, i);
        own->block[i].p = p;
        own->block[i].size = size;
    } else {
        CHECK(own->block[i].p == NULL || is_filled(own->block[i].p, old, i));
    }
}

static void release(struct belongings *own, size_t i)
{
    CHECK(own->block[i].p == NULL || is_filled(own->block[i].p, own->block[i].size, i));
    errno = 4321;
    free(own->block[i].p);
    CHECK(errno == 4321);
    own->block[i].p = NULL;
    own->block[i].size = 0;
}

static void live_through(struct belongings *own, size_t largest)
{
    own->count = 0;
    for (size_t size = 16; size <= largest && own->count < MOST_BLOCKS; size += size / 2 + 5)
        take(own, own->count++, size);
    for (size_t i = 0; i < own->count; i++)
        resize(own, i, i % 2 ? own->block[i].size * 2 + 16 : own->block[i].size / 2 + 16);
    for (size_t i = 0; i < own->count; i += 2) release(own, i);
    malloc_trim(0);
    for (size_t i = 0; i < own->count; i += 2) take(own, i, own->block[i + (i + 1 < own->count)].size + 1);
    for (size_t i = 0; i < own->count; i++) release(own, i);
}

static void *live_in_a_thread(void *arg)
{
    live_through((struct belongings *)arg, KIB(40));
    return NULL;
}

/* The middle one of three such blocks has no room to grow, so it is moved, by mremap where the system lets it. */
static void move_a_large_block(struct belongings *own)
{
    for (size_t i = 0; i < 3; i++) take(own, i, MIB(1));
    resize(own, 1, MIB(2));
    for (size_t i = 0; i < 3; i++) release(own, i);
}

size_t endure(size_t largest)
{
    struct belongings own = {.count = 0}, threads = {.count = 0};
    pthread_t thread;
    bool started = pthread_create(&thread, NULL, live_in_a_thread, &threads) == 0;
    move_a_large_block(&own);
    live_through(&own, largest);
    malloc_trim(0);
    live_through(&own, largest);
    if (started) join_thread(thread);
    return own.refused + threads.refused + !started;
}
