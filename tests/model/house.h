/* What the protocols of objects need of the rest of the house, as the suites see it: model_* are theirs. */
#ifndef HZ3_MODEL_HOUSE_H
#define HZ3_MODEL_HOUSE_H

#include "middle/magazine.h"

enum { MODEL_CLASS = 1, MODEL_LOAD = 2 };

/* Class infos, and a window whose every granule is of MODEL_CLASS. */
void model_house_start(uintptr_t arena, size_t object_bytes, unsigned objects_in_run);
/* An object came home. */
void model_home(void *object);
HZ3_NORETURN void model_misuse(const char *misuse, const void *p);
#endif
