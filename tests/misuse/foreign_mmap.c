/* The misuse: free of a page that the program mapped itself. */
#include <sys/mman.h>

#include "misuse.h"

int main(void)
{
    free(accuse(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)));
}
