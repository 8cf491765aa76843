/* What lane secure adds on the way of a block. */
#pragma once

#include "secure/empty.h"
#include "secure/quarantine.h"
#include "secure/seal.h"
