/* Everything hz3 asks of the system.  Common contract: errno is left as it was; nothing here allocates;
 * after hz3_os_start only mmap, munmap, madvise, mprotect, mremap and futex are called (programs lock
 * themselves into seccomp filters), clock_gettime where there is no vDSO, and the stderr writers of a dying process. */
#ifndef HZ3_OS_OS_H
#define HZ3_OS_OS_H

#include "base/types.h"

struct hz3_os {
    size_t page;      /* bytes; a power of two, read at run time */
    size_t huge_page; /* bytes of the largest pages, up to 2 MiB, that the system makes of our memory unasked, or 0 */
    size_t huge_page_asked; /* of those that an option has us ask for, where it makes none unasked, or 0 */
    bool counts_mapped;     /* touched or not: the system never overcommits, or limits what this process maps */
    unsigned cpus;          /* this process may run on */
    int pid, parent;        /* of this process; parent: 0 but in a forked child */
    size_t address_space;   /* bytes this process may map, SIZE_MAX / 1024 at most */
    uint64_t random;        /* fixed for the process's life */
};
extern struct hz3_os hz3_os;
void hz3_os_start(void);
void hz3_os_after_fork(void); /* in the child */
/* What huge_page and huge_page_asked are, by what we ask of the system; after hz3_os_start. */
enum hz3_thp { HZ3_THP_DEFAULT, HZ3_THP_ALWAYS, HZ3_THP_NEVER, HZ3_THP_DENSE };
void hz3_os_set_huge_pages(enum hz3_thp thp);
/* What the two may be, by the system's files of huge pages: `when` is "[always]" or "[madvise]". */
#define HZ3_THP_FILES "/sys/kernel/mm/transparent_hugepage"
size_t hz3_os_huge_page_size(const char *folder, const char *when);

enum hz3_map_result { HZ3_MAPPED, HZ3_MAP_TAKEN, HZ3_MAP_NOMEM };

/* Maps [at, at + bytes) for reading and writing, zeroed.  TAKEN: something else is mapped there. */
enum hz3_map_result hz3_os_map_at(uintptr_t at, size_t bytes);
/* The same for reading only: no page of it can cost memory before hz3_os_writable. */
enum hz3_map_result hz3_os_map_readonly_at(uintptr_t at, size_t bytes);
bool hz3_os_writable(uintptr_t at, size_t bytes);
/* Reserves address space wherever there is room (0: none), for systems that refuse our hints. */
uintptr_t hz3_os_reserve(size_t bytes);
/* Maps inside such a reservation. */
enum hz3_map_result hz3_os_map_reserved(uintptr_t at, size_t bytes);
bool hz3_os_unmap(uintptr_t at, size_t bytes);

/* Gives the pages back; they then read as zero.  False: the system refused (locked memory, say).  huge_page: bytes of
 * the huge pages that there may be of it, 0: there are none. */
bool hz3_os_purge(uintptr_t at, size_t bytes, size_t huge_page);
extern HZ3_ATOMIC(size_t) hz3_os_broken; /* bytes, ever, that were a part of a huge page */
/* Moves the pages at `from` over those at `to`; [from, from + bytes) is unmapped then.  Only what is one mapping may be
 * made longer on the way; before 6.17 Linux moves nothing else at all.  False: nothing may be mapped at `to`, and they
 * are where they were, unless there was no room half-way for more than one mapping. */
bool hz3_os_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes);
bool hz3_os_huge_pages(uintptr_t at, size_t bytes, bool wanted); /* whether the system heard it */

/* Whether code is the dynamic loader's. */
bool hz3_os_is_loader(const void *code);

/* The number of this thread; 0: not known, since the program has locked itself in. */
int hz3_os_thread(void);

uint64_t hz3_os_now_ms(void); /* monotonic, some ms coarse; no system call where there is a vDSO */

/* Whether it is `age` ms or more from `then` to `now`, both cut to 32 bits.  They wrap after 49 days, of which the last
 * hour is taken for a `then` that is still to come. */
HZ3_INLINE bool hz3_ms_passed(uint32_t then, uint32_t age, uint32_t now)
{
    uint32_t ms = now - then, hour = 3600 * 1000;
    return ms >= age && ms < UINT32_MAX - hour;
}

/* Waits while *word == value, at most timeout_ms (0: for ever). */
void hz3_os_wait(HZ3_ATOMIC(uint32_t) * word, uint32_t value, uint32_t timeout_ms);
/* Wakes all who wait: a single one might be in a signal handler, from where it cannot pass the wake on. */
void hz3_os_wake(HZ3_ATOMIC(uint32_t) * word);

/* Reads a small file whole into buf, NUL-terminated; returns its length, or -1.  Only before or during
 * hz3_os_start's caller's initialisation. */
long hz3_os_read_file(const char *path, char *buf, size_t size);
void hz3_os_stderr(const char *text, size_t length);
/* Appends to the file, which it makes if need be, with one write; false, and errno says why: not all of it.  Only where
 * the program may open files. */
bool hz3_os_append(const char *path, const char *text, size_t length);
/* Whether the file could be appended to, or made; makes none.  False: errno says why. */
bool hz3_os_can_append(const char *path);
/* From now on hz3_os_stderr reaches what stderr is now, even after the program has closed it; unless it has closed what
 * we keep for that, too: then whatever is stderr by its number. */
void hz3_os_keep_stderr(void);
extern HZ3_ATOMIC(bool) hz3_os_may_open; /* files: until the program locks itself in */
/* From now on hz3_os_stderr makes no call but write, to stderr by its number: the program locks itself in. */
void hz3_os_forget_stderr(void);
#endif
