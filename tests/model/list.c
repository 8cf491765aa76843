/* The inline functions of src/variants/list.h, out of line, with links that Relacy watches. */

static inline void *hz3_link_get(void *object)
{
    return model_link_get(object);
}

static inline void hz3_link_set(void *object, void *next)
{
    model_link_set(object, next);
}

#include "variants/list.h"

static struct hz3_list list;

unsigned model_count(void)
{
    return hz3_list_count(&list);
}

uint32_t model_push(void *first, void *last, unsigned n, unsigned max)
{
    unsigned retries;
    return hz3_list_push(&list, first, last, n, max, &retries);
}

void *model_take_all(uint32_t *count)
{
    return hz3_list_take_all(&list, count);
}

bool model_restore(void *first, unsigned n)
{
    return hz3_list_restore(&list, first, n);
}
