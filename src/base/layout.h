/* The layout: where somebody who reads this process's memory from outside (look/) finds what hz3 counts anyway. Each
 * room lists, by name, what of its own may be read; a list ends with an empty row.  Nothing here is ever written, and
 * no thread is asked: who reads meets values that change meanwhile.  A reader leaves out what it misses. */
#ifndef HZ3_BASE_LAYOUT_H
#define HZ3_BASE_LAYOUT_H

#include "base/types.h"

/* To be raised when a name changes its meaning; not for a further name. */
enum { HZ3_LAYOUT_VERSION = 1 };

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
#endif
