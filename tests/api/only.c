/* Of a program's tests only the one that HZ3_TEST_ONLY names, if it names one: hz3 conform runs each by itself. */
#include <stdlib.h>

#include "unit.h"

__attribute__((constructor)) static void run_only(void)
{
    cmocka_set_test_filter(getenv("HZ3_TEST_ONLY"));
}
