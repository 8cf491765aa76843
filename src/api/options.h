/* Options from the environment (options.def), read once with secure_getenv.  For an unknown HZ3_ variable or a bad
 * value there is a warning that names it, and the default stays. */
#pragma once

#include "base/print.h"
#include "os/lock.h"

enum { HZ3_FOREIGN_ABORT, HZ3_FOREIGN_LIBC };
enum { HZ3_STATS_STDERR = 1, HZ3_STATS_EXPLAIN = 2, HZ3_STATS_FILE = 4 }; /* the third: not to stderr */

#define HZ3_DUMP_MS     UINT32_MAX /* the bits of DUMP that are the interval, */
#define HZ3_DUMP_SIGNAL 32         /* where those of the signal begin, */
#define HZ3_DUMP_PEAK   ((size_t)1 << 40)

/* Sizes in bytes, times in ms; "auto" is HZ3_OPTION_AUTO until hz3_options_load has chosen a value. */
#define HZ3_OPTION_AUTO SIZE_MAX
enum { HZ3_NAME_BYTES = 256, HZ3_PATH_BYTES = 2048 };
/* %p in the path stands for the process's number; %@N for nothing in process N, and in others for .NAME-PID. */
struct hz3_file {
    char path[1024 + 1 + HZ3_NAME_BYTES]; /* absolute, where the folder is known */
    size_t folder; /* how many bytes of it hz3 put before the option's value; in them % is an ordinary character */
};
struct hz3_options {
#define HZ3_OPTION(name, kind, change, standard, small, meaning) size_t name;
#include "api/options.def"
#undef HZ3_OPTION
    bool retain_auto;   /* RETAIN was auto, */
    bool retain_learns; /* or nobody set it */
    struct hz3_file stats_file, profile_file;
};
extern struct hz3_options hz3_options; /* written at the start, and by hz3_control */

/* Fills hz3_options from the defaults and, if the environment can be read yet, from it.  Returns whether it could. */
bool hz3_options_load(void);
/* Warns of unknown HZ3_ variables and bad values, and, with HZ3_VERBOSE, prints every option and its source. */
void hz3_options_report(void);
/* The value of the option HZ3_..., if it is a number; else NULL. */
const size_t *hz3_options_find(const char *name);
/* Sets it, and returns 0; or EPERM: the program may not change it; EINVAL: it takes no such value.  The lock is held.
 */
int hz3_options_set(const size_t *option, size_t value);
extern struct hz3_lock hz3_options_lock; /* held while options are read or set by name; taken outside the gate */
/* Appends the file's name for this process. */
void hz3_options_print_path(struct hz3_text *text, const struct hz3_file *file);
/* Writes the file's name for this process into buf, and returns buf. */
const char *hz3_options_path(const struct hz3_file *file, char buf[HZ3_PATH_BYTES]);
/* Warns that the file cannot be written; errno says why. */
void hz3_options_warn_of_file(const char *what, const struct hz3_file *file);
