#include "api/misuse.h"

#include "base/check.h"
#include "base/print.h"
#include "front/threads.h"
#include "os/module.h"

#include <string.h>

/* Messages for free and its relatives; those for other calls name the call. */
static const char *const of_free[] = {
    [HZ3_FREED] = "double free",
    [HZ3_INTERIOR] = "interior pointer freed",
    [HZ3_FOREIGN] = "foreign pointer freed",
    [HZ3_NEVER_ALLOCATED] = "free of a pointer that was never allocated",
    [HZ3_OVERRUN] = "free of a block written beyond its end",
};
static const char *const pointers[] = {
    [HZ3_FREED] = "a freed pointer",
    [HZ3_INTERIOR] = "an interior pointer",
    [HZ3_FOREIGN] = "a foreign pointer",
    [HZ3_NEVER_ALLOCATED] = "a pointer that was never allocated",
    [HZ3_OVERRUN] = "a block written beyond its end",
};

/* The thread in whose magazines p lies has freed it, or took it over from a thread that did. */
static void print_thread(struct hz3_text *text, const void *p, unsigned cls)
{
    int thread = cls >= 1 && cls <= HZ3_CLASSES ? hz3_threads_find(p, cls) : 0;
    if (thread) hz3_print(text, "cached by thread %d, ", thread);
}

HZ3_NORETURN void hz3_misuse_by(const struct hz3_call *call, enum hz3_misuse_kind kind, const void *p, unsigned cls)
{
    char line[512], module[256];
    struct hz3_text text = {line, sizeof line, 0};
    size_t offset;
    if (!strcmp(call->name, "free"))
        hz3_print(&text, "hz3: %s: 0x%zx", of_free[kind], (size_t)p);
    else
        hz3_print(&text, "hz3: %s of %s: 0x%zx", call->name, pointers[kind], (size_t)p);
    if (hz3_os_module_of(call->from, module, sizeof module, &offset)) {
        hz3_print(&text, " (");
        if (kind == HZ3_FREED) print_thread(&text, p, cls);
        hz3_print(&text, "called from %s+0x%zx)", module, offset);
    }
    hz3_print(&text, "\n");
    hz3_end_saying(line, text.length);
}
