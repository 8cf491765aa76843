/* The crime: a pointer to the stack freed. */
#include "crime.h"

int main(void)
{
    char object[64] __attribute__((aligned(16)));
    free(accuse(object));
}
