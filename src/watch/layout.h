/* The head of the layout, which a reader finds by its magic among what is mapped of files. */
#ifndef HZ3_WATCH_LAYOUT_H
#define HZ3_WATCH_LAYOUT_H

#include "base/layout.h"

/* It begins so in every version. */
struct hz3_layout {
    char magic[16];
    const struct hz3_layout *self; /* tells it from a copy */
    const char *config;            /* as hz3_config_string */
    uint32_t version;              /* HZ3_LAYOUT_VERSION */
    uint32_t rooms;
    const struct hz3_place *const *places; /* of each room */
};
extern const struct hz3_layout hz3_layout;
extern const char hz3_config_text[]; /* config.c */
#endif
