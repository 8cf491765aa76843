/* What the tests share: a check that works in any thread and any child, patterns that show whose memory a
 * block is, children that cannot hang, and readings of the process itself.  Nothing here calls malloc. */
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

/* Ends the process, from wherever it is: cmocka's asserts may only be used in the test's own thread. */
#define CHECK(truth) ((truth) ? (void)0 : check_failed(#truth, __FILE__, __LINE__))
__attribute__((noreturn)) void check_failed(const char *truth, const char *file, int line);
/* Ends the process as skipped, by name (ctest's SKIP_RETURN_CODE). */
__attribute__((noreturn)) void skip_test(const char *why);

/* On any malloc that the process has the tests ask for what the standards do, where hz3 promises more. */
#ifndef HZ3_TEST_STANDIN
#define HZ3_TEST_STANDIN 0
#endif
enum { ANY_MALLOC = HZ3_TEST_STANDIN };

/* Of a block of so many bytes for which none was asked: 16; of any malloc what C asks, that of a type that has room. */
size_t least_alignment(size_t size);

/* The same pointer, of which the compiler knows nothing any more. */
void *forget(void *p);

/* Fills n bytes at p with a pattern that only this id has, and tells whether it is still all there. */
void fill(void *p, size_t n, uint64_t id);
bool is_filled(const void *p, size_t n, uint64_t id);
bool is_zero(const void *p, size_t n);
/* The same of a block of which it would take too long to look at all: of the first 8 KiB, of a line at every multiple
 * of `step` bytes, and of the last line.  kept: how many bytes of the n there still are. */
void fill_sparsely(void *p, size_t n, size_t step, uint64_t id);
bool is_filled_sparsely(const void *p, size_t n, size_t step, uint64_t id, size_t kept);

uint64_t next_random(uint64_t *state);

pthread_t start_thread(void *(*body)(void *), void *arg);
void *join_thread(pthread_t thread);

/* Forks; the child runs body(arg) and leaves by _exit(0), and dies with the thread that forked it.
 * expect_success fails the caller unless the child ended so within `seconds`. */
pid_t in_child(void (*body)(void *), void *arg);
void expect_success(pid_t child, double seconds);
/* A signal handler: forks a child that only leaves, and waits for it. */
void fork_here(int signal);

/* Runs argv (found by path) with each NAME=VALUE of `environment` added, and keeps what it wrote. */
struct program_run {
    int status;
    char out[8192], err[8192];
};
struct program_run run_program(const char *const argv[], const char *const environment[], double seconds);

double now(void);
void sleep_for(double seconds);
size_t resident_bytes(void);
/* One of the lines of /proc/self/status, such as "Threads:"; a kB line, such as "VmLck:", in bytes. */
size_t status_number(const char *line);
size_t status_bytes(const char *line);
/* Whether the system counts what is mapped and not what is touched (vm.overcommit_memory=2). */
bool never_overcommits(void);

#ifdef __cplusplus
}
#endif
#endif
