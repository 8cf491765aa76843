/* The head of the layout.  A reader finds it by its magic, in what the process has mapped of files. */
#pragma once

#include "base/layout.h"

/* Every version begins like this. */
struct hz3_layout {
    char magic[16];
    const struct hz3_layout *self; /* its own address, by which a reader knows that it is no copy */
    const char *config;            /* what hz3_config_string returns */
    uint32_t version;              /* HZ3_LAYOUT_VERSION */
    uint32_t rooms;
    const struct hz3_place *const *places; /* a list for each room */
};
extern const struct hz3_layout hz3_layout;
extern const char hz3_config_text[]; /* version, lane and every flag */
