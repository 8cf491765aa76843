#define _GNU_SOURCE
#include "os/mappings.h"

#include "base/print.h"
#include "os/os.h"
#include "os/sandbox.h"

#include <string.h>
#include <sys/mman.h>

struct file {
    int fd;
    size_t at, end;
    char buf[1024];
};

static int next_byte(struct file *list)
{
    if (list->at == list->end) {
        long got = hz3_os_read(list->fd, list->buf, sizeof list->buf);
        list->at = 0;
        list->end = got > 0 ? (size_t)got : 0;
    }
    return list->at < list->end ? (unsigned char)list->buf[list->at++] : -1;
}

static uintptr_t hex(struct file *list, int *c)
{
    uintptr_t value = 0;
    for (const char *digits = "0123456789abcdef", *digit; (*c = next_byte(list)) > 0 && (digit = strchr(digits, *c));)
        value = value * 16 + (uintptr_t)(digit - digits);
    return value;
}

/* The rest of a mapping's line, up to its end or that of the list.  A path may have any length. */
static int read_path(struct file *list, int c, struct hz3_mapping *mapping)
{
    size_t length = 0, whole = 0;
    for (mapping->path = 0; c >= 0 && c != '\n'; c = next_byte(list)) {
        if (c == '/') length = 0;
        if (c == '/' || mapping->path) mapping->path = mapping->path * 31 + (unsigned)c;
        if (mapping->path && whole < sizeof mapping->whole) mapping->whole[whole++] = (char)c;
        if (c != '/' && mapping->path && length < sizeof mapping->name - 1) mapping->name[length++] = (char)c;
    }
    mapping->name[length] = 0;
    mapping->whole[whole < sizeof mapping->whole ? whole : 0] = 0;
    return c;
}

/* Reads a line.  False: there is none. */
static bool next_mapping(struct file *list, struct hz3_mapping *mapping)
{
    int c;
    mapping->start = hex(list, &c);
    if (c != '-') return false;
    mapping->end = hex(list, &c);
    char rights[5] = {0}; /* rwxp, and a space */
    for (int i = 0; i < 5; i++) rights[i] = (char)next_byte(list);
    mapping->readable = rights[0] == 'r';
    mapping->writable = rights[1] == 'w';
    mapping->executable = rights[2] == 'x';
    mapping->offset = hex(list, &c);
    return read_path(list, c, mapping) >= 0;
}

bool hz3_os_each_mapping(bool (*visit)(const struct hz3_mapping *mapping, void *to), void *to)
{
    struct file list = {.fd = -1};
    struct hz3_mapping mapping = {.end = 0};
    if (!hz3_sandboxed()) list.fd = hz3_os_open("/proc/self/maps");
    if (list.fd >= 0) {
        while (next_mapping(&list, &mapping) && visit(&mapping, to)) continue;
        hz3_os_close(list.fd);
    }
    return mapping.end != 0;
}

void hz3_os_in_memory(uintptr_t at, size_t count, unsigned char *pages)
{
    bool mapped = HZ3_KEEPING_ERRNO(mincore((void *)at, count * hz3_os.page, pages)) == 0;
    for (size_t i = 0; i < count; i++) pages[i] = mapped ? pages[i] & 1 : 0;
}

/* ---- which file a piece of code came from ---- */

struct search {
    uintptr_t code, first; /* first: where the file's first mapping starts */
    uint64_t path;
    char *name;
    size_t size, *offset;
    bool found;
};

static bool look(const struct hz3_mapping *mapping, void *to)
{
    struct search *search = to;
    if (mapping->path != search->path) search->first = mapping->start;
    search->path = mapping->path;
    search->found = search->code - mapping->start < mapping->end - mapping->start;
    if (!search->found) return true;
    hz3_print_name(&(struct hz3_text){search->name, search->size, 0}, mapping->path ? mapping->name : "?", 0);
    *search->offset = search->code - search->first;
    return false;
}

bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset)
{
    struct search search = {.code = (uintptr_t)code, .name = name, .size = size, .offset = offset};
    hz3_os_each_mapping(look, &search);
    return search.found;
}
