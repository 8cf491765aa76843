/* There are as many instances as last-level caches, read from folders that imitate the system's. */
#include "folder.h"

#include "front/topology.h"
#include "variants/instances.h"

static void share(unsigned cpu, int level, const char *list)
{
    char name[64];
    snprintf(name, sizeof name, "cpu%u/cache/index%d/shared_cpu_list", cpu, level);
    write_line(name, list);
}

/* The build may have room for fewer. */
static unsigned within_build(unsigned instances)
{
    return hz3_min(instances, (unsigned)HZ3_INSTANCES_MAX);
}

static void without_files_there_is_one(void **state)
{
    (void)state;
    assert_int_equal(hz3_topology_instances(folder), 1);
    assert_int_equal(hz3_topology_instances("/nowhere/at/all"), 1);
}

static void a_shared_cache_counts_once(void **state)
{
    (void)state;
    for (unsigned cpu = 0; cpu < 4; cpu++) share(cpu, 3, "0-3");
    assert_int_equal(hz3_topology_instances(folder), 1);
}

static void the_last_level_is_what_counts(void **state)
{
    (void)state;
    static const char *const alone[] = {"0", "1", "2", "3"};
    for (unsigned cpu = 0; cpu < 4; cpu++) {
        share(cpu, 0, alone[cpu]);
        share(cpu, 2, alone[cpu]);
        share(cpu, 3, cpu < 2 ? "0-1" : "2-3");
    }
    assert_int_equal(hz3_topology_instances(folder), within_build(2));
}

static void three_round_up_to_four(void **state)
{
    (void)state;
    static const char *const lists[] = {"0,3", "1,4", "2,5", "0,3", "1,4", "2,5"};
    for (unsigned cpu = 0; cpu < 6; cpu++) share(cpu, 3, lists[cpu]);
    assert_int_equal(hz3_topology_instances(folder), within_build(4));
    share(6, 3, "6");
    assert_int_equal(hz3_topology_instances(folder), within_build(4));
}

static void there_are_no_more_than_sixteen(void **state)
{
    (void)state;
    char alone[16];
    for (unsigned cpu = 0; cpu < 40; cpu++) {
        snprintf(alone, sizeof alone, "%u", cpu);
        share(cpu, 3, alone);
    }
    assert_int_equal(hz3_topology_instances(folder), within_build(16));
}

static void what_is_no_number_counts_for_nothing(void **state)
{
    (void)state;
    share(0, 3, "");
    share(1, 3, "none");
    assert_int_equal(hz3_topology_instances(folder), 1);
}

RUN(IN_FOLDER(without_files_there_is_one), IN_FOLDER(a_shared_cache_counts_once),
    IN_FOLDER(the_last_level_is_what_counts), IN_FOLDER(three_round_up_to_four),
    IN_FOLDER(there_are_no_more_than_sixteen), IN_FOLDER(what_is_no_number_counts_for_nothing))
