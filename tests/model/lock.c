/* The inline functions of src/os/lock.h, out of line. */
#include "os/lock.h"

struct hz3_lock model_mutex;

void model_lock(void)
{
    hz3_lock(&model_mutex);
}

bool model_trylock(void)
{
    return hz3_trylock(&model_mutex);
}

void model_unlock(void)
{
    hz3_unlock(&model_mutex);
}
