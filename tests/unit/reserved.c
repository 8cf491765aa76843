/* Systems where hz3 may not choose addresses, as under ThreadSanitizer: all memory lies in one reservation, inside
 * which the system may still refuse memory. */
#include "unit.h"

#include "back/arena.h"
#include "back/gauges.h"
#include "back/pages.h"
#include "back/purge.h"
#include "hz3.h"
#include "os/os.h"

#include "support.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* hz3 takes this for ThreadSanitizer. */
void __tsan_init(void);
void __tsan_init(void) {}

static int allowed = -1; /* calls of mmap and mprotect that succeed before the others fail; -1: all */

void *mmap(void *at, size_t bytes, int protection, int how, int fd, off_t offset)
{
    if (!allowed) {
        if (how & MAP_FIXED) syscall(SYS_munmap, at, bytes); /* as Linux does before it asks for memory */
        errno = ENOMEM;
        return MAP_FAILED;
    }
    if (allowed > 0) allowed--;
    return (void *)syscall(SYS_mmap, at, bytes, protection, how, fd, offset);
}

static bool locked; /* pages do not go back */

int madvise(void *at, size_t bytes, int advice)
{
    if (!locked || advice != MADV_DONTNEED) return (int)syscall(SYS_madvise, at, bytes, advice);
    errno = EINVAL;
    return -1;
}

int mprotect(void *at, size_t bytes, int protection)
{
    if (!allowed) {
        errno = ENOMEM;
        return -1;
    }
    if (allowed > 0) allowed--;
    return (int)syscall(SYS_mprotect, at, bytes, protection);
}

static void all_lies_in_one_reservation(void **state)
{
    (void)state;
    const struct hz3_window *window = &hz3_windows[0];
    assert_true(window->reserved);
    assert_int_equal(hz3_os_map_at(window->base, hz3_os.page), HZ3_MAP_NOMEM);
    assert_int_equal(hz3_os_map_readonly_at(window->base, hz3_os.page), HZ3_MAP_NOMEM);
    uintptr_t places[] = {hz3_magazine_area, (uintptr_t)window->spans, (uintptr_t)window->free, (uintptr_t)window->tags,
                          window->base};
    for (int i = 1; i < 5; i++) assert_true(places[i - 1] < places[i]);
    if (!hz3_state_tables) return;
    assert_int_equal(hz3_state_tables, 1);
    assert_true((uintptr_t)hz3_state_at(window->base + window->bytes, HZ3_UNIT_SHIFT) <= hz3_magazine_area);
}

static void memory_goes_back_and_stays_reserved(void **state)
{
    (void)state;
    size_t sizes[] = {24, 5000, 300000, HZ3_MIB(20)};
    for (int i = 0; i < 4; i++) {
        char *p = hz3_malloc(sizes[i]);
        assert_non_null(p);
        fill(p, sizes[i], (uint64_t)i);
        assert_non_null(p = hz3_realloc(p, 2 * sizes[i]));
        assert_true(is_filled(p, sizes[i], (uint64_t)i));
        hz3_free(p);
    }
    size_t mapped = status_bytes("VmSize:");
    struct hz3_span *span = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    char *p = (char *)span->start;
    *p = 1;
    assert_false(hz3_pages_may_move(span));
    hz3_pages_free(span);
    assert_true(hz3_pages_purge(0, 0, true) >= 64 * (size_t)HZ3_GRANULE);
    assert_int_equal(*p, 0);
    assert_int_equal(status_bytes("VmSize:"), mapped);
}

static void locked_memory_stays_there(void **state)
{
    (void)state;
    hz3_pages_purge(0, 0, true);
    struct hz3_span *span = hz3_pages_alloc(64, 1, HZ3_SPAN_LARGE);
    char *p = (char *)span->start;
    *p = 1;
    hz3_pages_free(span);
    locked = true;
    assert_int_equal(hz3_pages_purge(0, 0, true), 0);
    locked = false;
    assert_int_equal(*p, 1);
    assert_true(hz3_pages_refused());
}

/* A new mapping might leave a gap, where anybody's could come to lie. */
static void a_target_that_cannot_be_purged_stays(void **state)
{
    (void)state;
    struct hz3_span *from = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE), *to = hz3_pages_alloc(4, 1, HZ3_SPAN_LARGE);
    char *target = (char *)to->start;
    *target = 1;
    size_t dirty = hz3_gauge(HZ3_GAUGE_DIRTY);
    locked = true;
    allowed = 0;
    assert_false(hz3_pages_move(to, from));
    locked = false;
    allowed = -1;
    assert_int_equal(hz3_gauge(HZ3_GAUGE_DIRTY), dirty + 4 * HZ3_GRANULE);
    assert_int_equal(*target, 1);
    hz3_pages_free(from);
}

static void refusals_are_told_and_pass(void **state)
{
    (void)state;
    struct hz3_window *window = &hz3_windows[0];
    size_t reserved = status_bytes("VmSize:");
    allowed = 0;
    assert_int_equal(hz3_arena_extend(window, 1), HZ3_ARENA_REFUSED);
    assert_int_equal(hz3_arena_magazines(HZ3_KIB(64)), 0);
    assert_int_equal(status_bytes("VmSize:"), reserved);
    allowed = -1;
    assert_true(hz3_arena_extend(window, 1) >= 0);
    assert_true(hz3_arena_magazines(HZ3_KIB(64)) > 0);
}

/* Whether the reservation fails, or the mapping of the first table. */
static void a_window_that_cannot_be_opened_leaves_nothing(void **state)
{
    (void)state;
    uint32_t count = hz3_get(hz3_window_count);
    size_t mapped = status_bytes("VmSize:");
    for (int i = 0; i < 2; i++) {
        allowed = i;
        assert_null(hz3_arena_open_window(HZ3_GRANULE));
        allowed = -1;
        assert_int_equal(hz3_get(hz3_window_count), count);
        assert_int_equal(status_bytes("VmSize:"), mapped);
    }
}

RUN(cmocka_unit_test(all_lies_in_one_reservation), cmocka_unit_test(memory_goes_back_and_stays_reserved),
    cmocka_unit_test(locked_memory_stays_there), cmocka_unit_test(a_target_that_cannot_be_purged_stays),
    cmocka_unit_test(refusals_are_told_and_pass), cmocka_unit_test(a_window_that_cannot_be_opened_leaves_nothing))
