/* What hz3 writes: lines to stderr, and files. */
#define _GNU_SOURCE
#include "os/os.h"

#include "base/check.h"
#include "base/print.h"
#include "os/libc.h"
#include "os/sandbox.h"
#include "os/write_signals.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    KEPT_FD_MIN = 100, /* since some programs expect certain low numbers */
    READER_MS = 1000,  /* is waited for, where a pipe that may not block is full; once */
};

/* kept_fd: a copy of stderr, or STDERR_FILENO; kept: the file it is open on. */
static HZ3_ATOMIC(int) kept_fd = STDERR_FILENO;
static struct stat kept;

/* Daemons close all descriptors: the number of our copy may belong to a file of the program by now. */
static int stderr_now(void)
{
    struct stat now;
    int fd = hz3_get(kept_fd);
    bool same = fd != STDERR_FILENO && fstat(fd, &now) == 0 && now.st_dev == kept.st_dev && now.st_ino == kept.st_ino;
    return same ? fd : STDERR_FILENO;
}

void hz3_os_keep_stderr(void)
{
    int saved = errno;
    bool wanted = !hz3_sandboxed() && stderr_now() == STDERR_FILENO;
    int fd = wanted ? fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, KEPT_FD_MIN) : -1;
    if (fd >= 0 && fstat(fd, &kept) == 0) hz3_set(kept_fd, fd);
    errno = saved;
}

bool hz3_os_stderr_is_file(void)
{
    struct stat now;
    return HZ3_KEEPING_ERRNO(fstat(STDERR_FILENO, &now)) == 0 && S_ISREG(now.st_mode);
}

void hz3_os_forget_stderr(void)
{
    int saved = errno, fd = stderr_now();
    if (fd != STDERR_FILENO) hz3_os_close(fd);
    hz3_set(kept_fd, STDERR_FILENO);
    errno = saved;
}

int hz3_os_open_to_write(const char *path, int how)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | how, 0644);
    if (fd >= 0) fcntl(fd, F_SETFL, how); /* a reader of a FIFO may be slow */
    return fd;
}

static HZ3_ATOMIC(bool) nobody_reads; /* a wait was in vain, and nothing could be written since */

static bool wait_for_reader(uint64_t *until)
{
    uint64_t now = hz3_os_now_ms();
    if (!*until) *until = now + READER_MS;
    if (hz3_get(nobody_reads)) return false;
    if (now >= *until) return hz3_set(nobody_reads, true), false;
    return hz3_os_sleep(1), true;
}

bool hz3_os_write(int fd, const void *bytes, size_t length)
{
    const char *text = bytes;
    uint64_t until = 0;
    while (length) {
        ssize_t written = write(fd, text, length);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0 && errno == EAGAIN && wait_for_reader(&until)) continue;
        if (written <= 0) return false;
        hz3_set(nobody_reads, false);
        text += written;
        length -= (size_t)written;
    }
    return true;
}

bool hz3_os_append(const char *path, const char *text, size_t length)
{
    struct hz3_write_signals before;
    hz3_write_signals_block(&before);
    int fd = hz3_os_open_to_write(path, O_APPEND);
    bool written = fd >= 0 && hz3_os_write(fd, text, length);
    int saved = errno;
    if (fd >= 0) close(fd);
    errno = saved;
    hz3_write_signals_unblock(&before);
    return written;
}

bool hz3_os_can_append(const char *path)
{
    char folder[2048];
    const char *slash = strrchr(path, '/');
    struct stat what;
    if (stat(path, &what) == 0 && S_ISDIR(what.st_mode)) {
        errno = EISDIR;
        return false;
    }
    if (access(path, W_OK) == 0) return true;
    size_t length = slash ? (size_t)(slash + 1 - path) : 1;
    if (errno != ENOENT || length >= sizeof folder) return false;
    hz3_print(&(struct hz3_text){folder, sizeof folder, 0}, "%.*s", (int)length, slash ? path : ".");
    return access(folder, W_OK | X_OK) == 0;
}

bool hz3_os_verbose;

void hz3_os_ignored(const char *what, long error)
{
    char buf[512];
    struct hz3_text text = {buf, sizeof buf, 0};
    if (!hz3_os_verbose) return;
    const char *why = error < 0 ? hz3_libc_describe((int)-error) : "it makes no sense";
    hz3_print(&text, "hz3: %s is ignored: %s\n", what, why);
    if (text.length >= sizeof buf) buf[sizeof buf - 2] = '\n';
    hz3_os_stderr(buf, hz3_min(text.length, sizeof buf - 1));
}

/* may: no filter could forbid calls other than write. */
static void write_line(bool may, int fd, const char *text, size_t length)
{
    struct hz3_write_signals before;
    if (may) hz3_write_signals_block(&before);
    hz3_os_write(fd, text, length);
    if (may) hz3_write_signals_unblock(&before);
}

/* A write is a point of cancellation: the thread would end there, maybe inside malloc. */
void hz3_os_stderr(const char *text, size_t length)
{
    int saved = errno, cancel;
    bool may = !hz3_sandboxed();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    write_line(may, may ? stderr_now() : STDERR_FILENO, text, length);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

/* Else the thread would be cancelled there, and the process would go on. */
HZ3_NORETURN void hz3_end_saying(const char *line, size_t length)
{
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    write_line(!hz3_sandboxed(), STDERR_FILENO, line, length);
    abort();
}
