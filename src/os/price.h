/* What it costs to give a page back and to take it again: it differs tenfold between machines. */
#ifndef HZ3_OS_PRICE_H
#define HZ3_OS_PRICE_H

#include "base/types.h"

/* Nanoseconds for a page.  Measured by the first call, on a few pages of its own; where the system refuses these, a
 * usual figure. */
uint32_t hz3_os_page_price(void);
#endif
