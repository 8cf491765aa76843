#define _GNU_SOURCE
#include "api/options.h"

#include "back/limits.h"
#include "base/number.h"
#include "base/print.h"
#include "front/heap.h"
#include "os/libc.h"
#include "os/os.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct hz3_options hz3_options;
struct hz3_lock hz3_options_lock;

/* ---- the kinds of options ---- */

struct unit {
    const char *name;
    size_t factor;
};
static const struct unit bytes[] = {{"", 1},        {"K", 1 << 10},   {"k", 1 << 10},   {"M", 1 << 20},
                                    {"m", 1 << 20}, {"G", 1ul << 30}, {"g", 1ul << 30}, {NULL, 0}};
static const struct unit times[] = {{"", 1}, {"ms", 1}, {"s", 1000}, {NULL, 0}};
static const struct unit none[] = {{"", 1}, {NULL, 0}};
static const struct unit percents[] = {{"", 1}, {"%", 1}, {NULL, 0}};

/* One of the words, "auto", a number with one of the units, or what `parse` takes, which gets the whole text. */
struct kind {
    const char *takes; /* for a warning */
    const struct unit *units;
    size_t least, most;
    bool or_auto;
    const char *words[4]; /* their values are 0, 1, ... */
    bool (*parse)(const char *text, size_t *value);
};

static const struct kind size = {.takes = "bytes, or a number with K, M or G", .units = bytes, .most = SIZE_MAX};
static const struct kind size_or_auto = {
    .takes = "bytes, a number with K, M or G, or auto", .units = bytes, .most = SIZE_MAX, .or_auto = true};
static const struct kind ms = {
    .takes = "ms, or a number with ms or s; 2147483647 ms at most", .units = times, .most = INT32_MAX};
static const struct kind count = {
    .takes = "a number from 1 on, or auto", .units = none, .least = 1, .most = SIZE_MAX, .or_auto = true};
static const struct kind percent = {.takes = "1 to 100, with or without %", .units = percents, .least = 1, .most = 100};
static const struct kind switch_on = {.takes = "0 or 1", .words = {"0", "1"}};
static const struct kind thp = {.takes = "default, always or never", .words = {"default", "always", "never"}};
static const struct kind foreign = {.takes = "abort or libc", .words = {"abort", "libc"}};

static bool parse(const struct kind *kind, const char *text, size_t *value)
{
    const char *end;
    for (size_t i = 0; kind->words[i]; i++)
        if (!strcmp(text, kind->words[i])) return *value = i, true;
    if (kind->or_auto && !strcmp(text, "auto")) return *value = HZ3_OPTION_AUTO, true;
    if (kind->parse) return kind->parse(text, value);
    if (!kind->units || !hz3_number(text, &end, value)) return false;
    for (const struct unit *unit = kind->units; unit->name; unit++)
        if (!strcmp(end, unit->name))
            return !__builtin_mul_overflow(*value, unit->factor, value) && *value >= kind->least &&
                   *value <= kind->most;
    return false;
}

static bool is_file(const char *text, size_t *value)
{
    *value = 0;
    return *text && strlen(text) < HZ3_NAME_BYTES;
}

static const struct kind file = {.takes = "the name of a file", .parse = is_file};

/* What follows "explain:", or NULL. */
static const char *explained_file(const char *text)
{
    static const char explain[] = "explain:";
    return strncmp(text, explain, strlen(explain)) ? NULL : text + strlen(explain);
}

/* A word such as "yes" is more likely a mistake than a file. */
static bool is_report(const char *text, size_t *value)
{
    const char *explained = explained_file(text), *name = explained ? explained : text;
    bool fits = is_file(name, value);
    *value = HZ3_STATS_FILE | (explained ? HZ3_STATS_EXPLAIN : 0);
    return fits && strpbrk(name, "/.%");
}

/* The words are 0, HZ3_STATS_STDERR and HZ3_STATS_EXPLAIN. */
static const struct kind report = {.takes =
                                       "0, 1, explain, a file's name with a / . or % in it, or explain: before that",
                                   .words = {"0", "1", "explain"},
                                   .parse = is_report};

/* 1 is more likely meant as a switch than as SIGHUP; a fault that is handled comes again. */
static bool is_signal(size_t n)
{
    const uint32_t never = 1u << SIGHUP | 1u << SIGKILL | 1u << SIGSTOP | 1u << SIGILL | 1u << SIGTRAP | 1u << SIGBUS |
                           1u << SIGFPE | 1u << SIGSEGV;
    return n < 32 ? n && !(never >> n & 1) : n >= (size_t)SIGRTMIN && n < NSIG;
}

