/* Ordinary work for tests about what happens meanwhile: blocks of all sizes are allocated, resized, checked and freed.
 * Every failure ends the process. */
#include "support.h"

/* Works on a table of blocks, and frees all of them at the end. */
void churn(uint64_t seed, int rounds);

/* A thread that churns until it is told to stop. */
struct busy {
    pthread_t thread;
    bool stop;
};
void busy_start(struct busy *busy);
void busy_stop(struct busy *busy);
