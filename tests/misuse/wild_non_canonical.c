/* The misuse: an address freed that the processor does not have. */
#include "misuse.h"

int main(void)
{
    free(accuse((void *)0xdeadbeefdeadbee0));
}
