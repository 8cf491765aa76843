/* dlopen without RTLD_DEEPBIND.  The flag binds a library to libc's malloc before hz3's, and the first block that
 * passes between it and the program ends the process.  PHP opens its extensions so.  Thread-safe; errors are libc's.
 * Not in the archive: a static program has no next dlopen. */
#define _GNU_SOURCE
#include "api/options.h"
#include "api/override.h"
#include "os/libc.h"

/* The last call has to be a jump: libc's dlopen looks at its return address to learn whose RUNPATH counts. */
static void *dlopen_unbound(const char *file, int mode)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(file, hz3_options.DEEPBIND ? mode : mode & ~RTLD_DEEPBIND);
}

HZ3_STANDARD_NAME(dlopen, void *, (const char *, int), dlopen_unbound)
