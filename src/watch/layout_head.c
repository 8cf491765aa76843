#include "watch/layout_head.h"

/* The rooms that have a list; it is not in their headers, as only this file reads it. */
#define ROOMS(ROOM) \
    ROOM(sizeclass) \
    ROOM(gauge) ROOM(limits) ROOM(large) ROOM(map) ROOM(arena) ROOM(magazine) ROOM(central) ROOM(transfer) \
        ROOM(outbox) ROOM(threads) ROOM(handoff) ROOM(orphans) ROOM(profile) ROOM(stash)
#define DECLARE(room) extern const struct hz3_place hz3_##room##_places[];
#define LIST(room)    hz3_##room##_places,
ROOMS(DECLARE)
static const struct hz3_place *const places[] = {ROOMS(LIST)};

const char hz3_config_text[] = "hz3-config: version=" HZ3_VERSION_TEXT " lane=" HZ3_LANE_TEXT HZ3_FLAGS_TEXT;
const struct hz3_layout hz3_layout = {
    .magic = "\177hz3 layout\n\r\n\032",
    .self = &hz3_layout,
    .config = hz3_config_text,
    .version = HZ3_LAYOUT_VERSION,
    .rooms = sizeof places / sizeof *places,
    .places = places,
};
