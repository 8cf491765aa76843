/* If HZ3_TEST_ONLY names a test, a program runs only that one.  hz3 conform runs each test by itself. */
#include <stdlib.h>

#include "unit.h"

__attribute__((constructor)) static void run_only(void)
{
    cmocka_set_test_filter(getenv("HZ3_TEST_ONLY"));
}
