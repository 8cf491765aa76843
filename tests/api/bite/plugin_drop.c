/* Of each plugin: a block that it made goes back, by the free that it is bound to. */
#include <stdlib.h>

#include "support.h"

__attribute__((visibility("default"))) void plugin_drop(void *p, size_t size)
{
    CHECK(is_filled(p, size, size));
    free(p);
}
