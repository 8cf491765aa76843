/* A gate of seccomp filters between a process and the kernel.  A filter cannot be removed, so use it in a child
 * only.  memory_calls are those by which an allocator gets memory and gives it back. */
#include <stdbool.h>
#include <stddef.h>

extern const int memory_calls[];
extern const size_t memory_calls_count;

/* From now on each of these calls fails with `error`. */
void gate_refuse(const int *calls, size_t count, int error);
/* From now on every other call of this thread, or of any that the process has, kills the process. */
void gate_allow_only(const int *calls, size_t count, bool all_threads);
/* From now on each of these calls of this thread, or of any that the process has, kills the process. */
void gate_forbid(const int *calls, size_t count, bool all_threads);
/* The same for this thread, by a filter that some process may listen to. */
void gate_forbid_and_listen(const int *calls, size_t count);
/* The same, by libc's `syscall` and the number of prctl. */
void gate_forbid_by_number(const int *calls, size_t count);
/* From now on this call ends the thread that makes it: this one, or one that it starts. */
void gate_kill_threads(int call);
/* From now on these calls of this thread, and of the threads, children and programs that it starts, are counted.  Calls
 * number first to last fail with `error`.  With last = 0 the gate is open: no call fails or is counted. */
struct gate {
    volatile long calls, first, last;
    volatile unsigned refused; /* bit i: calls[i] failed at least once */
    volatile bool begun;       /* gate_say_begun was called behind the gate */
    bool passes_caller;        /* the caller's own calls are not counted */
    int error;
};
void gate_count(struct gate *gate, const int *calls, size_t count);
/* A program behind a gate says that it has reached main, or asks that no further call fail. */
void gate_say_begun(void);
void gate_ask_to_open(void);
