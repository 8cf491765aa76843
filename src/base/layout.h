/* The layout tells a reader outside the process (look/) where hz3's counters and structures lie in its memory.  Each
 * room lists by name what may be read of it; a list ends with an empty row.  The lists are constant.  No thread of the
 * process takes part, so a reader meets values that change while it reads.  It does without names that it misses. */
#pragma once

#include "base/types.h"

/* Raise it when a name changes its meaning or goes, not for a new name. */
enum { HZ3_LAYOUT_VERSION = 2 };

struct hz3_place {
    const char *name;
    uintptr_t at;   /* an object's address, a field's offset, or a number */
    uintptr_t size; /* bytes; of an array's element; 0: a number */
};

#define HZ3_PLACE(name, object)      {name, (uintptr_t)&(object), sizeof(object)}
#define HZ3_PLACES(name, array)      {name, (uintptr_t)(array), sizeof *(array)}
#define HZ3_FIELD(name, type, field) {name, offsetof(__typeof__(type), field), sizeof(((__typeof__(type) *)0)->field)}
#define HZ3_NUMBER(name, number)     {name, (number), 0}
#define HZ3_PLACES_END               {NULL, 0, 0}
