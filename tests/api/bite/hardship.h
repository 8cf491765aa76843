/* A workload for processes whose system calls may fail: all sizes up to `largest` by every kind of call, a thread,
 * and trims.  It checks that a refusal gives ENOMEM and leaves the old block intact, that blocks do not overlap,
 * that calloc returns zeroes, and that free keeps errno.  Returns the number of refused requests.
 */
#include <stddef.h>

size_t endure(size_t largest);
