/* The misuse: a block is made smaller, written to beyond its new end, and resized again. */
#include "misuse.h"

int main(void)
{
    char *p = forget(realloc(malloc(3000), 2900));
    p[2900] = 1;
    p = realloc(accuse(p), 50);
}
