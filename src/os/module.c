#include "os/module.h"

#include "base/print.h"
#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

struct file {
    int fd;
    size_t at, end;
    char buf[1024];
};

static int next_byte(struct file *maps)
{
    if (maps->at == maps->end) {
        ssize_t got = read(maps->fd, maps->buf, sizeof maps->buf);
        maps->at = 0;
        maps->end = got > 0 ? (size_t)got : 0;
    }
    return maps->at < maps->end ? (unsigned char)maps->buf[maps->at++] : -1;
}

/* One line of the list.  A path may have any length, so this keeps its last part and a hash of the whole. */
struct mapping {
    uintptr_t start, end;
    uint64_t path; /* 0: none */
    char name[256];
};

static uintptr_t hex(struct file *maps, int *c)
{
    uintptr_t value = 0;
    for (const char *digits = "0123456789abcdef", *digit; (*c = next_byte(maps)) > 0 && (digit = strchr(digits, *c));)
        value = value * 16 + (uintptr_t)(digit - digits);
    return value;
}

static bool next_mapping(struct file *maps, struct mapping *mapping)
{
    size_t length = 0;
    int c;
    mapping->start = hex(maps, &c);
    mapping->end = c == '-' ? hex(maps, &c) : mapping->start;
    for (mapping->path = 0; c >= 0 && c != '\n'; c = next_byte(maps)) {
        if (c == '/') length = 0;
        if (c == '/' || mapping->path) mapping->path = mapping->path * 31 + (unsigned)c;
        if (c != '/' && mapping->path && length < sizeof mapping->name - 1) mapping->name[length++] = (char)c;
    }
    mapping->name[length] = 0;
    return c >= 0;
}

static bool find(struct file *maps, uintptr_t code, char *name, size_t size, size_t *offset)
{
    struct mapping mapping;
    uintptr_t first = 0;
    for (uint64_t path = 0; next_mapping(maps, &mapping); path = mapping.path) {
        if (mapping.path != path) first = mapping.start;
        if (code - mapping.start >= mapping.end - mapping.start) continue;
        hz3_print_name(&(struct hz3_text){name, size, 0}, mapping.path ? mapping.name : "?", 0);
        *offset = code - first;
        return true;
    }
    return false;
}

bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset)
{
    int saved = errno;
    struct file maps = {.fd = -1};
    if (hz3_get(hz3_os_may_open)) maps.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool found = maps.fd >= 0 && find(&maps, (uintptr_t)code, name, size, offset);
    if (maps.fd >= 0) close(maps.fd);
    errno = saved;
    return found;
}
