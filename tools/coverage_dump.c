/* Linked into what make coverage builds.  Writes the counts of processes that end by abort or _exit.  In the library
 * (OF_LIBRARY) these are its own; in a test program also those of the preloaded library. */
#include <signal.h>
#include <unistd.h>

void __gcov_dump(void);
void __gcov_reset(void);
void __real_abort(void);
void __wrap_abort(void);

static void dump(void)
{
    __gcov_dump();
    __gcov_reset(); /* after a child of vfork, the parent goes on counting */
}

/* Writing counts calls malloc, and locks files that other processes write.  If the process was interrupted in either,
 * this may never end. */
static void end_in_time(void)
{
    enum { SECONDS = 5 };
    sigset_t alone;
    sigemptyset(&alone);
    sigaddset(&alone, SIGALRM);
    signal(SIGALRM, SIG_DFL);
    sigprocmask(SIG_UNBLOCK, &alone, NULL);
    alarm(SECONDS);
}

#ifdef OF_LIBRARY
extern void coverage_of(void (*library)(void)) __attribute__((weak));

__attribute__((constructor)) static void tell_program(void)
{
    if (coverage_of) coverage_of(dump);
}

void __wrap_abort(void)
{
    end_in_time();
    dump();
    __real_abort();
}
#else
static void (*dump_library)(void);
void coverage_of(void (*library)(void));
void __real__exit(int status);
void __wrap__exit(int status);

void coverage_of(void (*library)(void))
{
    dump_library = library;
}

static void dump_all(void)
{
    end_in_time();
    dump();
    if (dump_library) dump_library();
}

void __wrap_abort(void)
{
    dump_all();
    __real_abort();
}

void __wrap__exit(int status)
{
    dump_all();
    __real__exit(status);
}
#endif
