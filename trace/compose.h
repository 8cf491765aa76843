/* What is played: made from a trace by the process that reads it, in shared memory, for the one that plays it. */
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
    uint64_t time; /* ns from the first one of all */
    uint64_t size : 48, kind : 8, align : 8;
    uint32_t object, old; /* numbers, or NONE: allocated before the recording */
};

struct thread {
    uint64_t first, calls; /* among all calls */
};

/* What the playing process finds in the shared memory; then the threads, then the calls. */
struct score {
    uint64_t threads, calls, objects, bytes, end_ns, cpu_us, peak_kib;
    char program[sizeof((struct trace_head *)0)->program], allocator[sizeof((struct trace_head *)0)->allocator];
};

extern const char *trace_file;

#define REFUSE(format, ...) (fprintf(stderr, "hz3: %s: " format "\n", trace_file, ##__VA_ARGS__), exit(1))

/* As mmap, of zeros where file is -1; or ends the process. */
void *memory(size_t bytes, int flags, int file);

/* Reads trace_file; the memory that begins with a score.  Ends the process, with one line, where it is no trace. */
int compose(void);

#endif
