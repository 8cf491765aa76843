#define BENCH_QUESTION "What does an allocator cost a process that hardly does anything?"
/* Starts this program again `runs` times in sequence.  Each child records when it reaches main and its RSS there,
 * times its first malloc (of 64 bytes, touched), records by how much RSS grew, and ends.  start is the time from
 * before the spawn to main, and life until the parent has seen the end.  An op is one child.  The cost of preloading
 * is the difference to glibc. */
#include <spawn.h>
#include <sys/wait.h>

#include "bench.h"

#define CHILD "child" /* a child has this argument */

enum { RUNS };
static struct bench_param param[] = {[RUNS] = {.name = "runs", .value = 200, .min = 1}};

struct report {
    uint64_t main_ns, main_kib, malloc_ns, malloc_kib;
    char library[256];
};

static int be_child(void)
{
    struct report r = {.main_ns = bench_now_ns(), .main_kib = bench_rss_kib()};
    uint64_t before = bench_now_ns();
    volatile char *p = malloc(64);
    r.malloc_ns = bench_now_ns() - before;
    if (!p) return 1;
    *p = 1;
    r.malloc_kib = bench_rss_kib() - r.main_kib;
    free((void *)p);
    snprintf(r.library, sizeof r.library, "%s", bench_library_of("malloc"));
    return write(STDOUT_FILENO, &r, sizeof r) != sizeof r;
}

/* One child, from its spawn to its end. */
static struct report run_child(void)
{
    struct report r;
    int ends[2], status;
    pid_t child;
    posix_spawn_file_actions_t actions;
    char *argv[] = {"bench_startup", CHILD, NULL};
    if (pipe2(ends, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) != 0)
        bench_die("bench: cannot prepare a child");
    int error = posix_spawn(&child, "/proc/self/exe", &actions, NULL, argv, environ);
    if (error) bench_die("bench: posix_spawn: %s", strerror(error));
    close(ends[1]);
    bool whole = read(ends[0], &r, sizeof r) == sizeof r;
    if (waitpid(child, &status, 0) != child || status != 0 || !whole) bench_die("bench: a child failed");
    close(ends[0]);
    posix_spawn_file_actions_destroy(&actions);
    return r;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], CHILD) == 0) return be_child();
    static struct histogram start, life, first_malloc;
    bench_start(argc, argv, param, BENCH_COUNT(param));
    uint64_t runs = param[RUNS].value, main_kib = 0, malloc_kib = 0, begin = bench_now_ns();
    for (uint64_t i = 0; i < runs; i++) {
        uint64_t spawned = bench_now_ns();
        struct report r = run_child();
        histogram_add(&life, bench_now_ns() - spawned);
        histogram_add(&start, r.main_ns - spawned);
        histogram_add(&first_malloc, r.malloc_ns);
        main_kib += r.main_kib;
        malloc_kib += r.malloc_kib;
        if (strncmp(r.library, bench_library_of("malloc"), sizeof r.library - 1) != 0)
            bench_die("bench: %s served a child", r.library);
    }
    bench_print_ops(runs, (double)(bench_now_ns() - begin) / 1e9);
    bench_print_percentiles("start", &start);
    bench_print_percentiles("life", &life);
    bench_print_percentiles("first_malloc", &first_malloc);
    printf(" main_kib=%.1f first_malloc_kib=%.1f", (double)main_kib / (double)runs, (double)malloc_kib / (double)runs);
    bench_finish();
    return 0;
}
