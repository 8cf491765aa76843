/* What the programs of this room share.  A program prints one figure, "figure=2", and the rows of tests/conform.toml
 * say how large it may be.  Each figure is what somebody could notice of the allocator who looks at the process from
 * outside, or has code of his own in it. */
#ifndef HZ3_TEST_FIGURE_H
#define HZ3_TEST_FIGURE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Prints the figure. */
void figure(double value);

/* Allocates 200 MB in blocks of 2,000 bytes, writes to them and frees them: what most allocators react to. */
void burst(void);

/* The entries of a folder, but for . and .. and, of /proc/self/fd, the one that the look itself takes. */
size_t entries(const char *folder);
size_t mappings(void);
/* The CPU time of this process, in seconds. */
double cpu_time(void);

/* Starts this program again with these words (at most 6), what it prints going into the descriptor. */
pid_t again(int out, const char *const words[]);
/* The same, and returns the first number that it prints, which it must. */
double figure_of(const char *const words[]);
/* Becomes this program again, with this word. */
__attribute__((noreturn)) void become(const char *word);

#ifdef __cplusplus
}
#endif
#endif
