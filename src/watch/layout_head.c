#include "watch/layout_head.h"

#include "back/arena.h"
#include "back/gauges.h"
#include "back/large.h"
#include "back/limits.h"
#include "base/sizeclass.h"
#include "front/handoff.h"
#include "front/orphans.h"
#include "front/threads.h"
#include "middle/owner_stash.h"
#include "middle/transfer_cache.h"
#include "watch/profile.h"

/* Lists of sources that take no part in this build are left out. */
static const struct hz3_place *const places[] = {
    hz3_sizeclass_places, hz3_gauge_places,    hz3_limits_places,  hz3_large_places,    hz3_map_places,
    hz3_arena_places,     hz3_magazine_places, hz3_central_places, hz3_transfer_places, hz3_outbox_places,
    hz3_threads_places,   hz3_handoff_places,  hz3_orphans_places, hz3_profile_places,  hz3_stash_places};

const char hz3_config_text[] = "hz3-config: version=" HZ3_VERSION_TEXT " lane=" HZ3_LANE_TEXT HZ3_FLAGS_TEXT;
const struct hz3_layout hz3_layout = {
    .magic = "\177hz3 layout\n\r\n\032",
    .self = &hz3_layout,
    .config = hz3_config_text,
    .version = HZ3_LAYOUT_VERSION,
    .rooms = sizeof places / sizeof *places,
    .places = places,
};
