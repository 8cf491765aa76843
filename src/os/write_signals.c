#define _GNU_SOURCE
#include "os/write_signals.h"

#include <errno.h>
#include <time.h>

static const int signals[] = {SIGXFSZ, SIGPIPE};
enum { SIGNALS = sizeof signals / sizeof *signals };

void hz3_write_signals_block(struct hz3_write_signals *before)
{
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < SIGNALS; i++) sigaddset(&set, signals[i]);
    pthread_sigmask(SIG_BLOCK, &set, &before->mask);
    sigpending(&before->pending);
}

void hz3_write_signals_unblock(const struct hz3_write_signals *before)
{
    int saved = errno;
    sigset_t now, one;
    sigpending(&now);
    for (int i = 0; i < SIGNALS; i++) {
        if (!sigismember(&now, signals[i]) || sigismember(&before->pending, signals[i])) continue;
        sigemptyset(&one);
        sigaddset(&one, signals[i]);
        sigtimedwait(&one, NULL, &(struct timespec){0});
    }
    pthread_sigmask(SIG_SETMASK, &before->mask, NULL);
    errno = saved;
}
