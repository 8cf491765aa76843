#define _GNU_SOURCE
#include "os/price.h"

#include "os/os.h"

#include <sys/mman.h>

enum {
    TRIALS = 2, /* the cheaper counts, as another process may interrupt one */
    PAGES = 32, /* in each */
    WARM = 2,   /* a program's pages cost so many times as much: these are in the processor's cache */
    USUAL_NS = 1000,
    LEAST_NS = 100, /* cheaper ones are huge pages, or a clock that is not exact */
};

/* Returns the nanoseconds it took; UINT64_MAX: the system refused. */
static uint64_t trial(volatile char *at)
{
    uint64_t start = hz3_os_now_ns();
    for (size_t i = 0; i < PAGES; i++) at[i * hz3_os.page] = 1;
    if (madvise((void *)at, PAGES * hz3_os.page, MADV_DONTNEED) != 0) return UINT64_MAX;
    return hz3_os_now_ns() - start;
}

static uint32_t measure(void)
{
    size_t bytes = PAGES * hz3_os.page;
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) return USUAL_NS;
    uint64_t least = trial(at);
    for (int i = 1; i < TRIALS; i++) least = hz3_min(least, trial(at));
    munmap(at, bytes);
    if (least == UINT64_MAX) return USUAL_NS;
    return (uint32_t)hz3_min(hz3_max(WARM * least / PAGES, (uint64_t)LEAST_NS), (uint64_t)UINT32_MAX);
}

uint32_t hz3_os_page_price(void)
{
    static HZ3_ATOMIC(uint32_t) known; /* 0: not measured yet; any thread's measurement will do */
    if (!hz3_get(known)) hz3_set(known, HZ3_KEEPING_ERRNO(measure()));
    return hz3_get(known);
}
