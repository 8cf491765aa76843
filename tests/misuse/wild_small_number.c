/* The crime: a small number freed. */
#include "crime.h"

int main(void)
{
    free(accuse((void *)0x10));
}
