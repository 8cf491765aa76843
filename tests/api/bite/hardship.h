/* A day in a process whose system calls may fail: all sizes up to `largest` by every kind of call, a thread,
 * and trims.  What is refused must be refused with ENOMEM and leave the old block whole; what is given must
 * be the owner's alone; calloc must be zero; free must keep errno.  Returns how many requests were refused.
 */
#include <stddef.h>

size_t endure(size_t largest);
