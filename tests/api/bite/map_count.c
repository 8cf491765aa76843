/* Proves that requests succeed in a process that has nearly all its mappings (vm.max_map_count), and leave it some.  In
 * one that has used them up, malloc returns memory or ENOMEM and free works.  Once there are fewer mappings, requests
 * succeed again.  Freed memory that is unmapped, since it is locked or counts, does not use them up ("locked",
 * "counted").
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "hardship.h"
#include "support.h"

enum { LEFT = 32, WANTED = 8, BLOCKS = 1200, SIZE = 40000 };

static size_t most_mappings(void)
{
    char text[32] = "";
    int fd = open("/proc/sys/vm/max_map_count", O_RDONLY);
    CHECK(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
    close(fd);
    return strtoul(text, NULL, 10);
}

/* Changes the protection of every second page of a region until the kernel refuses.  Then changes the last few back, so
 * that the process may still make `left` mappings. */
static void use_up_mappings(char *region, size_t pages, size_t page, size_t left)
{
    size_t at = 0;
    while (at < pages && mprotect(region + at * page, page, PROT_READ) == 0) at += 2;
    CHECK(at < pages && errno == ENOMEM);
    for (; left > 0; left -= 2) CHECK(mprotect(region + (at -= 2) * page, page, PROT_NONE) == 0);
}

/* Neighbours of different protections are mappings of their own. */
static void expect_mappings(size_t page)
{
    char *region = mmap(NULL, WANTED * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(region != MAP_FAILED);
    for (size_t i = 1; i < WANTED; i += 2) CHECK(mprotect(region + i * page, page, PROT_READ) == 0);
    CHECK(munmap(region, WANTED * page) == 0);
}

/* A chain of blocks of which few lie in a row. */
static void *take_runs(void)
{
    void **chain = NULL;
    for (int i = 0; i < BLOCKS; i++) {
        void **block = malloc(SIZE);
        CHECK(block != NULL);
        *block = chain;
        chain = block;
    }
    return chain;
}

static void free_chain(void *chain)
{
    for (void *next; chain != NULL; chain = next) {
        next = *(void **)chain;
        free(chain);
    }
}

static void live_at_the_limit(void *arg)
{
    size_t pages = 2 * *(size_t *)arg, page = (size_t)sysconf(_SC_PAGESIZE);
    void *large = malloc(MIB(20)), *small = malloc(100);
    CHECK(large != NULL && small != NULL);
    void *region = mmap(NULL, pages * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(region != MAP_FAILED);
    use_up_mappings(region, pages, page, LEFT);
    void *runs = take_runs();
    expect_mappings(page);
    for (int round = 0; round < 5; round++) CHECK(endure(KIB(256)) == 0);
    free_chain(runs);
    use_up_mappings(region, pages, page, 0);
    for (int round = 0; round < 5; round++) endure(MIB(8));
    errno = 4321;
    free(large);
    free(small);
    CHECK(errno == 4321);
    endure(MIB(8));
    CHECK(munmap(region, pages * page) == 0);
    CHECK(endure(MIB(8)) == 0);
}

static void *rest(void *nothing)
{
    return nothing;
}

/* Blocks that are freed one by one between live ones. */
static void free_every_second(size_t size)
{
    enum { MANY = 140000 };
    static void *block[MANY];
    for (size_t i = 0; i < MANY; i++) CHECK((block[i] = malloc(size)) != NULL);
    for (size_t i = 0; i < MANY; i += 2) free(block[i]);
    expect_mappings((size_t)sysconf(_SC_PAGESIZE));
    join_thread(start_thread(rest, NULL));
    CHECK(malloc(MIB(1)) != NULL);
}

static void live_locked(void)
{
    if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) != 0) skip_test("mlockall is not permitted here");
    free_every_second(KIB(64) + 1);
}

static void live_where_mappings_count(void)
{
    CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){(rlim_t)1 << 44, RLIM_INFINITY}) == 0);
    free_every_second(MIB(1));
}

int main(int argc, char **argv)
{
    if (argc == 2) return (strcmp(argv[1], "locked") == 0 ? live_locked : live_where_mappings_count)(), 0;
    size_t most = most_mappings();
    if (most > 1000000) skip_test("vm.max_map_count is too large to be reached in a test");
    expect_success(in_child(live_at_the_limit, &most), 40);
}
