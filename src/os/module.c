#include "os/module.h"

#include "base/print.h"
#include "os/mappings.h"

struct search {
    uintptr_t code, first; /* first: where the file's first mapping starts */
    uint64_t path;
    char *name;
    size_t size, *offset;
    bool found;
};

static bool look(const struct hz3_mapping *mapping, void *to)
{
    struct search *search = to;
    if (mapping->path != search->path) search->first = mapping->start;
    search->path = mapping->path;
    search->found = search->code - mapping->start < mapping->end - mapping->start;
    if (!search->found) return true;
    hz3_print_name(&(struct hz3_text){search->name, search->size, 0}, mapping->path ? mapping->name : "?", 0);
    *search->offset = search->code - search->first;
    return false;
}

bool hz3_os_module_of(const void *code, char *name, size_t size, size_t *offset)
{
    struct search search = {.code = (uintptr_t)code, .name = name, .size = size, .offset = offset};
    hz3_os_each_mapping(false, look, &search);
    return search.found;
}
