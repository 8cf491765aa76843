/* The ordinary life of a thread, for tests whose subject is the moment around it: blocks of all sizes taken,
 * resized, checked and released.  Every failure ends the process. */
#include "support.h"

/* Many rounds over a table of blocks; leaves nothing behind. */
void churn(uint64_t seed, int rounds);

/* A thread that churns until it is told to stop. */
struct busy {
    pthread_t thread;
    bool stop;
};
void busy_start(struct busy *busy);
void busy_stop(struct busy *busy);
