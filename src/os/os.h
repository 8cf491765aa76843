/* Everything hz3 asks of the system.  Common contract: errno stays as it was, and nothing here allocates.  Where a
 * seccomp filter binds the thread (os/sandbox.h) the calls are mmap, munmap, madvise, mprotect, mremap and futex;
 * clock_gettime where there is no vDSO; and write, to stderr, in a process that is about to end. */
#pragma once

#include "base/types.h"

#include <errno.h>

/* The value of an expression that may change errno, which stays as it was. */
#define HZ3_KEEPING_ERRNO(expression) \
    (__extension__({ \
        int saved_ = errno; \
        __auto_type value_ = (expression); \
        errno = saved_; \
        value_; \
    }))

struct hz3_os {
    size_t page;          /* bytes; a power of two, read at run time */
    unsigned cpus;        /* on which this process may run */
    size_t address_space; /* bytes this process may map, SIZE_MAX / 1024 at most */
    uint64_t random;      /* fixed for the process's life; 0 where addresses are to repeat, but in lane secure */
    int pid, parent;      /* of this process; parent: 0 but in a forked child */
    /* Known from hz3_os_learn and hz3_os_learn_huge_pages on; until then mappings count and no page is huge.  A limit
     * that was set since is known once it refused a request (back/pages). */
    HZ3_ATOMIC(bool) counts_mapped; /* mappings cost though untouched: the system does not overcommit, or limits us */
    HZ3_ATOMIC(size_t) huge_page;   /* bytes of the largest pages, up to 2 MiB, that it makes unasked, or 0 */
};
extern struct hz3_os hz3_os;
void hz3_os_start(void);
size_t hz3_os_bytes_allowed(int resource); /* to this process, by getrlimit; SIZE_MAX / 1024 at most */
void hz3_os_after_fork(void);              /* in the child */
/* To be called when libc has started: asks it for the program's name and the next library's functions. */
void hz3_os_libc_started(void);
/* The program's name at its start.  Programs overwrite argv, where libc's own copy of it lies, to show in ps what they
 * do. */
const char *hz3_os_program(void);
/* Both read files: only while not hz3_sandboxed.  False: there is no descriptor left, and nothing was learnt. */
bool hz3_os_learn(void);
enum hz3_thp { HZ3_THP_DEFAULT, HZ3_THP_ALWAYS, HZ3_THP_NEVER };
void hz3_os_learn_huge_pages(enum hz3_thp thp);
bool hz3_os_makes_huge_pages(void); /* unasked, by the one file that is enough for most systems */
/* The size of huge pages that the system makes, by its files: `when` is "[always]" or "[madvise]". */
#define HZ3_THP_FILES "/sys/kernel/mm/transparent_hugepage"
size_t hz3_os_huge_page_size(const char *folder, const char *when);

enum hz3_map_result { HZ3_MAPPED, HZ3_MAP_TAKEN, HZ3_MAP_NOMEM };

/* Maps [at, at + bytes) for reading and writing, zeroed.  TAKEN: something else is mapped there. */
enum hz3_map_result hz3_os_map_at(uintptr_t at, size_t bytes);
/* Maps it for reading only: no page of it can cost memory before hz3_os_writable. */
enum hz3_map_result hz3_os_map_readonly_at(uintptr_t at, size_t bytes);
bool hz3_os_writable(uintptr_t at, size_t bytes);
bool hz3_os_inaccessible(uintptr_t at, size_t bytes); /* keeps what is there, until hz3_os_writable */
/* Reserves address space wherever there is room, for systems that refuse hz3's addresses.  0: there is none. */
uintptr_t hz3_os_reserve(size_t bytes);
/* Maps inside such a reservation what was not mapped yet.  A refusal leaves it reserved. */
enum hz3_map_result hz3_os_map_reserved(uintptr_t at, size_t bytes);
bool hz3_os_reserve_again(uintptr_t at, size_t bytes); /* undoes that */
/* Maps over what is there.  False: there may be nothing mapped any more. */
bool hz3_os_map_anew(uintptr_t at, size_t bytes);
bool hz3_os_unmap(uintptr_t at, size_t bytes);
/* Maps fresh memory outside the heap, wherever there is room.  0: the system refused. */
HZ3_INLINE uintptr_t hz3_os_map(size_t bytes)
{
    uintptr_t at = hz3_os_reserve(bytes);
    if (!at || hz3_os_map_reserved(at, bytes) == HZ3_MAPPED) return at;
    hz3_os_unmap(at, bytes);
    return 0;
}

/* Gives the pages back; they then read as zero.  False: the system refused, because they are locked, say.  huge_page:
 * bytes of the huge pages that the range may consist of, or 0. */
