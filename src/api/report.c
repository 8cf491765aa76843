/* What is written when the process ends, and before it by HZ3_DUMP: statistics, the heap profile. */
#include "api/report.h"

#include "api/options.h"
#include "back/gauges.h"
#include "os/gate.h"
#include "os/libc.h"
#include "os/os.h"
#include "os/sandbox.h"
#include "os/write_signals.h"
#include "watch/profile.h"
#include "watch/sample.h"
#include "watch/snapshot.h"
#include "watch/stats.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* malloc_stats may be called by a thread with a minimal stack.  So functions that need more stack are not inlined. */

enum {
    SNAPSHOT_TRIES = 10,
    DUMP_MAX_MS = 2000, /* so long exit waits for one */
};

static bool stats_are_lost; /* as a warning at the start said */
static bool profiles;       /* it is profiled from its start: the profile is written at exit */

/* Where statistics go. */
typedef void output(const char *text, size_t length);

/* The program may have given the stream another file, a buffer, or a lock that one of its threads holds.  As in glibc
 * the thread is not cancelled here. */
static HZ3_NOINLINE void write_to_stream(const char *text, size_t length)
{
    struct hz3_write_signals before;
    int saved = errno, cancel;
    bool may = !hz3_sandboxed();
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (may) hz3_write_signals_block(&before);
    (void)fwrite(text, 1, length, stderr);
    if (may) hz3_write_signals_unblock(&before);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

static HZ3_NOINLINE void append_stats(const char *text, size_t length)
{
    char path[HZ3_PATH_BYTES];
    bool written = hz3_os_append(hz3_options_path(&hz3_options.stats_file, path), text, length);
    if (!written && !stats_are_lost) hz3_options_warn_of_file("statistics", &hz3_options.stats_file);
}

/* The file's name with an ending. */
static const char *path_of(const struct hz3_file *file, const char *ending, char path[HZ3_PATH_BYTES])
{
    hz3_options_path(file, path);
    hz3_print(&(struct hz3_text){path, HZ3_PATH_BYTES, strlen(path)}, "%s", ending);
    return path;
}

/* False: it cannot be written, of which there is a warning. */
static HZ3_NOINLINE bool write_snapshot(const char *path)
{
    struct hz3_write_signals before;
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* it would leave half a file */
    hz3_write_signals_block(&before);
    int file = -1;
    errno = EEXIST;
    for (int i = 0; file < 0 && errno == EEXIST && i < SNAPSHOT_TRIES; i++) { /* another thread may write one, too */
        unlink(path); /* the last one; or another user's, who could read lane secure's secrets in this one */
        file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    }
    bool written = file >= 0 && hz3_snapshot_write(file), closed = file < 0 || close(file) == 0;
    if (file >= 0 && !(written && closed)) unlink(path);
    hz3_write_signals_unblock(&before);
    if (!written || !closed) hz3_options_warn_of_file("the snapshot for hz3 explain", &hz3_options.stats_file);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
    return written && closed;
}

static HZ3_NOINLINE bool leave_snapshot(void)
{
    char path[HZ3_PATH_BYTES];
    return !hz3_sandboxed() && write_snapshot(path_of(&hz3_options.stats_file, ".memory", path));
}

/* Where the resident memory is.  told: in the snapshot. */
static HZ3_NOINLINE void explain(struct hz3_text *text, bool told)
{
    hz3_stats_text_process(text);
    hz3_print(text, told ? "hz3 explain " : "where the resident memory is cannot be told\n");
    if (!told) return;
    hz3_options_print_path(text, &hz3_options.stats_file);
    hz3_print(text, ".memory says where the resident memory is\n");
}

/* With one write, so that those of several processes do not mix. */
static HZ3_NOINLINE void write_text(output *write, bool explained, bool told)
{
    char buf[HZ3_STATS_BYTES];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_stats_text(&text, hz3_options.VERBOSE);
    if (explained) explain(&text, told);
    write(buf, hz3_min(text.length, sizeof buf - 1));
}

/* The snapshot comes first: the smallest stack has no room for the text beside it. */
static void write_stats(output *write, bool explained)
{
    bool told = explained && leave_snapshot();
    write_text(write, explained, told);
}

static bool explains(void)
{
    return hz3_options.STATS & HZ3_STATS_EXPLAIN;
}

static output *place_of_stats(void)
{
    return hz3_options.STATS & HZ3_STATS_FILE && !hz3_sandboxed() ? append_stats : hz3_os_stderr;
}

void hz3_report_stats(void)
{
    write_stats(write_to_stream, explains());
}

/* ---- the heap profile ---- */

/* The one that is being written, under hz3_report_lock.  (stdio's buffer would be written by a forked child, too.) */
static struct {
    int file, error; /* error: the first, or 0 */
    size_t length;
    char buf[1 << 14];
} profile;

static void put_out(void)
{
    if (!profile.error && !hz3_os_write(profile.file, profile.buf, profile.length)) profile.error = errno;
    profile.length = 0;
}

static void put(const char *text, size_t length)
{
    if (length > sizeof profile.buf - profile.length) put_out();
    memcpy(profile.buf + profile.length, text, length);
    profile.length += length;
}

/* A reader needs the mappings to find the functions. */
static void copy_mappings(void)
{
    char buf[4096];
    int maps = hz3_os_open("/proc/self/maps");
    for (long got; maps >= 0 && (got = hz3_os_read(maps, buf, sizeof buf)) > 0;) put(buf, (size_t)got);
    if (maps >= 0) hz3_os_close(maps);
}

/* Returns the first error, or 0. */
static int write_profile_to(int file)
{
    if (file < 0) return errno;
    profile.file = file;
    profile.error = 0;
    profile.length = 0;
    hz3_profile_write(put);
    put("maps\n", strlen("maps\n"));
    copy_mappings();
    put_out();
    if (close(file) != 0 && !profile.error) profile.error = errno;
    return profile.error;
}

/* Into a file beside it, which takes its place when it is whole: a process may be killed meanwhile, or the disk full.
 * False: the file is none that another may replace, or there can be none beside it. */
static HZ3_NOINLINE bool replace_profile(const char *path, int *error)
{
    struct stat what;
    char part[HZ3_PATH_BYTES];
    bool absent = lstat(path, &what) != 0;
    if (absent ? errno != ENOENT : !S_ISREG(what.st_mode) || what.st_uid != geteuid() || !(what.st_mode & S_IWUSR))
        return false;
    hz3_print(&(struct hz3_text){part, sizeof part, 0}, "%s.%d.part", path, hz3_os.pid);
    unlink(part); /* of an earlier process of this number */
    int file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, absent ? 0644 : what.st_mode & 0666);
    if (file < 0) return false;
    *error = write_profile_to(file);
    bool done = *error || rename(part, path) == 0;
    if (*error || !done) unlink(part);
    return done;
}

