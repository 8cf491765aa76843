/* zeros cpu|resident MIB TIMES EVERY: calloc of large blocks of which one page in so many is written, again and again.
 * The figure is the CPU time in seconds, or the most MiB that were resident. */
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "figure.h"
#include "support.h"

int main(int argc, char **argv)
{
    CHECK(argc == 5);
    bool cpu = strcmp(argv[1], "cpu") == 0;
    CHECK(cpu ||
          prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) == 0); /* else the huge page around what is written is resident */
    size_t size = MIB(strtoul(argv[2], NULL, 10)), step = 4096 * strtoul(argv[4], NULL, 10), most = 0;
    for (unsigned long left = strtoul(argv[3], NULL, 10); left; left--) {
        char *block = calloc(1, size);
        CHECK(block != NULL);
        for (size_t at = 0; at < size; at += step) {
            CHECK(block[at] == 0);
            block[at] = 7;
        }
        size_t resident = resident_bytes();
        if (resident > most) most = resident;
        free(block);
    }
    figure(cpu ? cpu_time() : (double)most / (1 << 20));
}
