/* Starts hz3 and ends, for the messages at start. */
#include "api/init.h"

int main(void)
{
    hz3_ensure_started();
}