/* ending: of the file's name. */
static HZ3_NOINLINE void write_profile(const char *ending)
{
    char path[HZ3_PATH_BYTES];
    path_of(&hz3_options.profile_file, ending, path);
    struct hz3_write_signals before;
    int error;
    hz3_sample_pause();
    hz3_write_signals_block(&before);
    if (!replace_profile(path, &error)) error = write_profile_to(hz3_os_open_to_write(path, O_TRUNC));
    hz3_write_signals_unblock(&before);
    errno = error;
    if (error) hz3_options_warn_of_file("the heap profile", &hz3_options.profile_file);
    hz3_sample_go_on();
}

/* ---- while the program runs ---- */

HZ3_ATOMIC(bool) hz3_report_watches;
struct hz3_lock hz3_report_lock;
static HZ3_ATOMIC(bool) asked;      /* the signal came */
static HZ3_ATOMIC(uint32_t) dumped; /* ms: when the last dump was made */
static HZ3_ATOMIC(size_t) peak;     /* bytes in use at the last one of a peak */

static void ask(int signal)
{
    (void)signal;
    hz3_set(asked, true);
}

static void watch(void)
{
    int number = (int)(hz3_options.DUMP >> HZ3_DUMP_SIGNAL & 0x7f);
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    if (number && sigaction(number, &action, NULL) != 0) hz3_os_ignored("the signal of HZ3_DUMP", -errno);
    hz3_set(dumped, (uint32_t)hz3_os_now_ms());
    hz3_set(hz3_report_watches, true);
}

/* Without a snapshot, which takes longer. */
static void dump(const char *ending)
{
    int saved = errno, cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (hz3_options.STATS || !hz3_get(hz3_profile_rate)) write_stats(place_of_stats(), false);
    if (hz3_get(hz3_profile_rate)) write_profile(ending);
    pthread_setcancelstate(cancel, NULL);
    errno = saved;
}

