/* The caches of the processors. */
#ifndef HZ3_FRONT_TOPOLOGY_H
#define HZ3_FRONT_TOPOLOGY_H

/* As many instances of the owner stash as there are last-level caches: a power of two from 1 to 16.
 * cpus: the folder of the system's cpu files.  Reads files: at start only. */
#define HZ3_CPU_FILES "/sys/devices/system/cpu"
unsigned hz3_topology_instances(const char *cpus);
#endif
