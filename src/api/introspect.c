/* What programs ask an allocator about itself. */
#include "api/entry.h"
#include "api/init.h"
#include "api/options.h"
#include "api/override.h"
#include "api/report.h"
#include "front/evict.h"
#include "os/gate.h"
#include "os/libc.h"
#include "os/os.h"
#include "reclaim/pass.h"
#include "watch/boxes.h"
#include "watch/stats.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HZ3_API size_t hz3_malloc_usable_size(const void *p)
{
    if (!p) return 0;
    struct hz3_call call = {"malloc_usable_size", __builtin_return_address(0)};
    unsigned cls = hz3_block_class(p, &call);
    return cls == HZ3_CLASS_NONE ? hz3_usable_foreign(p) : hz3_block_usable(p, cls);
}

static size_t collect(bool force)
{
    hz3_ensure_started();
    hz3_gate_enter_at_last();
    hz3_cache_flush();
    size_t bytes = hz3_reclaim_run(force);
    hz3_gate_leave();
    return bytes;
}

HZ3_API void hz3_collect(bool force)
{
    collect(force);
}

HZ3_API int hz3_malloc_trim(size_t pad)
{
    (void)pad;
    return collect(true) > 0;
}

HZ3_API const char *hz3_version(void)
{
    return HZ3_VERSION_TEXT;
}

HZ3_API const char *hz3_config_string(void)
{
    return hz3_config_text;
}

HZ3_API size_t hz3_stats_json(char *buf, size_t size)
{
    hz3_ensure_started();
    struct hz3_text text = {buf, size, 0};
    hz3_stats_print_json(&text);
    return text.length;
}

enum { STATS_BYTES = 4096 }; /* the config string alone has 1.5 KiB */

HZ3_API void hz3_malloc_stats(void)
{
    hz3_ensure_started();
    char buf[STATS_BYTES];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_stats_text(&text);
    hz3_os_stderr(buf, hz3_min(text.length, sizeof buf - 1));
}

/* The name of the file, with the number of the process. */
static const char *stats_file(char *buf, size_t size)
{
    struct hz3_text text = {buf, size, 0};
    const char *at = hz3_options.stats_file + hz3_options.stats_folder;
    hz3_print(&text, "%.*s", (int)hz3_options.stats_folder, hz3_options.stats_file);
    for (const char *from = at; *from; from = at) {
        bool process = from[0] == '%' && from[1] == 'p';
        at = process ? from + 2 : from + 1 + strcspn(from + 1, "%");
        if (process)
            hz3_print(&text, "%d", hz3_os.pid);
        else
            hz3_print(&text, "%.*s", (int)(at - from), from);
    }
    return buf;
}

bool hz3_report_can(void)
{
    char path[2 * sizeof hz3_options.stats_file];
    return hz3_os_can_append(stats_file(path, sizeof path));
}

/* With one write, so that processes' do not mix. */
static void append_stats(void)
{
    char buf[STATS_BYTES], path[2 * sizeof hz3_options.stats_file];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_stats_text(&text);
    hz3_os_append(stats_file(path, sizeof path), buf, hz3_min(text.length, sizeof buf - 1));
}

static void print_boxes(void)
{
    char buf[2048];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_boxes_text(&text);
    hz3_os_stderr(buf, hz3_min(text.length, sizeof buf - 1));
}

/* What the program said comes first, also where both go into one pipe; but exit itself would not wait for a thread
 * that holds stdout, so neither may we. */
static void flush_stdout(void)
{
    if (ftrylockfile(stdout) != 0) return;
    fflush(stdout);
    funlockfile(stdout);
}

static void report_last(void)
{
    flush_stdout();
    if (HZ3_BOXES_ON) print_boxes();
    if (hz3_options.STATS == HZ3_STATS_STDERR) hz3_malloc_stats();
    if (hz3_options.STATS == HZ3_STATS_FILE) append_stats();
}

void hz3_report_at_exit(void)
{
    hz3_os_keep_stderr(); /* GNU coreutils, for one, close it in an atexit handler of their own */
    if (atexit(report_last) != 0) hz3_os_stderr("hz3: warning: no statistics at exit\n", 36);
}

/* ---- glibc's ---- */

HZ3_API struct mallinfo2 hz3_mallinfo2(void)
{
    hz3_ensure_started();
    struct hz3_stats s;
    hz3_stats_read(&s);
    return (struct mallinfo2){
        .arena = s.mapped,
        .uordblks = s.allocated,
        .fordblks = s.mapped - hz3_min(s.allocated, s.mapped),
        .keepcost = s.dirty,
    };
}

static int saturated(size_t n)
{
    return n > INT32_MAX ? INT32_MAX : (int)n;
}

HZ3_API struct mallinfo hz3_mallinfo(void)
{
    struct mallinfo2 info = hz3_mallinfo2();
    return (struct mallinfo){
        .arena = saturated(info.arena),
        .uordblks = saturated(info.uordblks),
        .fordblks = saturated(info.fordblks),
        .keepcost = saturated(info.keepcost),
    };
}

/* Accepts what glibc accepts and does nothing: its parameters are about glibc's structures. */
HZ3_API int hz3_mallopt(int parameter, int value)
{
    (void)parameter;
    (void)value;
    return 1;
}

HZ3_API int hz3_malloc_info(int options, FILE *stream)
{
    char json[2048];
    if (options) {
        errno = EINVAL;
        return -1;
    }
    struct mallinfo2 info = hz3_mallinfo2();
    hz3_stats_json(json, sizeof json);
    int written = fprintf(stream,
                          "<malloc version=\"hz3-" HZ3_VERSION_TEXT "\">\n"
                          "<system type=\"current\" size=\"%zu\"/>\n<total type=\"rest\" size=\"%zu\"/>\n"
                          "<hz3 json='%s'/>\n</malloc>\n",
                          info.arena, info.fordblks, json);
    return written < 0 ? -1 : 0;
}

HZ3_STANDARD_NAME(malloc_usable_size, size_t, (void *), hz3_malloc_usable_size)
HZ3_STANDARD_NAME(malloc_trim, int, (size_t), hz3_malloc_trim)
HZ3_STANDARD_NAME(malloc_stats, void, (void), hz3_malloc_stats)
HZ3_STANDARD_NAME(mallinfo2, struct mallinfo2, (void), hz3_mallinfo2)
HZ3_STANDARD_NAME(mallinfo, struct mallinfo, (void), hz3_mallinfo)
HZ3_STANDARD_NAME(mallopt, int, (int, int), hz3_mallopt)
HZ3_STANDARD_NAME(malloc_info, int, (int, FILE *), hz3_malloc_info)
