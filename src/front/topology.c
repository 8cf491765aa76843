#define _GNU_SOURCE
#include "front/topology.h"

#include "base/number.h"
#include "base/print.h"
#include "variants/instances.h"
#include "os/libc.h"
#include "os/os.h"

enum {
    MISSING_MAX = 64, /* after so many missing numbers of processors in a row there are no more processors */
    LEVELS = 4,       /* caches of a processor, the instruction cache among them */
};

/* The number at the start of the file, or -1. */
static long first_number(const char *cpus, unsigned cpu, const char *file, int level)
{
    char path[256], text[64];
    struct hz3_text name = {path, sizeof path, 0};
    hz3_print(&name, "%s/cpu%u/cache/index%d/%s", cpus, cpu, level, file);
    const char *end;
    size_t n;
    return hz3_os_read_file(path, text, sizeof text) > 0 && hz3_number(text, &end, &n) ? (long)n : -1;
}

/* The first of the processors that share the last cache of this one, or -1. */
static long sharers_first(const char *cpus, unsigned cpu)
{
    for (int level = LEVELS - 1; level >= 0; level--) {
        long first = first_number(cpus, cpu, "shared_cpu_list", level);
        if (first >= 0) return first;
    }
    return -1;
}

unsigned hz3_topology_instances(const char *cpus)
{
    unsigned caches = 0, instances = 1;
    for (unsigned cpu = 0, missing = 0; missing < MISSING_MAX; cpu++) {
        long first = sharers_first(cpus, cpu);
        missing = first < 0 ? missing + 1 : 0;
        caches += first == (long)cpu; /* each cache is counted at the first processor that shares it */
    }
    while (instances < caches && instances < HZ3_INSTANCES_MAX) instances *= 2;
    return instances;
}
