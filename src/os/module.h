/* Which file of the program a piece of code came from, as the system's list of mappings has it. */
#ifndef HZ3_OS_MODULE_H
#define HZ3_OS_MODULE_H

#include "base/types.h"

/* The file's name without its folder, with ? for what a terminal would not print, and how far `code` lies behind the
 * file's first mapping: for a shared library or a position-independent program, the address that symbolizers take.
 * False: the list cannot be read, or the program has locked itself in. */
bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset);
#endif
