/* The module of an address is found among the process's mappings, also where paths are long or strange. */
#include "folder.h"

#include "os/module.h"
#include "os/stack.h"

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
    void *frames[4] = {NULL};
    errno = 42;
    unsigned depth = hz3_os_stack(frames, 4);
    assert_int_equal(errno, 42);
    assert_in_range(depth, 1, 4);
    assert_in_range(frames[0], a_stack_begins_where_it_was_asked_for,
                    (char *)a_stack_begins_where_it_was_asked_for + 512);
    assert_int_equal(hz3_os_stack(frames, 0), 0);
}

RUN(cmocka_unit_test(a_stack_begins_where_it_was_asked_for), IN_FOLDER(its_name_is_the_last_part_of_any_path),
    cmocka_unit_test(memory_of_no_file_has_none))
