/* The vDSO: the library that the kernel maps into every process. */
#pragma once

#include "base/types.h"

/* The function of that name in the vDSO at `image`; NULL: it has none. */
void *hz3_vdso_function(uintptr_t image, const char *name);
