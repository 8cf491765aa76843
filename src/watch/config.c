#include "watch/layout_head.h"

const char hz3_config_text[] = "hz3-config: version=" HZ3_VERSION_TEXT " lane=" HZ3_LANE_TEXT HZ3_FLAGS_TEXT;
