#include "front/thread.h"

_Thread_local struct hz3_thread hz3_thread = {
    .cache = {.top = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP},
              .previous = {[0 ... HZ3_CLASS_VALUES - 1] = HZ3_STUB_TOP}},
};
