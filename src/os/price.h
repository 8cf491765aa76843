/* What it costs to purge a page and to fault it in again: it differs tenfold between machines. */
#pragma once

#include "base/types.h"

/* Nanoseconds for a page.  The first call measures it on a few pages of its own; if the system refuses these, it is a
 * usual figure. */
uint32_t hz3_os_page_price(void);