static bool is_dump_part(const char *text, size_t *value)
{
    size_t n;
    if (!strcmp(text, "peak")) return *value |= HZ3_DUMP_PEAK, true;
    bool interval = strchr(text, 's') && parse(&ms, text, &n);
    if (!strcmp(text, "USR1") || !strcmp(text, "USR2"))
        n = text[3] == '1' ? SIGUSR1 : SIGUSR2;
    else if (!interval && !(parse(&count, text, &n) && is_signal(n)))
        return false;
    size_t before = *value & (interval ? HZ3_DUMP_MS : (size_t)0x7f << HZ3_DUMP_SIGNAL);
    *value |= interval ? n : n << HZ3_DUMP_SIGNAL;
    return n > 0 && !before; /* one of each */
}

static bool is_dump(const char *text, size_t *value)
{
    char part[16];
    *value = 0;
    do {
        size_t length = strcspn(text, ",");
        if (length >= sizeof part) return false;
        memcpy(part, text, length);
        part[length] = 0;
        if (!is_dump_part(part, value)) return false;
        text += length;
    } while (*text++ == ',');
    return true;
}

static const struct kind dump = {
    .takes = "0, or a list of a time with ms or s, a signal (USR1, USR2 or its number, not 1), and peak",
    .words = {"0"},
    .parse = is_dump};

/* ---- the table ---- */

