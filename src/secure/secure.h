/* What lane secure adds on the way of a block. */
#ifndef HZ3_SECURE_SECURE_H
#define HZ3_SECURE_SECURE_H

#include "secure/empty.h"
#include "secure/quarantine.h"
#include "secure/seal.h"
#endif
