#include "watch/layout.h"

#define STRING(x)   #x
#define EXPANDED(x) STRING(x)

const char hz3_config_text[] = "hz3-config: version=" HZ3_VERSION_TEXT " lane=" HZ3_LANE_TEXT
#define HZ3_LANES(...)
#define HZ3_HEADER(...)
#define HZ3_SOURCE(...)
#define HZ3_YIELDS(...)
#define HZ3_FLAG(name, ...) " " #name "=" EXPANDED(name)
#include "base/flags.def"
    ;
