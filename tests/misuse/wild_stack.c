/* The misuse: free of a pointer to the stack. */
#include "misuse.h"

int main(void)
{
    char object[64] __attribute__((aligned(16)));
    free(accuse(object));
}
