/* Formats text into the caller's buffer.  Does not allocate, nor depend on the locale. */
#pragma once

#include "types.h"

/* Appends like snprintf: writes what fits, counts everything; the text is always NUL-terminated. */
struct hz3_text {
    char *buf;
    size_t size, length;
};

__attribute__((format(printf, 2, 3))) void hz3_print(struct hz3_text *text, const char *format, ...);
/* Appends a name of any bytes; `but`, and what is not printable ASCII, become "?". */
void hz3_print_name(struct hz3_text *text, const char *name, char but);
