/* Proves that hz3 works if the system refuses every second, tenth or hundredth call at random, thread creation
 * included.  Meanwhile threads allocate, pass blocks on, start threads and end, and children are forked that do the
 * same.  Nothing crashes or hangs, and no block changes by itself.  Once no call is refused, every request is served,
 * in the children too.
 *
 *     rates [SEED [SECONDS]]     SECONDS for each of the three rates */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hardship.h"
#include "mail.h"

enum { THREADS = 6, PASSED_ON = 400, LARGEST = KIB(200), PATIENCE = 40 };

/* ---- system calls: these functions replace libc's ---- */

static unsigned one_in; /* one call in so many is refused; 0: none */
static uint64_t seed, calls;
static size_t *refused; /* shared with the children */

static bool refuses(void)
{
    uint64_t state = seed + __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    unsigned rate = __atomic_load_n(&one_in, __ATOMIC_RELAXED);
    if (rate == 0 || next_random(&state) % rate != 0) return false;
    __atomic_add_fetch(refused, 1, __ATOMIC_RELAXED);
    errno = ENOMEM;
    return true;
}

void *mmap(void *at, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    return refuses() ? MAP_FAILED : (void *)syscall(SYS_mmap, at, bytes, protection, flags, fd, offset);
}

int munmap(void *at, size_t bytes)
{
    return refuses() ? -1 : (int)syscall(SYS_munmap, at, bytes);
}

int madvise(void *at, size_t bytes, int advice)
{
    return refuses() ? -1 : (int)syscall(SYS_madvise, at, bytes, advice);
}

int mprotect(void *at, size_t bytes, int protection)
{
    return refuses() ? -1 : (int)syscall(SYS_mprotect, at, bytes, protection);
}

/* If Linux refuses a move, it may have unmapped the target already. */
void *mremap(void *from, size_t bytes, size_t to_bytes, int flags, ...)
{
    va_list more;
    va_start(more, flags);
    void *to = va_arg(more, void *);
    va_end(more);
    if (!refuses()) return (void *)syscall(SYS_mremap, from, bytes, to_bytes, flags, to);
    if (refuses()) syscall(SYS_munmap, to, to_bytes);
    errno = ENOMEM;
    return MAP_FAILED;
}

/* No thread can be made with a stack of half of all addresses. */
int pthread_attr_setstacksize(pthread_attr_t *attributes, size_t bytes)
{
    static int (*real)(pthread_attr_t *, size_t);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "pthread_attr_setstacksize");
    return real(attributes, refuses() ? SIZE_MAX / 2 : bytes);
}

/* ---- the load ---- */

static bool stop;

static size_t any_size(uint64_t *random)
{
    return next_random(random) % ((size_t)16 << next_random(random) % 13);
}

static void *live(void *number)
{
    struct letter *letter = mail_new_letter();
    uint64_t random = seed + (uintptr_t)number;
    while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
        for (int i = 0; i < PASSED_ON; i++) {
            mail_write(letter, any_size(&random));
            letter = mail_exchange(letter, &random);
        }
        endure(LARGEST);
    }
    return number;
}

static void live_as_a_child(void *unused)
{
    (void)unused;
    endure(LARGEST);
    mail_write_all(2000);
    one_in = 0;
    CHECK(endure(LARGEST) == 0);
}

struct trial {
    unsigned one_in;
    double seconds;
};

static void live_at_a_rate(void *arg)
{
    const struct trial *trial = (const struct trial *)arg;
    pthread_t threads[THREADS];
    mail_start();
    for (size_t i = 0; i < THREADS; i++) threads[i] = start_thread(live, (void *)i);
    one_in = trial->one_in;
    for (double until = now() + trial->seconds; now() < until; sleep_for(0.01))
        expect_success(in_child(live_as_a_child, NULL), PATIENCE);
    __atomic_store_n(&one_in, 0, __ATOMIC_RELAXED);
    CHECK(endure(MIB(8)) == 0);
    __atomic_store_n(&stop, true, __ATOMIC_RELAXED);
    for (size_t i = 0; i < THREADS; i++) join_thread(threads[i]);
    CHECK(endure(MIB(8)) == 0);
}

int main(int argc, char **argv)
{
    seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    refused = mmap(NULL, sizeof(*refused), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(refused != MAP_FAILED);
    static const unsigned rates[] = {2, 10, 100};
    for (size_t i = 0; i < COUNT_OF(rates); i++) {
        struct trial trial = {rates[i], argc > 2 ? atof(argv[2]) : 1};
        size_t before = *refused;
        expect_success(in_child(live_at_a_rate, &trial), PATIENCE + trial.seconds);
        CHECK(*refused > before);
    }
    printf("tried=%zu held=%zu\n", *refused, *refused);
}
