/* Proves that any system call that gets memory, gives it back, or makes a thread or a child, may fail.  Each such call,
 * from the loader's first on, is refused from outside, alone or with all that follow.  The process must not crash, hang
 * or lose a byte, and must work as before when calls succeed again.  Before main it may exit, with a message.  (glibc's
 * loader crashes if its first mmap and all others fail.  This is no failure of hz3's if it also happens without hz3.)
 *
 *     faults [STEP [FIRST]]     every STEP-th call of each kind, from number FIRST on */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gate.h"
#include "hardship.h"
#include "support.h"

/* In each lane the process makes more than 250 such calls.  Each is refused alone, and with all that follow.  Larger
 * steps than STEP_JUDGED make too few attempts to tell that from chance. */
enum { LARGEST = KIB(200), PATIENCE = 20, LEAST_TRIED = 500, STEP_JUDGED = 10 };

/* ---- the process behind the gate ---- */

static void endure_as_a_child(void *unused)
{
    (void)unused;
    endure(LARGEST);
}

static void fork_if_possible(void)
{
    pid_t child = fork();
    if (child == 0) {
        endure_as_a_child(NULL);
        _exit(0);
    }
    if (child > 0) expect_success(child, PATIENCE);
}

static void take_and_release_all_sizes(void)
{
    for (size_t size = 1; size <= MIB(64); size += size / 2 + 1) {
        char *p = malloc(size);
        CHECK(p != NULL);
        fill_sparsely(p, size, KIB(64), size);
        p = realloc(p, size + size / 2);
        CHECK(p != NULL && is_filled_sparsely(p, size, KIB(64), size, size));
        free(p);
    }
}

static int live(void)
{
    gate_say_begun();
    endure(LARGEST);
    fork_if_possible();
    endure(LARGEST);
    gate_ask_to_open();
    CHECK(endure(LARGEST) == 0);
    take_and_release_all_sizes();
    expect_success(in_child(endure_as_a_child, NULL), PATIENCE);
    return 0;
}

/* ---- its keeper ---- */

static const struct kind {
    const char *name;
    int calls[2];
    size_t count;
    int error;
} kinds[] = {
    {"mmap", {SYS_mmap}, 1, ENOMEM},       {"munmap", {SYS_munmap}, 1, ENOMEM},
    {"madvise", {SYS_madvise}, 1, ENOMEM}, {"mprotect", {SYS_mprotect}, 1, ENOMEM},
    {"mremap", {SYS_mremap}, 1, ENOMEM},   {"clone", {SYS_clone, SYS_clone3}, 2, EAGAIN},
};

/* Shared with the child that runs the process. */
static struct attempt {
    const struct kind *kind;
    struct gate gate;
    const char *environment; /* NAME=VALUE or NULL */
    int status;
    char said[4096];
} *attempt;

static void run_behind_gate(void *unused)
{
    (void)unused;
    gate_count(&attempt->gate, attempt->kind->calls, attempt->kind->count);
    struct program_run run = run_program((const char *const[]){"/proc/self/exe", "live", NULL},
                                         (const char *const[]){attempt->environment, NULL}, PATIENCE);
    attempt->status = run.status;
    memcpy(attempt->said, run.err, sizeof(attempt->said) - 1);
}

static size_t tried, held, at_start, without_hz3;

static void tell(void)
{
    printf("did not stand %s %ld of %s: status %#x\n%s", attempt->gate.last == LONG_MAX ? "all from" : "call",
           attempt->gate.first, attempt->kind->name, attempt->status, attempt->said);
}

static void run_attempt(const struct kind *kind, long first, long last, const char *environment)
{
    struct gate gate = {.first = first, .last = last, .passes_caller = true, .error = kind->error};
    *attempt = (struct attempt){.kind = kind, .gate = gate, .environment = environment};
    expect_success(in_child(run_behind_gate, NULL), 2 * PATIENCE);
}

static bool is_crash_before_main(void)
{
    return !attempt->gate.begun && WIFSIGNALED(attempt->status);
}

/* Returns whether the process reached call number `first`. */
static bool fail(const struct kind *kind, long first, long last)
{
    run_attempt(kind, first, last, NULL);
    if (attempt->gate.calls < first) return false;
    CHECK(attempt->gate.refused != 0);
    if (is_crash_before_main()) {
        run_attempt(kind, first, last, "LD_PRELOAD=");
        if (is_crash_before_main()) return ++without_hz3;
        run_attempt(kind, first, last, NULL);
    }
    bool stood = attempt->status == 0;
    bool ended = !stood && !attempt->gate.begun && WIFEXITED(attempt->status) && attempt->said[0];
    tried++;
    held += stood || ended;
    at_start += ended;
    if (!stood && !ended) tell();
    return true;
}

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "live") == 0) return live();
    long step = argc > 1 ? atol(argv[1]) : 1, first = argc > 2 ? atol(argv[2]) : 1;
    CHECK(step > 0 && first > 0);
    attempt = mmap(NULL, sizeof(*attempt), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(attempt != MAP_FAILED);
    for (size_t k = 0; k < COUNT_OF(kinds); k++)
        for (int on = 0; on < 2; on++) {
            long n = first;
            while (fail(&kinds[k], n, on ? LONG_MAX : n)) n += step;
            printf("%s %s: %ld calls\n", on ? "all from one on," : "one", kinds[k].name, attempt->gate.calls);
            /* So at least one call of each kind is refused if the first is tried.  Others need not make each kind. */
            CHECK(ANY_MALLOC || attempt->gate.calls > 0);
        }
    printf("%zu ended before main, with a message; %zu, which are not counted, crash there without hz3, too\n",
           at_start, without_hz3);
    printf("tried=%zu held=%zu\n", tried, held);
    CHECK(ANY_MALLOC || step > STEP_JUDGED || tried * (size_t)step >= LEAST_TRIED);
    return tried > 0 && held == tried ? 0 : 1;
}
