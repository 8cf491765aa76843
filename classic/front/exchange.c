/* In the place of src/front/exchange.c: the work orders flush, count and look at the stash at each slow call. */
#include "front/exchange.h"

void *hz3_exchange_malloc(unsigned cls)
{
    (void)cls;
    return NULL;
}

bool hz3_exchange_free(void *p, unsigned cls)
{
    (void)p;
    (void)cls;
    return false;
}
