/* A gate of seccomp filters between a process and the kernel.  A filter cannot be taken off again: always in
 * a child.  The calls named are those by which an allocator gets and gives memory. */
#include <stdbool.h>
#include <stddef.h>

extern const int memory_calls[];
extern const size_t memory_calls_count;

/* From now on each of these calls fails with `error`. */
void gate_refuse(const int *calls, size_t count, int error);
/* From now on every other call of this thread, or of any that the process has, kills the process. */
void gate_allow_only(const int *calls, size_t count, bool all_threads);
/* From now on the memory calls of this thread, and of those it starts, are counted; those numbered first to
 * last fail with ENOMEM. */
struct gate {
    volatile long calls, first, last;
};
void gate_count(struct gate *gate);
