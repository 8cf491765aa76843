/* Starts hz3 and ends: for what it says at start. */
#include "api/init.h"

int main(void)
{
    hz3_ensure_started();
}