bool hz3_os_purge(uintptr_t at, size_t bytes, size_t huge_page);
extern HZ3_ATOMIC(size_t) hz3_os_broken; /* bytes that were purged out of huge pages, ever */
/* Moves the pages at `from` over those at `to`; [from, from + bytes) is unmapped then.  Only a single mapping may
 * become longer by that, and before 6.17 Linux moves only a single one.  False: there may be nothing mapped at `to` any
 * more. The pages are still at `from`, unless they were several mappings and the system had no room for another
 * half-way. */
bool hz3_os_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes);
bool hz3_os_huge_pages(uintptr_t at, size_t bytes, bool wanted); /* false: the system refused */
void hz3_os_dump(uintptr_t at, size_t bytes, bool wanted);       /* whether a core is to have it */

/* Whether this address is in the dynamic loader's code. */
bool hz3_os_is_loader(const void *code);

/* The system's number of this thread; 0: unknown, since the thread is hz3_sandboxed. */
int hz3_os_thread(void);

/* As libc's function `syscall`, for programs that call it: the next library's, known from hz3_os_libc_started on, or
 * else the kernel.  Sets errno. */
long hz3_os_syscall(long number, const long words[6]);

/* Monotonic; no system call where there is a vDSO.  ms: some ms coarse.  ns: exact, and takes longer. */
uint64_t hz3_os_now_ms(void);
uint64_t hz3_os_now_ns(void);
uint64_t hz3_os_used_ns(void); /* processor time of the process; a system call.  0: the system refused */

/* Whether at least `age` ms passed from `then` to `now`, both cut to 32 bits.  They wrap after 49 days; a difference in
 * the last hour of these means that `then` is later than `now`.  then: 0 for what never was, which is long ago. */
HZ3_INLINE bool hz3_ms_passed(uint32_t then, uint32_t age, uint32_t now)
{
    uint32_t ms = now - then, hour = 3600 * 1000;
    return !then || (ms >= age && ms < UINT32_MAX - hour);
}

/* Every other thread of the process passes a full barrier, at once if it runs, before this returns.  False: the system
 * refused, or a filter might. */
bool hz3_os_barrier(void);
/* Waits while *word == value, at most timeout_ms (0: for ever). */
void hz3_os_wait(HZ3_ATOMIC(uint32_t) * word, uint32_t value, uint32_t timeout_ms);
void hz3_os_sleep(uint32_t ms); /* by a futex, too, which a filter allows */
/* Wakes all that wait: a single one might be in a signal handler, and could not pass the wake on. */
void hz3_os_wake(HZ3_ATOMIC(uint32_t) * word);

/* For files that are only read, also inside the gate: no points of cancellation, as libc's are, and no names that other
 * libraries take.  -errno where that fails.  Only while not hz3_sandboxed. */
int hz3_os_open(const char *path);
long hz3_os_read(int fd, void *buf, size_t size);
void hz3_os_close(int fd);
/* Reads a small file whole into buf, NUL-terminated; returns its length, or -errno.  Only while not hz3_sandboxed. */
long hz3_os_read_file(const char *path, char *buf, size_t size);
/* The path of the current folder, with a NUL; returns its length.  0: it has none, or a longer one.  (libc's getcwd
 * would look for one, and allocate.)  Only while not hz3_sandboxed. */
size_t hz3_os_folder(char *buf, size_t size);
/* Whether a file that failed so may be read later: there was no descriptor left, or no memory. */
bool hz3_os_may_pass(long error);
/* Says, where HZ3_VERBOSE is on, that a figure of the system cannot be read (error: -errno) or makes no sense, and that
 * hz3 does without. */
extern bool hz3_os_verbose;
void hz3_os_ignored(const char *what, long error);
/* A thread that is hz3_sandboxed makes no call but write, to descriptor 2, and a futex to wait for a reader. */
void hz3_os_stderr(const char *text, size_t length);
/* Opens the file, and makes it if need be; how: O_APPEND or O_TRUNC.  A FIFO that nobody reads is refused, not waited
 * for. -1: errno says why.  Only where the program may open files. */
int hz3_os_open_to_write(const char *path, int how);
/* Writes all of it, to a file that is open; false: not all was written; errno says why. */
bool hz3_os_write(int fd, const void *bytes, size_t length);
/* Appends text to the file, with one write where that takes all, and makes the file if need be.  False: not all of it
 * was written; errno says why.  Only where the program may open files. */
bool hz3_os_append(const char *path, const char *text, size_t length);
/* Whether the file could be appended to, or made.  Makes none.  False: errno says why. */
bool hz3_os_can_append(const char *path);
/* Keeps a copy of stderr, if there is none yet: hz3_os_stderr still reaches it after the program has closed stderr.  If
 * the program has closed the copy too, hz3_os_stderr writes to descriptor 2. */
void hz3_os_keep_stderr(void);
/* Whether stderr is a file, which nobody reads until its end as one reads a pipe, a socket or a terminal. */
bool hz3_os_stderr_is_file(void);
void hz3_os_forget_stderr(void); /* closes the copy, if there is one */
