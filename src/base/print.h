/* Text without allocation or locale: a line is built in a buffer of the caller's. */
#ifndef HZ3_BASE_PRINT_H
#define HZ3_BASE_PRINT_H

#include "types.h"

/* Appends like snprintf: writes what fits, counts everything; the text is always NUL-terminated. */
struct hz3_text {
    char *buf;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) void hz3_print(struct hz3_text *text, const char *format, ...);
/* The same for a name that may hold anything: what a terminal would not print as it is, and `but`, becomes "?". */
void hz3_print_name(struct hz3_text *text, const char *name, char but);
#endif
