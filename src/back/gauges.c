#include "back/gauges.h"

HZ3_ATOMIC(size_t) hz3_gauges[HZ3_GAUGES];
