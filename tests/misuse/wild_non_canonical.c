/* The misuse: free of a non-canonical address. */
#include "misuse.h"

int main(void)
{
    free(accuse((void *)0xdeadbeefdeadbee0));
}
