/* Stubs of the rest of hz3, for protocols about objects.  The suites define or call the functions model_*. */
#ifndef HZ3_MODEL_HOUSE_H
#define HZ3_MODEL_HOUSE_H

#include "middle/magazine.h"

enum { MODEL_CLASS = 1, MODEL_LOAD = 2 };

/* Sets up class infos, and a window whose granules are all of MODEL_CLASS. */
void model_house_start(uintptr_t arena, size_t object_bytes, unsigned objects_in_run);
/* An object came home. */
void model_home(void *object);
HZ3_NORETURN void model_misuse(const char *misuse, const void *p);
#endif
