/* What a program reads and sets of its own hz3: by name, its profile, and what its threads count. */
#include "api/init.h"
#include "api/options.h"
#include "front/thread.h"
#include "hz3.h"
#include "watch/pprof.h"
#include "watch/profile.h"
#include "watch/sample.h"
#include "watch/stats.h"

#include <errno.h>
#include <string.h>

HZ3_API void hz3_thread_bytes(size_t *allocated, size_t *freed)
{
    hz3_ensure_started();
    hz3_thread_go_inside(&hz3_thread);
    for (unsigned cls = 1; cls <= HZ3_CLASSES; cls++) hz3_thread_count(&hz3_thread, cls);
    hz3_thread_go_outside(&hz3_thread);
    *allocated = hz3_thread.allocated;
    *freed = hz3_thread.freed;
}

HZ3_API size_t hz3_profile_pprof(void *buf, size_t size)
{
    return hz3_pprof_write(buf, size);
}

/* Each returns 0 or an errno value. */
static int get(const char *name, const size_t *option, size_t *value)
{
    size_t allocated, freed;
    hz3_thread_bytes(&allocated, &freed);
    *value = 0;
    if (option)
        *value = option == &hz3_options.PROFILE ? hz3_get(hz3_profile_wanted) : *option;
    else if (!strcmp(name, "thread.allocated"))
        *value = allocated;
    else if (!strcmp(name, "thread.freed"))
        *value = freed;
    else if (strcmp(name, "purge") != 0 && !hz3_stats_find(name, value))
        return EINVAL;
    return 0;
}

static int set(const char *name, const size_t *option, size_t value)
{
    if (option) {
        int error = hz3_options_set(option, value);
        if (!error) hz3_option_changed(option);
        return error;
    }
    if (strcmp(name, "purge") != 0) return EPERM;
    if (value > 1) return EINVAL;
    if (value) hz3_collect(true);
    return 0;
}

HZ3_API int hz3_control(const char *name, void *old, size_t *old_size, const void *wanted, size_t wanted_size)
{
    size_t before, value;
    hz3_ensure_started();
    if (old && !(old_size && *old_size == sizeof before)) return EINVAL;
    if (wanted && wanted_size != sizeof value) return EINVAL;
    const size_t *option = hz3_options_find(name);
    hz3_lock(&hz3_options_lock);
    int error = get(name, option, &before);
    if (wanted && !error) {
        memcpy(&value, wanted, sizeof value);
        error = set(name, option, value);
    }
    hz3_unlock(&hz3_options_lock);
    /* A profile's start waits for the loader, which may run a constructor that comes here. */
    size_t rate = hz3_get(hz3_profile_wanted);
    if (wanted && rate != hz3_sample_rate()) hz3_profile_set(rate);
    if (old && !error) memcpy(old, &before, sizeof before);
    return error;
}
