/* The flush with a budget (work order S44, section 6): what an allocation that finds nothing does first. */
#pragma once

#include "middle/outbox.h"

/* Sends up to `budget` entries home, an outgoing magazine being one. */
void hz3_outgoing_flush_some(struct hz3_outbox *outbox, unsigned budget);