enum change { START, LIVE };
static const struct option {
    const char *name, *standard[2]; /* HZ3_SMALL_MEMORY */
    enum change change;
    size_t *value;
    const struct kind *kind;
} options[] = {
#define HZ3_OPTION(name, kind, change, standard, small, meaning) \
    {"HZ3_" #name, {standard, small}, change, &hz3_options.name, &kind},
#include "api/options.def"
#undef HZ3_OPTION
};
enum { OPTIONS = sizeof options / sizeof *options };

static const char *standard_of(const struct option *option)
{
    return option->standard[HZ3_SMALL_MEMORY];
}

/* The value in the environment, if that can be read yet and the value is good; else the default. */
static const char *chosen(const struct option *option)
{
    const char *text = environ ? secure_getenv(option->name) : NULL;
    size_t ignored;
    return text && parse(option->kind, text, &ignored) ? text : standard_of(option);
}

/* Absolute, since the program may change its directory; or, where that has no path, as it is. */
static void keep_file(struct hz3_file *file, const char *name)
{
    struct hz3_text path = {file->path, sizeof file->path, 0};
    path.length = *name == '/' ? 0 : hz3_os_folder(file->path, sizeof file->path - HZ3_NAME_BYTES - 1);
    if (path.length) hz3_print(&path, "/");
    file->folder = path.length;
    hz3_print(&path, "%s", name);
}

/* What follows %p, or %@N, at `from`, which it replaces; or NULL. */
static const char *stands_for_process(struct hz3_text *text, const char *from)
{
    size_t first;
    const char *end;
    if (from[0] == '%' && from[1] == 'p') return hz3_print(text, "%d", hz3_os.pid), from + 2;
    if (from[0] != '%' || from[1] != '@' || !hz3_number(from + 2, &end, &first)) return NULL;
    if (first == (size_t)hz3_os.pid) return end;
    hz3_print(text, ".");
    hz3_print_name(text, hz3_os_program(), '/');
    hz3_print(text, "-%d", hz3_os.pid);
    return end;
}

void hz3_options_print_path(struct hz3_text *text, const struct hz3_file *file)
{
    const char *at = file->path + file->folder;
    hz3_print(text, "%.*s", (int)file->folder, file->path);
    for (const char *from = at; *from; from = at) {
        at = stands_for_process(text, from);
        if (at) continue;
        at = from + 1 + strcspn(from + 1, "%");
        hz3_print(text, "%.*s", (int)(at - from), from);
    }
}

const char *hz3_options_path(const struct hz3_file *file, char buf[HZ3_PATH_BYTES])
{
    hz3_options_print_path(&(struct hz3_text){buf, HZ3_PATH_BYTES, 0}, file);
    return buf;
}

static void keep_files(void)
{
    if (hz3_options.STATS & HZ3_STATS_FILE) {
        const char *text = secure_getenv("HZ3_STATS"), *explained = explained_file(text);
        keep_file(&hz3_options.stats_file, explained ? explained : text);
    } else if (hz3_options.STATS & HZ3_STATS_EXPLAIN) {
        keep_file(&hz3_options.stats_file, "hz3.%p"); /* the snapshot's, which ends with .memory */
    }
    for (int i = 0; i < OPTIONS && (hz3_options.PROFILE || hz3_options.DUMP); i++)
        if (options[i].kind == &file) keep_file(&hz3_options.profile_file, chosen(&options[i]));
}

static void choose_retain(size_t wanted, bool by_user)
{
    hz3_options.retain_auto = wanted == HZ3_OPTION_AUTO;
    hz3_options.retain_learns = hz3_options.retain_auto || !by_user;
    hz3_options.RETAIN = hz3_options.retain_auto ? HZ3_MIB(256) : wanted;
}

bool hz3_options_load(void)
{
    bool readable = environ != NULL, by_user = false; /* a good value of HZ3_RETAIN */
    for (int i = 0; i < OPTIONS; i++) {
        const char *text = chosen(&options[i]);
        parse(options[i].kind, text, options[i].value);
        by_user |= options[i].value == &hz3_options.RETAIN && text != standard_of(&options[i]);
    }
    keep_files();
    choose_retain(hz3_options.RETAIN, by_user);
    if (hz3_options.HEAPS == HZ3_OPTION_AUTO) hz3_options.HEAPS = hz3_heap_usual_count();
    hz3_options.HEAPS = hz3_max(1, hz3_min(hz3_options.HEAPS, (size_t)HZ3_NUM_SHARDS));
    return readable;
}

/* ---- while the program runs ---- */

const size_t *hz3_options_find(const char *name)
{
    for (const struct option *option = options; option < options + OPTIONS; option++)
        if (!strcmp(name, option->name) && (option->kind->units || option->kind == &switch_on)) return option->value;
    return NULL;
}

int hz3_options_set(const size_t *option, size_t value)
{
    char text[24];
    size_t parsed;
    hz3_print(&(struct hz3_text){text, sizeof text, 0}, "%zu", value);
    for (int i = 0; i < OPTIONS; i++) {
        if (options[i].value != option) continue;
        if (options[i].change != LIVE) return EPERM;
        if (!parse(options[i].kind, text, &parsed)) return EINVAL;
        /* Never the word for auto, not for a moment: a forked child, or a thread that calls munlockall, may read it. */
        if (option == &hz3_options.RETAIN)
            choose_retain(parsed, true);
        else
            *options[i].value = parsed;
    }
    return 0;
}

/* ---- warnings, and HZ3_VERBOSE ---- */

static void line(const char *format, const char *a, const char *b, const char *c, const char *d)
{
    char buf[256];
    struct hz3_text text = {buf, sizeof buf, 0};
    hz3_print(&text, format, a, b, c, d);
    if (text.length >= sizeof buf) buf[sizeof buf - 2] = '\n'; /* cut off */
    hz3_os_stderr(buf, hz3_min(text.length, sizeof buf - 1));
}

/* The value in force: a word, or a number written into buf. */
static const char *effective(const struct option *option, char *buf, size_t size)
{
    const struct kind *kind = option->kind;
    if (kind == &report && *option->value & HZ3_STATS_FILE) return hz3_options.stats_file.path;
    if (kind == &report && *option->value & HZ3_STATS_EXPLAIN) return "explain";
    if (kind == &file) return hz3_options.profile_file.path;
    if (kind == &dump) return *option->value ? chosen(option) : "none";
    size_t value = option->value == &hz3_options.SOFT_LIMIT ? hz3_get(hz3_pages_soft_limit) : *option->value;
    if (value == SIZE_MAX) return "none";
    if (!kind->units && !kind->parse) return kind->words[value];
    hz3_print(&(struct hz3_text){buf, size, 0}, "%zu", value);
    return buf;
}

static bool is_option(const char *variable)
{
    for (int i = 0; i < OPTIONS; i++) {
        size_t length = strlen(options[i].name);
        if (!strncmp(variable, options[i].name, length) && variable[length] == '=') return true;
    }
    return false;
}

static void warn_of_folder(const struct hz3_file *file)
{
    if (*file->path && *file->path != '/')
        line("hz3: warning: this folder's path is too long or unknown, so this goes to that of its time: %s\n",
             file->path, "", "", "");
}

void hz3_options_report(void)
{
    char **variables = getauxval(AT_SECURE) ? NULL : environ; /* values that secure_getenv hides are not printed */
    for (char **variable = variables; variable && *variable; variable++)
        if (!strncmp(*variable, "HZ3_", 4) && !is_option(*variable))
            line("hz3: warning: unknown option %s\n", *variable, "", "", "");
    for (int i = 0; i < OPTIONS; i++) {
        const char *text = secure_getenv(options[i].name), *source = text ? "environment" : "default";
        char buf[24];
        size_t ignored;
        if (text && !parse(options[i].kind, text, &ignored)) {
            line("hz3: warning: bad value for %s: %s (it takes %s)\n", options[i].name, text, options[i].kind->takes,
                 "");
            source = "default";
        }
        if (hz3_options.VERBOSE)
            line("hz3: option %s=%s = %s (%s)\n", options[i].name,
                 text && *source == 'e' ? text : standard_of(&options[i]), effective(&options[i], buf, sizeof buf),
                 source);
    }
    warn_of_folder(&hz3_options.stats_file);
    warn_of_folder(&hz3_options.profile_file);
}

void hz3_options_warn_of_file(const char *what, const struct hz3_file *file)
{
    char path[HZ3_PATH_BYTES];
    const char *why = hz3_libc_describe(errno);
    line("hz3: warning: cannot write %s to %s: %s\n", what, hz3_options_path(file, path), why, "");
}
