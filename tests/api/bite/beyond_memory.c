/* Proves that a request for more than the machine could ever give is answered as a mapping of that size is, under
 * whatever vm.overcommit_memory is set: also where free address space of that size is at hand.  Nothing stays mapped by
 * what is refused, and a block that could not grow is as it was. */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>

#include "support.h"

#define GIB(n) ((size_t)(n) << 30)
enum { PARTS = 6 };

static bool can_map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return p != MAP_FAILED && munmap(p, bytes) == 0;
}

static size_t memory_and_swap(void)
{
    struct sysinfo info;
    CHECK(sysinfo(&info) == 0);
    return (info.totalram + info.totalswap) * info.mem_unit;
}

static void *zeroed(size_t size)
{
    return calloc(1, size);
}

static void *aligned(size_t size)
{
    return aligned_alloc(4096, size);
}

static void *positioned(size_t size)
{
    void *p = NULL;
    errno = posix_memalign(&p, 64, size);
    return p;
}

static void *grown(size_t size)
{
    unsigned char *p = malloc(MIB(1));
    CHECK(p != NULL);
    fill_sparsely(p, MIB(1), KIB(64), 7);
    unsigned char *q = realloc(p, size);
    int saved = errno;
    CHECK(is_filled_sparsely(q != NULL ? q : p, MIB(1), KIB(64), 7, MIB(1)));
    if (q == NULL) free(p);
    errno = saved;
    return q;
}

static void *(*const ask[])(size_t) = {malloc, zeroed, aligned, positioned, valloc, pvalloc, grown};

static void expect_the_system_s_answer(size_t size)
{
    bool granted = can_map(size);
    for (size_t i = 0; i < COUNT_OF(ask); i++) {
        errno = 0;
        void *p = ask[i](size);
        CHECK((p != NULL) == granted);
        CHECK(p != NULL || errno == ENOMEM);
        free(p);
    }
}

static void live(void *unused)
{
    (void)unused;
    size_t all = memory_and_swap();
    expect_the_system_s_answer(all / 2);
    expect_the_system_s_answer(all + all / 8);
    size_t before = status_bytes("VmSize:");
    for (size_t size = GIB(200); size <= GIB(12800); size *= 8) expect_the_system_s_answer(size);
    if (!can_map(GIB(200))) CHECK(status_bytes("VmSize:") < before + MIB(8));
    CHECK(forget(malloc(100)) != NULL);
}

/* The limit is of what is writable: a reservation of any size is granted. */
static void what_a_limit_refuses_takes_no_addresses(void *unused)
{
    (void)unused;
    CHECK(forget(malloc(100)) != NULL);
    CHECK(setrlimit(RLIMIT_DATA, &(struct rlimit){GIB(1), GIB(1)}) == 0);
    size_t before = status_bytes("VmSize:");
    for (size_t size = GIB(12); size <= GIB(12800); size *= 2) expect_the_system_s_answer(size);
    CHECK(status_bytes("VmSize:") < before + MIB(64));
}

/* In one piece these would be more than the machine has. */
static void free_address_space_is_no_reason(void *unused)
{
    (void)unused;
    size_t all = memory_and_swap();
    void *parts[PARTS];
    for (int i = 0; i < PARTS; i++) parts[i] = malloc(all / 4);
    for (int i = 0; i < PARTS; i++) free(parts[i]);
    expect_the_system_s_answer(all + all / 8);
}

/* As mremap is, realloc is judged by what it adds. */
static void a_block_grows_by_less_than_all(void *unused)
{
    (void)unused;
    size_t all = memory_and_swap();
    void *p = malloc(all / 4 * 3);
    if (p == NULL) return;
    void *q = realloc(p, all / 4 * 5);
    CHECK(q != NULL || never_overcommits());
    free(q != NULL ? q : p);
}

int main(void)
{
    expect_success(in_child(live, NULL), 20);
    expect_success(in_child(what_a_limit_refuses_takes_no_addresses, NULL), 20);
    expect_success(in_child(free_address_space_is_no_reason, NULL), 20);
    expect_success(in_child(a_block_grows_by_less_than_all, NULL), 20);
}
