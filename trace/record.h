/* Writes the trace.  calls.c reports each call to it. */
#ifndef HZ3_TRACE_RECORD_H
#define HZ3_TRACE_RECORD_H

#include <stddef.h>
#include <stdint.h>

#include "format.h"

struct trace_event {
    enum trace_kind kind;
    const void *address, *old;
    size_t size, alignment;
    uint64_t start_ns; /* of a realloc, also one that frees; else 0 */
};

/* More than 0 while the thread is in the recorder or in the allocator, whose calls are not the program's. */
extern __thread unsigned trace_inside __attribute__((tls_model("initial-exec")));

void trace_begin(const char *file, const char *allocator);
void trace_note(struct trace_event e); /* does nothing before trace_begin, or inside */
uint64_t trace_now(void);

#endif
