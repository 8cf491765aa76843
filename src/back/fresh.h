/* Prepares objects that a run hands out in lane secure: they are wiped and shuffled (secure/wiped_fresh.c). */
#pragma once

#include "back/span.h"

/* There are `taken` objects; the last `fresh` of them were never handed out.  To be called by the run's holder. */
void hz3_fresh_prepare(const struct hz3_span *run, void **objects, unsigned taken, unsigned fresh);
