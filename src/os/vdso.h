/* The library that the kernel maps into every process. */
#ifndef HZ3_OS_VDSO_H
#define HZ3_OS_VDSO_H

#include "base/types.h"

/* Its function of that name, where it lies at image; NULL: it has none. */
void *hz3_vdso_function(uintptr_t image, const char *name);
#endif
