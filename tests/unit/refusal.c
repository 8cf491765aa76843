/* What the system would refuse: the answer costs no call for usual sizes, and none for what was granted before. */
#include "unit.h"

#include "os/refusal.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static unsigned mapped, unmapped;
static size_t memory;       /* the system refuses more at once, unless that is not to count */
static size_t room;         /* it has no place for more */
static unsigned others_ask; /* so many of the next mappings meet another thread's */

/* These replace libc's. */
void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    mapped++;
    bool meets = others_ask && others_ask--;
    if (meets || bytes > room || (bytes > memory && !(flags & MAP_NORESERVE))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, at, HZ3_KIB(4), protection, flags, fd, offset);
}

int munmap(void *at, size_t bytes)
{
    unmapped++;
    return (int)syscall(SYS_munmap, at, bytes > HZ3_KIB(4) ? HZ3_KIB(4) : bytes);
}

static void usual_sizes_cost_no_call(void **state)
{
    (void)state;
    mapped = 0;
    for (size_t bytes = 1; bytes <= HZ3_MIB(256); bytes *= 2) assert_false(hz3_os_exceeds_memory(bytes));
    assert_int_equal(mapped, 0);
}

static void what_was_granted_is_not_asked_again(void **state)
{
    (void)state;
    memory = (size_t)64 << 30;
    room = SIZE_MAX;
    mapped = unmapped = 0;
    for (size_t bytes = HZ3_MIB(512); bytes < memory; bytes *= 2)
        for (int i = 0; i < 3; i++) assert_false(hz3_os_exceeds_memory(bytes - HZ3_MIB(1) * (unsigned)i));
    assert_int_equal(mapped, 7);
    assert_int_equal(unmapped, mapped);
}

/* A limit of the process leaves no room while another thread asks; it refuses no more than that. */
static void two_may_ask_at_once(void **state)
{
    (void)state;
    memory = room = SIZE_MAX;
    others_ask = 1;
    assert_false(hz3_os_exceeds_memory((size_t)65 << 30));
    memory = (size_t)64 << 30;
}

static void more_than_all_memory_is_known_as_such(void **state)
{
    (void)state;
    errno = 4321;
    assert_false(hz3_os_exceeds_memory(memory));
    assert_true(hz3_os_exceeds_memory(memory + 1));
    memory *= 4; /* swap came */
    assert_false(hz3_os_exceeds_memory(memory / 2));
    assert_int_equal(errno, 4321);
}

static void a_limit_of_the_process_is_another_reason(void **state)
{
    (void)state;
    room = HZ3_MIB(300);
    assert_false(hz3_os_exceeds_memory(2 * memory));
    assert_true(hz3_os_has_room(HZ3_MIB(300)) && !hz3_os_has_room(HZ3_MIB(301)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(usual_sizes_cost_no_call),
        cmocka_unit_test(what_was_granted_is_not_asked_again),
        cmocka_unit_test(more_than_all_memory_is_known_as_such),
        cmocka_unit_test(a_limit_of_the_process_is_another_reason),
        cmocka_unit_test(two_may_ask_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
