/* Runs itself three times where the user has turned the randomisation of addresses off, as gdb does.  The figure is the
 * number of different sets of addresses that malloc gives. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/personality.h>

#include "figure.h"
#include "support.h"

int main(int argc, char **argv)
{
    (void)argv;
    if (argc > 1) { /* the sum of three addresses, as much as is printed */
        uintptr_t sum = 0;
        for (size_t size = 10; size <= MIB(10); size *= 1000) sum += (uintptr_t)malloc(size) >> 4;
        figure((double)(sum % ((uintptr_t)1 << 29)));
        return 0;
    }
    if (personality(ADDR_NO_RANDOMIZE) < 0) skip_test("personality is not permitted here");
    const char *const words[] = {"give", NULL};
    double one = figure_of(words), two = figure_of(words), three = figure_of(words);
    figure(1 + (one != two) + (three != one && three != two));
}
