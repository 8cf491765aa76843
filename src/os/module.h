/* The file from which a piece of code was mapped, by the system's list of mappings. */
#ifndef HZ3_OS_MODULE_H
#define HZ3_OS_MODULE_H

#include "base/types.h"

/* name: the file's name without its folder, with ? for bytes that are not printable.  offset: how far `code` lies
 * behind the file's first mapping, which is the address that symbolizers take for a shared library or a
 * position-independent program.  False: the list cannot be read, or the program has locked itself in. */
bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset);
#endif
