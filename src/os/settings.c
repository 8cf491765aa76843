#include "os/os.h"

#include "base/print.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define OVERCOMMIT "/proc/sys/vm/overcommit_memory"
#define NO_LIMIT   (SIZE_MAX / 1024)

size_t hz3_os_bytes_allowed(int resource)
{
    struct rlimit limit;
    const char *name = resource == RLIMIT_AS ? "RLIMIT_AS" : "RLIMIT_DATA";
    int error = HZ3_KEEPING_ERRNO(getrlimit(resource, &limit) == 0 ? 0 : -errno);
    if (!error && limit.rlim_cur >= hz3_os.page) return (size_t)hz3_min(limit.rlim_cur, (rlim_t)NO_LIMIT);
    hz3_os_ignored(name, error); /* less than a page: the process is larger already */
    return NO_LIMIT;
}

/* Before Linux 6.8 one file speaks for all sizes; since then each size has its own.  The largest size is what one page
 * of the page table maps, the smallest is four pages. */
size_t hz3_os_huge_page_size(const char *folder, const char *when)
{
    char path[128], text[64];
    struct hz3_text name = {path, sizeof path, 0};
    hz3_print(&name, "%s/enabled", folder);
    long length = hz3_os_read_file(path, text, sizeof text);
    bool known = length > 0 && strchr(text, '[');
    if (!known && length != -ENOENT) hz3_os_ignored(path, length); /* a kernel may be without */
    if (!known) return 0;
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
    long length = hz3_os_read_file(OVERCOMMIT, text, sizeof text);
    if (hz3_os_may_pass(length)) return false;
    bool known = length > 0 && text[0] >= '0' && text[0] <= '2', never_overcommits = known && text[0] == '2';
    if (!known) hz3_os_ignored(OVERCOMMIT, length);
    size_t allowed = hz3_min(hz3_os_bytes_allowed(RLIMIT_AS), hz3_os_bytes_allowed(RLIMIT_DATA));
    hz3_set(hz3_os.counts_mapped, allowed < NO_LIMIT || never_overcommits);
    return true;
}

bool hz3_os_makes_huge_pages(void)
{
    char text[64];
    return hz3_os_read_file(HZ3_THP_FILES "/enabled", text, sizeof text) > 0 && strstr(text, "[always]");
}

void hz3_os_learn_huge_pages(enum hz3_thp thp)
{
    size_t unasked = thp == HZ3_THP_ALWAYS ? HZ3_MIB(2) : 0;
    if (thp == HZ3_THP_DEFAULT) unasked = hz3_os_huge_page_size(HZ3_THP_FILES, "[always]");
    hz3_set(hz3_os.huge_page, unasked);
}
