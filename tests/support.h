/* Shared by the tests: a check that works in any thread and child, patterns that identify a block's owner, children
 * with a time limit, and figures of the process.  Nothing here calls malloc. */
#ifndef HZ3_TEST_SUPPORT_H
#define HZ3_TEST_SUPPORT_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define KIB(n)          ((size_t)(n) << 10)
#define MIB(n)          ((size_t)(n) << 20)
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Ends the process, in any thread.  cmocka's asserts may only be used in the test's own thread. */
#define CHECK(truth) ((truth) ? (void)0 : check_failed(#truth, __FILE__, __LINE__))
__attribute__((noreturn)) void check_failed(const char *truth, const char *file, int line);
/* Ends the process with the status for a skipped test (ctest's SKIP_RETURN_CODE), and prints why. */
__attribute__((noreturn)) void skip_test(const char *why);

/* On another malloc than hz3's the tests only require what the standards do, even where hz3 promises more. */
#ifndef HZ3_TEST_STANDIN
#define HZ3_TEST_STANDIN 0
#endif
enum { ANY_MALLOC = HZ3_TEST_STANDIN };

/* The least alignment of a block of this size: 16 with hz3, otherwise that of the largest type that fits in. */
size_t least_alignment(size_t size);

/* Returns p, but the compiler can no longer deduce anything about it. */
void *forget(void *p);

/* Fill n bytes at p with a pattern that only this id has, and check that it is unchanged. */
void fill(void *p, size_t n, uint64_t id);
bool is_filled(const void *p, size_t n, uint64_t id);
bool is_zero(const void *p, size_t n);
/* The same for blocks that are too large to check whole.  Only the first 8 KiB, a cache line at every multiple of
 * `step` bytes, and the last line are filled.  kept: only the first `kept` of the n bytes are checked. */
void fill_sparsely(void *p, size_t n, size_t step, uint64_t id);
bool is_filled_sparsely(const void *p, size_t n, size_t step, uint64_t id, size_t kept);

uint64_t next_random(uint64_t *state);

pthread_t start_thread(void *(*body)(void *), void *arg);
void *join_thread(pthread_t thread);

/* Forks.  The child runs body(arg) and calls _exit(0).  It dies with the thread that forked it.
 * expect_success fails the caller unless the child ends with 0 within `seconds`. */
pid_t in_child(void (*body)(void *), void *arg);
void expect_success(pid_t child, double seconds);
/* A signal handler that forks a child, which exits at once, and waits for it. */
void fork_here(int signal);

/* Runs argv, whose first word is a path, with each NAME=VALUE of `environment` added.  Returns what it wrote. */
struct program_run {
    int status;
    char out[8192], err[8192];
};
struct program_run run_program(const char *const argv[], const char *const environment[], double seconds);

double now(void);
void sleep_for(double seconds);
size_t resident_bytes(void);
/* Bytes of pages that only this process has, and that were written.  Exact, and slower: the kernel's count of resident
 * pages has those of libc's code, too, and may be 32 pages behind for each processor. */
size_t written_bytes(void);
/* The number behind these words in a file, which has to have them. */
size_t number_in(const char *path, const char *words);
/* A line of /proc/self/status: a number, such as that of "Threads:", or a kB line, such as "VmLck:", in bytes. */
size_t status_number(const char *line);
size_t status_bytes(const char *line);
/* Whether the system counts memory when it is mapped, not when it is touched (vm.overcommit_memory=2). */
bool never_overcommits(void);

#ifdef __cplusplus
}
#endif
#endif
