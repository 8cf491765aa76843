/* The crime: an address freed that the processor does not have. */
#include "crime.h"

int main(void)
{
    free(accuse((void *)0xdeadbeefdeadbee0));
}
