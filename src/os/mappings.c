#define _GNU_SOURCE
#include "os/mappings.h"

#include "base/print.h"
#include "os/os.h"
#include "os/sandbox.h"

#include <errno.h>
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

/* A line below a mapping's, such as "Rss:  12 kB", whose first character is c. */
static int read_figure(struct file *list, int c, size_t *resident)
{
    const char *key = "Rss:";
    size_t kib = 0;
    for (; *key && c == *key; key++) c = next_byte(list);
    for (; c >= 0 && c != '\n'; c = next_byte(list))
        if (c >= '0' && c <= '9') kib = kib * 10 + (size_t)(c - '0');
    if (!*key) *resident = kib << 10;
    return c;
}

/* Reads up to the line of the mapping after `mapping`, and calls visit for `mapping`, unless it is the first line. */
static bool next_mapping(struct file *list, struct hz3_mapping *mapping,
                         bool (*visit)(const struct hz3_mapping *mapping, void *to), void *to)
{
    int c;
    uintptr_t start;
    for (start = hex(list, &c); c >= 0 && c != '-'; start = hex(list, &c))
        if (read_figure(list, c, &mapping->resident) < 0) return false;
    if (mapping->end && !visit(mapping, to)) return false;
    if (c < 0) return false;
    mapping->start = start;
    mapping->end = hex(list, &c);
    mapping->resident = 0;
    mapping->executable = false;
    for (int i = 0; i < 5; i++) mapping->executable |= next_byte(list) == 'x'; /* rwxp, and a space */
    mapping->offset = hex(list, &c);
    return read_path(list, c, mapping) >= 0;
}

bool hz3_os_each_mapping(bool resident, bool (*visit)(const struct hz3_mapping *mapping, void *to), void *to)
{
    struct file list = {.fd = -1};
    struct hz3_mapping mapping = {.end = 0};
    if (!hz3_sandboxed()) list.fd = hz3_os_open(resident ? "/proc/self/smaps" : "/proc/self/maps");
    if (list.fd >= 0) {
        while (next_mapping(&list, &mapping, visit, to)) continue;
        hz3_os_close(list.fd);
    }
    return mapping.end != 0;
}

size_t hz3_os_resident(uintptr_t at, size_t bytes)
{
    int saved = errno;
    unsigned char in_memory[256];
    size_t pages = 0;
    uintptr_t end = hz3_round_up(at + bytes, hz3_os.page);
    for (at -= at % hz3_os.page; at < end;) {
        size_t part = hz3_min(end - at, sizeof in_memory * hz3_os.page);
        if (mincore((void *)at, part, in_memory) == 0)
            for (size_t i = 0; i < part / hz3_os.page; i++) pages += in_memory[i] & 1;
        at += part;
    }
    errno = saved;
    return pages * hz3_os.page;
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
    hz3_os_each_mapping(false, look, &search);
    return search.found;
}
