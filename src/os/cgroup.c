#include "os/cgroup.h"

#include "base/number.h"
#include "base/print.h"
#include "os/os.h"

#include <errno.h>
#include <string.h>

#define NO_LIMIT_FROM ((size_t)1 << 62) /* version 1 has no other word for it */

/* look/doctor.py has the same table: tests/look/test_doctor.py compares them. */
static const struct hierarchy {
    const char *controller, *folder; /* in version 2 a group has no controller of its own */
    const char *limits[2];
    /* In memory.stat: what the system cannot take back unless it swaps, the last less what is spare of it. */
    const char *charged[3], *spare;
    const char *usage; /* in its place where memory.stat cannot be read: that, and files' pages that are cached */
} hierarchies[] = {
    {"", "", {"memory.max", "memory.high"}, {"anon", "shmem", "kernel"}, "slab_reclaimable", "memory.current"},
    {"memory", "/memory", {"memory.limit_in_bytes"}, {"total_rss", "total_shmem"}, "", "memory.usage_in_bytes"},
};
enum { HIERARCHIES = sizeof hierarchies / sizeof *hierarchies };

struct group {
    const struct hierarchy *of;
    const char *root, *path; /* the path is in `memberships`, and not terminated */
    size_t length;
};
static char memberships[16384];
static bool unread;             /* a file could not be opened for now */
static long failed;             /* why there were no memberships at the last look, which is said once */
static struct group tightest;   /* the one with the least limit, */
static size_t least = SIZE_MAX; /* which is this */

static bool has_controller(const char *list, size_t length, const char *controller)
{
    size_t wanted = strlen(controller);
    if (!wanted) return length == 0;
    for (const char *end = list + length; list < end; list += strcspn(list, ",:") + 1)
        if (strcspn(list, ",:") == wanted && !strncmp(list, controller, wanted)) return true;
    return false;
}

/* The group that a line "number:controllers:/path" names. */
static bool find(struct group *group)
{
    for (const char *line = memberships; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *list = line + strcspn(line, ":\n");
        list += *list == ':';
        size_t length = strcspn(list, ":\n");
        if (list[length] != ':' || list[length + 1] != '/') continue;
        if (!has_controller(list, length, group->of->controller)) continue;
        group->path = list + length + 1;
        group->length = strcspn(group->path, "\n");
        if (group->length == 1) group->length = 0; /* "/" is the root itself, not a group in it */
        return true;
    }
    return false;
}

/* Not while it cannot be opened: then what was known goes on counting. */
static void ignored(const char *path, long length)
{
    if (!hz3_os_may_pass(length)) hz3_os_ignored(path, length);
}

static long read_now(const char *path, char *text, size_t size)
{
    long length = hz3_os_read_file(path, text, size);
    unread |= hz3_os_may_pass(length);
    return length;
}

/* Returns what hz3_os_read_file does, and the file's name in `path`. */
static long read_file(const struct group *group, const char *name, const char **path, char *text, size_t size)
{
    static char buf[4352];
    struct hz3_text full = {buf, sizeof buf, 0};
    hz3_print(&full, "%s%s%.*s/%s", group->root, group->of->folder, (int)group->length, group->path, name);
    *path = buf;
    return read_now(buf, text, size);
}

/* Lowers *limit to that in the file.  A file that is not there is no limit: the root has none, and a container sees
 * only its own group.  False: it cannot be read. */
static bool lower(size_t *limit, const struct group *group, const char *name)
{
    char text[64];
    const char *path, *end;
    size_t bytes;
    long length = read_file(group, name, &path, text, sizeof text);
    if (length == -ENOENT || length == -ENOTDIR || (length > 0 && !strcmp(text, "max\n"))) return true;
    bool known = length > 0 && hz3_number(text, &end, &bytes) && *end == '\n';
    if (!known)
        ignored(path, length);
    else if (bytes < NO_LIMIT_FROM)
        *limit = hz3_min(*limit, bytes);
    return known;
}

static bool lower_to_own(size_t *limit, const struct group *group)
{
    bool known = true;
    for (int i = 0; i < 2 && group->of->limits[i]; i++) known &= lower(limit, group, group->of->limits[i]);
    return known;
}

/* From the group itself up to the root. */
static void look_at_all(struct group group)
{
    for (;;) {
        size_t limit = least;
        lower_to_own(&limit, &group);
        if (limit < least) tightest = group;
        least = limit;
        if (!group.length) return;
        while (group.path[--group.length] != '/') continue;
    }
}

/* A process that changed its root may see none of this any more, and is in its group all the same.  The folder may be
 * there, and empty.  Every group has the list of its processes. */
static bool is_in_sight(const char *root)
{
    const char *path;
    char text[64];
    for (int i = 0; i < HIERARCHIES; i++)
        if (read_file(&(struct group){&hierarchies[i], root, "", 0}, "cgroup.procs", &path, text, sizeof text) >= 0)
            return true;
    return false;
}

size_t hz3_cgroup_limit(const char *membership, const char *root)
{
    struct group before = tightest;
    size_t was = least;
    unread = false;
    least = SIZE_MAX;
    tightest.of = NULL;
    long length = read_now(membership, memberships, sizeof memberships);
    bool hidden = length < 0;
    if (length == sizeof memberships - 1) length = -EFBIG; /* the line of memory may be behind */
    if (length < 0 && length != failed) ignored(membership, length);
    failed = length;
    for (int i = 0; i < HIERARCHIES && length > 0; i++) {
        struct group group = {.of = &hierarchies[i], .root = root};
        if (find(&group)) look_at_all(group);
    }
    bool lost = least == SIZE_MAX && was < SIZE_MAX && (hidden || !is_in_sight(root));
    if (!lost && !unread) return least;
    tightest = before;
    least = was;
    return unread ? HZ3_CGROUP_UNKNOWN : was;
}

bool hz3_cgroup_limit_changed(void)
{
    size_t limit = SIZE_MAX;
    return tightest.of && lower_to_own(&limit, &tightest) && limit != least;
}

/* The figure that a line of `text` names. */
static bool add_figure(const char *text, const char *key, size_t *sum)
{
    const char *end;
    size_t length = strlen(key), bytes;
    for (; text; text = strchr(text, '\n'), text = text ? text + 1 : NULL)
        if (!strncmp(text, key, length) && text[length] == ' ' && hz3_number(text + length + 1, &end, &bytes))
            return *sum += bytes, true;
    return false;
}

size_t hz3_cgroup_charged(void)
{
    static char text[4096];
    const char *path;
    size_t sum = 0, last = 0, spare = 0;
    bool known = false;
    if (!tightest.of) return HZ3_CGROUP_UNKNOWN;
    unread = false;
    long length = read_file(&tightest, "memory.stat", &path, text, sizeof text);
    for (int i = 0; i < 3 && length > 0 && tightest.of->charged[i]; i++) {
        last = 0;
        known |= add_figure(text, tightest.of->charged[i], &last);
        sum += last;
    }
    if (known) add_figure(text, tightest.of->spare, &spare);
    if (known) return sum - hz3_min(spare, last);
    if (unread) return HZ3_CGROUP_UNKNOWN;
    ignored(path, length);
    const char *end;
    length = read_file(&tightest, tightest.of->usage, &path, text, sizeof text);
    if (length > 0 && hz3_number(text, &end, &sum)) return sum;
    if (unread) return HZ3_CGROUP_UNKNOWN;
    ignored(path, length);
    tightest.of = NULL;
    return HZ3_CGROUP_UNKNOWN;
}
