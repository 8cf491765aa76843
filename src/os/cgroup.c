#include "os/cgroup.h"

#include "base/number.h"
#include "base/print.h"
#include "os/os.h"

#include <string.h>

static size_t limit_in(const char *root, const char *group, const char *file)
{
    static char path[4352];
    char text[64];
    struct hz3_text name = {path, sizeof path, 0};
    hz3_print(&name, "%s%s/%s", root, group, file);
    const char *end;
    size_t bytes;
    return hz3_os_read_file(path, text, sizeof text) > 0 && hz3_number(text, &end, &bytes) ? bytes : SIZE_MAX;
}

size_t hz3_cgroup_limit(const char *membership, const char *root)
{
    static char groups[4096];
    if (hz3_os_read_file(membership, groups, sizeof groups) < 0) return SIZE_MAX;
    char *line = strncmp(groups, "0::/", 4) ? strstr(groups, "\n0::/") : groups;
    if (!line) return SIZE_MAX;
    char *group = line + strcspn(line, "/");
    size_t length = strcspn(group, "\n");
    group[length > 1 ? length : 0] = 0; /* "/" is the root itself, not a group in it */
    size_t limit = SIZE_MAX;
    for (char *slash = group + strlen(group); slash; slash = strrchr(group, '/')) {
        *slash = 0; /* from the group itself up to the root */
        limit = hz3_min(limit, hz3_min(limit_in(root, group, "memory.max"), limit_in(root, group, "memory.high")));
    }
    return limit;
}
