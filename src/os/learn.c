#define _GNU_SOURCE
#include "os/os.h"

#include "base/print.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define NO_LIMIT (SIZE_MAX / 1024)

const char *hz3_os_program(void)
{
    static char name[NAME_MAX + 1];
    if (!*name) hz3_print(&(struct hz3_text){name, sizeof name, 0}, "%s", program_invocation_short_name);
    return name;
}

size_t hz3_os_bytes_allowed(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 ? (size_t)hz3_min(limit.rlim_cur, (rlim_t)NO_LIMIT) : NO_LIMIT;
}

/* Before Linux 6.8 one file speaks for all sizes; since then each size has its own.  The largest size is what one page
 * of the page table maps, the smallest is four pages. */
size_t hz3_os_huge_page_size(const char *folder, const char *when)
{
    char path[128], text[64];
    struct hz3_text name = {path, sizeof path, 0};
    hz3_print(&name, "%s/enabled", folder);
    if (hz3_os_read_file(path, text, sizeof text) < 0) return 0;
    bool inherited = strstr(text, when);
    for (size_t size = hz3_os.page / 8 * hz3_os.page; size >= 4 * hz3_os.page; size /= 2) {
        name.length = 0;
        hz3_print(&name, "%s/hugepages-%zukB/enabled", folder, size / 1024);
        if (hz3_os_read_file(path, text, sizeof text) < 0) return inherited ? HZ3_MIB(2) : 0;
        if (strstr(text, when) || (inherited && strstr(text, "[inherit]"))) return hz3_min(size, HZ3_MIB(2));
    }
    return 0;
}

bool hz3_os_learn(void)
{
    char text[16];
    long length = hz3_os_read_file("/proc/sys/vm/overcommit_memory", text, sizeof text);
    if (length == -EMFILE || length == -ENFILE) return false;
    bool never_overcommits = length > 0 && text[0] == '2';
    size_t allowed = hz3_min(hz3_os.address_space, hz3_os_bytes_allowed(RLIMIT_DATA));
    hz3_set(hz3_os.counts_mapped, allowed < NO_LIMIT || never_overcommits);
    return true;
}

void hz3_os_learn_huge_pages(enum hz3_thp thp)
{
    size_t unasked = thp == HZ3_THP_ALWAYS ? HZ3_MIB(2) : 0, asked = 0;
    if (thp == HZ3_THP_DEFAULT || thp == HZ3_THP_DENSE) unasked = hz3_os_huge_page_size(HZ3_THP_FILES, "[always]");
    if (thp == HZ3_THP_DENSE && !unasked) asked = hz3_os_huge_page_size(HZ3_THP_FILES, "[madvise]");
    hz3_set(hz3_os.huge_page, unasked);
    hz3_set(hz3_os.huge_page_asked, asked);
}
