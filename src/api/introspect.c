/* Introspection: trim, statistics. */
#include "api/entry.h"
#include "api/init.h"
#include "api/options.h"
#include "api/override.h"
#include "api/report.h"
#include "back/holes.h"
#include "front/evict.h"
#include "os/gate.h"
#include "os/libc.h"
#include "os/os.h"
#include "reclaim/pass.h"
#include "watch/layout_head.h"
#include "watch/stats.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t collect(bool force)
{
    hz3_ensure_started();
    hz3_gate_enter_at_last();
    hz3_cache_flush();
    size_t bytes = hz3_reclaim_run(force);
    if (force) hz3_holes_make(0);
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
    return hz3_layout.config;
}

HZ3_API size_t hz3_stats_json(char *buf, size_t size)
{
    hz3_ensure_started();
    struct hz3_text text = {buf, size, 0};
    hz3_stats_print_json(&text);
    return text.length;
}

HZ3_API void hz3_malloc_stats(void)
{
    hz3_ensure_started();
    hz3_report_stats();
}

/* ---- functions of glibc ---- */

/* As glibc has them: arena is uordblks and fordblks, and knows nothing of large blocks, which glibc maps one by one.
 * Free chunks are cached objects and free ranges; what is free in runs in use is not counted by pieces. */
HZ3_API struct mallinfo2 hz3_mallinfo2(void)
{
    hz3_ensure_started();
    struct hz3_stats s;
    hz3_stats_read(&s);
    size_t small = s.allocated - s.large, arena = hz3_max(s.mapped - hz3_min(s.large, s.mapped), small);
    return (struct mallinfo2){
        .arena = arena,
        .ordblks = s.cached_objects + hz3_stats_free_ranges(),
        .hblks = s.large_blocks,
        .hblkhd = s.large,
        .uordblks = small,
        .fordblks = arena - small,
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
        .ordblks = saturated(info.ordblks),
        .hblks = saturated(info.hblks),
        .hblkhd = saturated(info.hblkhd),
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

/* As the value of an attribute between single quotes: the program's name may have any characters. */
static int put_json(FILE *stream, char buf[HZ3_STATS_JSON_BYTES])
{
    int written = 0;
    hz3_stats_json(buf, HZ3_STATS_JSON_BYTES);
    for (char *json = buf, *next; *json && written >= 0; json = next) {
        next = json + strcspn(json, "'&<");
        written = fprintf(stream, "%.*s", (int)(next - json), json);
        if (*next && written >= 0) written = fprintf(stream, "&#%d;", *next++);
    }
    return written;
}

/* buf: for hz3's own figures, or NULL. */
static bool put_info(FILE *stream, char *buf)
{
    struct mallinfo2 info = hz3_mallinfo2();
    bool written = fprintf(stream,
                           "<malloc version=\"hz3-" HZ3_VERSION_TEXT "\">\n"
                           "<total type=\"rest\" count=\"%zu\" size=\"%zu\"/>\n"
                           "<total type=\"mmap\" count=\"%zu\" size=\"%zu\"/>\n"
                           "<system type=\"current\" size=\"%zu\"/>\n",
                           info.ordblks, info.fordblks, info.hblks, info.hblkhd, info.arena) >= 0;
    if (written && buf)
        written = fputs("<hz3 json='", stream) >= 0 && put_json(stream, buf) >= 0 && fputs("'/>\n", stream) >= 0;
    return written && fputs("</malloc>\n", stream) >= 0;
}

HZ3_API int hz3_malloc_info(int options, FILE *stream)
{
    if (options) {
        errno = EINVAL;
        return -1;
    }
    int cancel;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    /* The smallest stack has no room for the text, and malloc would change the figures. */
    char *buf = (char *)hz3_os_map(HZ3_STATS_JSON_BYTES);
    bool written = put_info(stream, buf);
    if (buf) hz3_os_unmap((uintptr_t)buf, HZ3_STATS_JSON_BYTES);
    pthread_setcancelstate(cancel, NULL);
    return written ? 0 : -1;
}

HZ3_STANDARD_NAME(malloc_trim, int, (size_t), hz3_malloc_trim)
HZ3_STANDARD_NAME(malloc_stats, void, (void), hz3_malloc_stats)
HZ3_STANDARD_NAME(mallinfo2, struct mallinfo2, (void), hz3_mallinfo2)
HZ3_STANDARD_NAME(mallinfo, struct mallinfo, (void), hz3_mallinfo)
HZ3_STANDARD_NAME(mallopt, int, (int, int), hz3_mallopt)
HZ3_STANDARD_NAME(malloc_info, int, (int, FILE *), hz3_malloc_info)
