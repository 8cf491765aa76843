/* The calls to play.  One process makes them from a trace in shared memory, and another plays them. */
#ifndef HZ3_TRACE_COMPOSE_H
#define HZ3_TRACE_COMPOSE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "format.h"

#define NS   UINT64_C(1000000000)
#define NONE UINT32_MAX

struct call {
    uint64_t time; /* ns since the first call */
    uint64_t size : 48, kind : 8, align : 8;
    uint32_t object, old; /* numbers, or NONE, as for one that was allocated before the recording */
};

struct thread {
    uint64_t first, calls; /* its first call's index, and their number */
};

/* The start of the shared memory.  After it come the threads, and then the calls. */
struct score {
    uint64_t threads, calls, objects, bytes, end_ns, cpu_us, peak_kib;
    char program[sizeof((struct trace_head *)0)->program], allocator[sizeof((struct trace_head *)0)->allocator];
};

extern const char *trace_file;

#define REFUSE(format, ...) (fprintf(stderr, "hz3: %s: " format "\n", trace_file, ##__VA_ARGS__), exit(1))

/* Maps the file, or with -1 zeroed memory.  Ends the process if that fails. */
void *memory(size_t bytes, int flags, int file);

/* Reads trace_file.  Returns the file of memory that begins with a score.  Ends the process, with one line, if it is no
 * trace. */
int compose(void);

#endif
