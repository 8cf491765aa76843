/* Every unit test includes this: cmocka, and hz3 started with its defaults, as in a process whose memory has grown. */
#ifndef HZ3_UNIT_H
#define HZ3_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "api/init.h"
#include "back/learn.h"
#include "os/mappings.h"
#include "os/os.h"

static inline int unit_start(void **state)
{
    (void)state;
    hz3_ensure_started();
    hz3_learn();
    return 0;
}

extern void __asan_init(void) __attribute__((weak));
extern void __tsan_init(void) __attribute__((weak));

/* These two sanitizers map shadow memory at any time, and end the process if they cannot. */
static inline bool unit_is_shadowed(void)
{
    return __asan_init || __tsan_init;
}

/* Of the pages that [at, at + bytes) touches. */
static inline size_t bytes_in_memory(uintptr_t at, size_t bytes)
{
    size_t found = 0;
    unsigned char there;
    for (uintptr_t page = at & -hz3_os.page; page < at + bytes; page += hz3_os.page, found += there * hz3_os.page)
        hz3_os_in_memory(page, 1, &there);
    return found;
}

#define RUN(...) \
    int main(void) \
    { \
        const struct CMUnitTest tests[] = {__VA_ARGS__}; \
        return cmocka_run_group_tests(tests, unit_start, NULL); \
    }
#endif
