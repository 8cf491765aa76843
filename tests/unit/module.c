/* The module of an address is found among the process's mappings, also where paths are long or strange. */
#include "folder.h"

#include "os/mappings.h"
#include "os/backtrace.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BYTES = 8 * 4096 };

/* Maps the file in two pieces, as the loader maps a library's code and data. */
static char *map(const char *name)
{
    int fd = open(name, O_RDWR | O_CREAT, 0600);
    assert_true(fd >= 0 && ftruncate(fd, BYTES) == 0);
    char *at = mmap(NULL, BYTES, PROT_READ, MAP_PRIVATE, fd, 0);
    assert_true(at != MAP_FAILED && mprotect(at + BYTES / 2, BYTES / 2, PROT_READ | PROT_WRITE) == 0);
    close(fd);
    return at;
}

static void expect(const char *code, const char *module, size_t distance)
{
    char name[64];
    size_t offset;
    assert_true(hz3_os_module_of(code, name, sizeof name, &offset));
    assert_string_equal(name, module);
    assert_int_equal(offset, distance);
}

/* Makes folders inside each other until paths are longer than the reader's buffer. */
static void its_name_is_the_last_part_of_any_path(void **state)
{
    (void)state;
    char part[200] = "";
    memset(part, 'd', sizeof part - 1);
    assert_int_equal(chdir(folder), 0);
    char *shallow = map("lib a\n.so");
    for (int depth = 0; depth < 6; depth++) assert_true(mkdir(part, 0700) == 0 && chdir(part) == 0);
    char *deep = map("libdeep.so"), *other = map("libother.so");
    expect(shallow + 100, "lib a\\012.so", 100);
    expect(deep + BYTES - 1, "libdeep.so", BYTES - 1);
    expect(other, "libother.so", 0);
    munmap(shallow, BYTES);
    munmap(deep, BYTES);
    munmap(other, BYTES);
    assert_int_equal(chdir("/"), 0);
}

static void memory_of_no_file_has_none(void **state)
{
    (void)state;
    char here = 0, name[64];
    size_t offset;
    assert_true(hz3_os_module_of(&here, name, sizeof name, &offset));
    assert_string_equal(name, "?");
    assert_false(hz3_os_module_of((void *)1, name, sizeof name, &offset));
}

/* Without backtrace(), stacks are walked by frame pointers, of which only the first is certain. */
__attribute__((noinline)) static void a_stack_begins_where_it_was_asked_for(void **state)
{
    (void)state;
    struct hz3_calls stack;
    errno = 42;
    hz3_os_stack(&stack, NULL);
    assert_int_equal(errno, 42);
    assert_in_range(stack.depth, 1, HZ3_CALLS_MAX);
    assert_in_range(stack.frames[0], a_stack_begins_where_it_was_asked_for,
                    (char *)a_stack_begins_where_it_was_asked_for + 512);
}

static struct hz3_calls last;
static uint64_t path; /* which way the calls go, a bit for each */

/* The stack with the help of the last one is the one without, but for the call itself. */
static void compare(void)
{
    struct hz3_calls helped, plain;
    hz3_os_stack(&helped, &last);
    hz3_os_stack(&plain, NULL);
    assert_int_equal(helped.depth, plain.depth);
    assert_memory_equal(helped.frames + 1, plain.frames + 1, (plain.depth - 1) * sizeof *plain.frames);
    last = helped;
}

/* Frames of two sizes, each with two places to call from. */
#define GO_DOWN(name, bytes, one, other) \
    __attribute__((noinline)) static void name(unsigned depth) \
    { \
        volatile char room[bytes]; \
        room[0] = 0; \
        if (!depth) \
            compare(); \
        else if (path >> depth & 1) \
            one(depth - 1); \
        else \
            other(depth - 1); \
        room[bytes - 1] = room[0]; \
    }
static void go_down_far(unsigned depth);
GO_DOWN(go_down, 16, go_down_far, go_down)
GO_DOWN(go_down_far, 528, go_down, go_down_far)

static void a_stack_is_the_same_with_the_last_one_s_help(void **state)
{
    (void)state;
    hz3_os_stack_start();
    for (uint64_t i = 1; i <= 3000; i++) {
        path = i % 5 ? path ^ 1u << i % 16 : i * 0x9e3779b97f4a7c15u;
        go_down((unsigned)(path >> 33) % 12);
    }
}

RUN(cmocka_unit_test(a_stack_begins_where_it_was_asked_for), IN_FOLDER(its_name_is_the_last_part_of_any_path),
    cmocka_unit_test(memory_of_no_file_has_none), cmocka_unit_test(a_stack_is_the_same_with_the_last_one_s_help))
