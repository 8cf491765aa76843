/* Proves that a process with busy threads can start programs, by vfork, posix_spawn, system and popen. */
#include "churn.h"
#include "programs.h"

int main(void)
{
    struct busy busy[3];
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_start(&busy[i]);
    for (uint64_t i = 0; i < 25; i++) {
        start_programs();
        churn(i, 50);
    }
    for (size_t i = 0; i < COUNT_OF(busy); i++) busy_stop(&busy[i]);
}
