/* How many mappings more than at its start a process has after eight waves of blocks of 16 bytes to 1 MiB, of which
 * every 64th stays. */
#include <stdlib.h>

#include "figure.h"
#include "support.h"

enum { WAVES = 8, BLOCKS = 4000, STAYS = 64 };

int main(void)
{
    static char *block[BLOCKS];
    uint64_t random = 1;
    size_t before = mappings();
    for (int wave = 0; wave < WAVES; wave++) {
        for (size_t i = 0; i < BLOCKS; i++) {
            if (block[i]) continue;
            size_t size = ((size_t)16 << next_random(&random) % 16) + next_random(&random) % 500000 % (wave * 5000 + 1);
            CHECK((block[i] = malloc(size)));
            block[i][0] = block[i][size - 1] = 1;
        }
        for (size_t i = 0; i < BLOCKS; i++) {
            if (i % STAYS == 0 || next_random(&random) % 8 == 0) continue;
            free(block[i]);
            block[i] = NULL;
        }
        sleep_for(0.15);
    }
    sleep_for(2);
    figure((double)mappings() - (double)before);
}
