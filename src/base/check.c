#include "base/check.h"
#include "base/print.h"

#include <stdarg.h>
#include <stdio.h>

void hz3_print(struct hz3_text *text, const char *format, ...)
{
    size_t room = text->length < text->size ? text->size - text->length : 0;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(room ? text->buf + text->length : NULL, room, format, args);
    va_end(args);
    if (length > 0) text->length += (size_t)length;
}

void hz3_print_name(struct hz3_text *text, const char *name, char but)
{
    hz3_print(text, "%s", ""); /* so that the text is terminated though the name is empty */
    for (; *name; name++) hz3_print(text, "%c", *name < ' ' || *name > '~' || *name == but ? '?' : *name);
}

static HZ3_NORETURN void die(const char *what, const char *text, const void *p)
{
    char line[160];
    struct hz3_text out = {line, sizeof line, 0};
    hz3_print(&out, "hz3: %s%s: 0x%zx\n", what, text, (size_t)p);
    hz3_end_saying(line, hz3_min(out.length, sizeof line - 1));
}

void hz3_misuse(const char *misuse, const void *p)
{
    die("", misuse, p);
}

void hz3_assert_failed(const char *text)
{
    die("broken invariant: ", text, NULL);
}
