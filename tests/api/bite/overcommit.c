/* Proves that hz3 starts and works where the kernel never overcommits (vm.overcommit_memory = 2) and counts
 * every reservation; skipped where it does, since a test must not change the host. */
#include <fcntl.h>
#include <unistd.h>

#include "hardship.h"
#include "support.h"

int main(void)
{
    char mode = 0;
    int fd = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
    CHECK(fd >= 0 && read(fd, &mode, 1) == 1);
    if (mode != '2') skip_test("vm.overcommit_memory is not 2 here");
    CHECK(endure(MIB(8)) == 0);
}