void hz3_report_visit(void)
{
    uint32_t now = (uint32_t)hz3_os_now_ms(), interval = hz3_options.DUMP & HZ3_DUMP_MS;
    size_t used = hz3_gauge(HZ3_GAUGE_USED), before = hz3_get(peak);
    bool is_peak = hz3_options.DUMP & HZ3_DUMP_PEAK && used > before + before / 8;
    bool is_due = hz3_get(asked) || (interval && hz3_ms_passed(hz3_get(dumped), interval, now));
    if (!(is_peak || is_due) || hz3_sandboxed() || !hz3_trylock(&hz3_report_lock)) return;
    if (is_due) {
        hz3_set(asked, false);
        hz3_set(dumped, now);
        dump("");
    }
    if (is_peak) {
        hz3_set(peak, used);
        dump(".peak");
    }
    hz3_unlock(&hz3_report_lock);
}

/* ---- at exit ---- */

/* The program's output comes first, even if both go into one pipe.  exit would not wait for a thread that holds stdout,
 * so this does not either. */
static void flush_stdout(void)
{
    if (ftrylockfile(stdout) != 0) return;
    (void)fflush(stdout); /* an error concerns the program, not hz3 */
    funlockfile(stdout);
}

/* Waits a while for a dump by another thread, which has the profile's buffer, and then leaves the last word to it.
 * That thread may wait for a reader, or not exist in this process. */
static void write_last_profile(void)
{
    bool dumping = hz3_lock_is_mine(&hz3_report_lock); /* a signal handler that interrupted a dump calls exit */
    bool mine = false;
    for (int ms = 0; !dumping && !(mine = hz3_trylock(&hz3_report_lock)) && ms < DUMP_MAX_MS; ms++) hz3_os_sleep(1);
    if (dumping || mine) write_profile("");
    if (mine) hz3_unlock(&hz3_report_lock);
}

static void report_last(void)
{
    static const char bound[] = "hz3: warning: no heap profile: the program's seccomp filter may forbid to write one\n";
    static const char inside[] = "hz3: warning: no statistics: a signal handler called exit inside malloc or free\n";
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel); /* the thread would leave exit half-way */
    flush_stdout();
    if (hz3_options.STATS && hz3_gate_is_inside()) /* which may hold locks */
        hz3_os_stderr(inside, sizeof inside - 1);
    else if (hz3_options.STATS)
        write_stats(place_of_stats(), explains());
    if (profiles && hz3_sandboxed())
        hz3_os_stderr(bound, sizeof bound - 1);
    else if (profiles)
        write_last_profile();
    pthread_setcancelstate(cancel, NULL);
}

/* Warns at the start of a file that cannot be written: a warning at exit may go unseen. */
static bool try_file(const char *what, const struct hz3_file *file)
{
    char path[HZ3_PATH_BYTES];
    bool good = hz3_os_can_append(hz3_options_path(file, path));
    if (!good) hz3_options_warn_of_file(what, file);
    return good;
}

/* Programs such as GNU coreutils close stderr in a handler of atexit.  Runs when the main thread ends: as it calls
 * exit, and as it leaves the process to other threads, which then keeps the copy.  Where another thread calls exit
 * there is no copy, and statistics go to the descriptor 2 that handlers left. */
static void exit_begins(void *unused)
{
    (void)unused;
    hz3_os_keep_stderr();
}

/* While the program runs hz3 keeps no copy of a pipe: who reads there waits until all copies are closed, and a daemon
 * closes its own. */
void hz3_report_start(void)
{
    bool to_file = hz3_options.STATS & HZ3_STATS_FILE, to_stderr = hz3_options.STATS && !to_file;
    profiles = hz3_options.PROFILE;
    if (to_file) stats_are_lost = !try_file("statistics", &hz3_options.stats_file);
    if (hz3_options.PROFILE) try_file("the heap profile", &hz3_options.profile_file);
    if (hz3_options.DUMP) watch();
    if (!to_file && !to_stderr && !hz3_options.PROFILE) return;
    if (to_stderr && hz3_os_stderr_is_file()) hz3_os_keep_stderr();
    hz3_libc_before_exit(exit_begins);
    if (atexit(report_last) != 0) hz3_os_stderr("hz3: warning: no statistics at exit\n", 36);
}
