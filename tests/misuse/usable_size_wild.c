/* The misuse: the usable size of a pointer to the stack. */
#include "misuse.h"

int main(void)
{
    char object[64] __attribute__((aligned(16)));
    return (int)malloc_usable_size(accuse(object));
}
