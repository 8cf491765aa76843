/* The heap profile as pprof has it, made inside the process. */
#pragma once

#include "base/types.h"

/* hz3_profile_pprof of hz3.h.  Takes hz3_profile_setting; call outside the gate. */
size_t hz3_pprof_write(void *buf, size_t size);
