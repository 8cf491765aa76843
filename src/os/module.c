#include "os/module.h"

#include "os/os.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Lines, of which a longer one is cut. */
struct lines {
    int fd;
    size_t at, end;
    char buf[1024];
};

static int next_byte(struct lines *lines)
{
    if (lines->at == lines->end) {
        ssize_t got = read(lines->fd, lines->buf, sizeof lines->buf);
        lines->at = 0;
        lines->end = got > 0 ? (size_t)got : 0;
    }
    return lines->at < lines->end ? (unsigned char)lines->buf[lines->at++] : -1;
}

static bool next_line(struct lines *lines, char *line, size_t size)
{
    size_t length = 0;
    int c;
    while ((c = next_byte(lines)) >= 0 && c != '\n')
        if (length < size - 1) line[length++] = (char)c;
    line[length] = 0;
    return length > 0;
}

static uintptr_t hex(const char **text)
{
    uintptr_t value = 0;
    for (const char *digits = "0123456789abcdef", *digit; **text && (digit = strchr(digits, **text)); ++*text)
        value = value * 16 + (uintptr_t)(digit - digits);
    return value;
}

static void copy_printable(char *to, size_t size, const char *from)
{
    size_t i = 0;
    for (; from[i] && i < size - 1; i++) to[i] = (char)(from[i] < ' ' || from[i] > '~' ? '?' : from[i]);
    to[i] = 0;
}

static bool find(struct lines *lines, uintptr_t code, char *name, size_t size, size_t *offset)
{
    char line[512], file[sizeof line] = "";
    uintptr_t first = 0;
    while (next_line(lines, line, sizeof line)) {
        const char *at = line, *path = strchr(line, '/');
        uintptr_t start = hex(&at);
        uintptr_t end = *at == '-' ? (at++, hex(&at)) : start;
        if (!path) path = "";
        if (strcmp(path, file) != 0) {
            first = start;
            strcpy(file, path);
        }
        if (code - start >= end - start) continue;
        copy_printable(name, size, *file ? strrchr(file, '/') + 1 : "?");
        *offset = code - first;
        return true;
    }
    return false;
}

bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset)
{
    int saved = errno;
    struct lines lines = {.fd = -1};
    if (hz3_get(hz3_os_may_open)) lines.fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
    bool found = lines.fd >= 0 && find(&lines, (uintptr_t)code, name, size, offset);
    if (lines.fd >= 0) close(lines.fd);
    errno = saved;
    return found;
}
