#include "api/misuse.h"

#include "base/check.h"
#include "base/print.h"
#include "front/threads.h"
#include "os/mappings.h"

#include <string.h>

/* What free and its relatives say, and what other calls say that they were given. */
static const struct {
    const char *of_free, *pointer;
} words[] = {
    [HZ3_FREED] = {"double free", "a freed pointer"},
    [HZ3_INTERIOR] = {"interior pointer freed", "an interior pointer"},
    [HZ3_FOREIGN] = {"foreign pointer freed", "a foreign pointer"},
    [HZ3_NEVER_ALLOCATED] = {"free of a pointer that was never allocated", "a pointer that was never allocated"},
    [HZ3_OVERRUN] = {"free of a block written beyond its end", "a block written beyond its end"},
    [HZ3_UNDERRUN] = {"free of a block behind an overwritten canary", "a block behind an overwritten canary"},
    [HZ3_OTHER_SIZE] = {"free of a block with another size or alignment", NULL},
    [HZ3_OTHER_HEAP] = {NULL, "a block that is not of this heap"},
    [HZ3_NO_HEAP] = {NULL, "a block that is no heap"},
};

/* What else is known, in parentheses. */
static void print_known(struct hz3_text *text, int thread, const void *from)
{
    char module[256];
    size_t offset;
    const char *before = " (";
    if (thread) {
        hz3_print(text, "%scached by thread %d", before, thread);
        before = ", ";
    }
    if (hz3_os_module_of(from, module, sizeof module, &offset)) {
        hz3_print(text, "%scalled from %s+0x%zx", before, module, offset);
        before = ", ";
    }
    hz3_print(text, *before == ',' ? ")\n" : "\n");
}

HZ3_NORETURN void hz3_misuse_by(const struct hz3_call *call, enum hz3_misuse_kind kind, const void *p, unsigned cls)
{
    char line[512];
    struct hz3_text text = {line, sizeof line, 0};
    if (!strcmp(call->name, "free"))
        hz3_print(&text, "hz3: %s: 0x%zx", words[kind].of_free, (size_t)p);
    else
        hz3_print(&text, "hz3: %s of %s: 0x%zx", call->name, words[kind].pointer, (size_t)p);
    /* The thread in whose magazines p lies has freed it, or took it over from a thread that did. */
    bool may_be_cached = kind == HZ3_FREED && cls >= 1 && cls <= HZ3_CLASSES;
    print_known(&text, may_be_cached ? hz3_threads_find(p, cls) : 0, call->from);
    hz3_end_saying(line, text.length);
}
