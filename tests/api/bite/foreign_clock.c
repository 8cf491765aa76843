/* Proves that hz3 starts and works beside a library that replaces clock_gettime and allocates in it.  hz3 reads the
 * clock while it holds locks. */
#include <malloc.h>
#include <stdlib.h>

#include "churn.h"

static void *live(void *arg)
{
    churn(2, 200);
    return arg;
}

int main(void)
{
    CHECK(now() == 0); /* otherwise the library's clock is not in place */
    churn(1, 200);
    join_thread(start_thread(live, NULL));
    malloc_trim(0);
}
