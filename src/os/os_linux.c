#define _GNU_SOURCE
#include "os/os.h"

#include "os/sandbox.h"
#include "os/vdso.h"
#include "os/worker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

/* ThreadSanitizer's mmap makes 0 of an address where its shadow has no place, and root may map there. */
extern void __tsan_init(void) __attribute__((weak));
#define HINTS_WORK (!&__tsan_init)

/* From <linux/futex.h>, which is not installed where libc is musl. */
enum { FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129 };

struct hz3_os hz3_os = {.page = 4096, .cpus = 1, .counts_mapped = true};
HZ3_ATOMIC(size_t) hz3_os_broken;

/* Files and futexes are used before hz3 can serve, or while a lock is held.  So they do not go by libc's names: a
 * library loaded before libc may have functions of these names, which may allocate.  (libsocket_wrapper has open and
 * close, libuid_wrapper even syscall.  The calls for memory do go by libc's names: a library that takes those wants to
 * see ours.)  Returns what the kernel returns: an error as -errno. */
static long call6(long number, long first, long second, long third, long fourth, long fifth, long sixth)
{
#if defined(__x86_64__)
    register long r10 __asm__("r10") = fourth, r8 __asm__("r8") = fifth, r9 __asm__("r9") = sixth;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return number;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number, x0 __asm__("x0") = first, x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third, x3 __asm__("x3") = fourth, x4 __asm__("x4") = fifth,
                     x5 __asm__("x5") = sixth;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
    return x0;
#else
    int saved = errno;
    long result = syscall(number, first, second, third, fourth, fifth, sixth);
    if (result == -1) result = -errno;
    errno = saved;
    return result;
#endif
}

static long call(long number, long first, long second, long third, long fourth)
{
    return call6(number, first, second, third, fourth, 0, 0);
}

static long (*next_syscall)(long number, ...);

const char *hz3_os_program(void)
{
    static char name[NAME_MAX + 1];
    if (!*name) (void)memccpy(name, program_invocation_short_name, 0, NAME_MAX);
    return name;
}

void hz3_os_libc_started(void)
{
    next_syscall = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    hz3_os_find_make_worker();
    hz3_os_program(); /* now, as programs change it */
}

long hz3_os_syscall(long number, const long words[6])
{
    if (next_syscall) return next_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    long result = call6(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    if (result >= 0 || result < -4095) return result;
    errno = (int)-result;
    return -1;
}

static uintptr_t loader_start, loader_end;

/* glibc's function that frees what threads leave behind. */
extern void _dl_deallocate_tls(void *thread, bool with_block) __attribute__((weak));
enum { DEALLOCATE_BYTES = 512 };

static void find_loader(void)
{
    loader_start = loader_end = getauxval(AT_BASE);
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)loader_start;
    if (!header) { /* a static program, or one that the loader was told to run */
        loader_start = (uintptr_t)_dl_deallocate_tls;
        loader_end = loader_start ? loader_start + DEALLOCATE_BYTES : 0;
        return;
    }
    const ElfW(Phdr) *segment = (const ElfW(Phdr) *)(loader_start + header->e_phoff);
    for (int i = 0; i < header->e_phnum; i++)
        if (segment[i].p_type == PT_LOAD)
            loader_end = hz3_max(loader_end, loader_start + segment[i].p_vaddr + segment[i].p_memsz);
}

bool hz3_os_is_loader(const void *code)
{
    return (uintptr_t)code - loader_start < loader_end - loader_start;
}

/* Not libc's name, which libfaketime takes: see call. */
static int (*vdso_clock)(clockid_t, struct timespec *);

static void find_clock(void)
{
    uintptr_t image = getauxval(AT_SYSINFO_EHDR);
#if defined(_CALL_ELF) && _CALL_ELF == 1
    image = 0; /* PowerPC, where a function's address is that of a descriptor: the vDSO has none */
#endif
    if (!image) return;
    void *found = hz3_vdso_function(image, "__vdso_clock_gettime");
    if (!found) found = hz3_vdso_function(image, "__kernel_clock_gettime"); /* aarch64, PowerPC, s390x */
    vdso_clock = (int (*)(clockid_t, struct timespec *))found;
}

/* QEMU's user mode before 7.1 returns success and leaves the pages as they are.  (Where the call is refused it fails
 * each time.)  Tried at the first purge, by any thread: all find the same. */
static bool purge_is_true(void)
{
    static HZ3_ATOMIC(int) known; /* 1: it purges; -1: it only returns success */
    if (likely(hz3_get(known))) return hz3_get(known) > 0;
    volatile char *page = mmap(NULL, hz3_os.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return true;
    *page = 1;
    bool lies = madvise((void *)page, hz3_os.page, MADV_DONTNEED) == 0 && *page != 0;
    munmap((void *)page, hz3_os.page);
    hz3_set(known, lies ? -1 : 1);
    return !lies;
}

enum { ALWAYS_RANDOM = HZ3_SECURE };

/* Whether the system places this process at random; the user may have turned that off, as gdb does.  Then the program's
 * name, the last word of the stack, ends right below a power of two.  (By chance it does in one of a million starts.)
 */
static bool is_random(void)
{
    uint64_t name = getauxval(AT_EXECFN);
    return !name || ((uint64_t)2 << (63 - __builtin_clzll(name))) - name > HZ3_KIB(16);
}

/* AT_RANDOM's two words are glibc's stack canary and pointer guard, so an address must not reveal one of them. */
static uint64_t find_random(void)
{
    uint64_t half[2] = {0};
    if (!ALWAYS_RANDOM && !is_random()) return 0;
    const void *bytes = (const void *)getauxval(AT_RANDOM);
    if (call(SYS_getrandom, (long)half, sizeof half[0], GRND_NONBLOCK, 0) != sizeof half[0] && bytes)
        memcpy(half, bytes, sizeof half);
    return half[0] * 0x9e3779b97f4a7c15u ^ (half[1] << 32 | half[1] >> 32);
}

void hz3_os_start(void)
{
    int saved = errno;
    hz3_os.page = getauxval(AT_PAGESZ);
    find_clock();
    find_loader();
    hz3_os.cpus = hz3_os_first_cpus();
    hz3_os.address_space = hz3_os_bytes_allowed(RLIMIT_AS);
    hz3_os.random = find_random();
    hz3_os.pid = getpid(); /* not later: a child of vfork, which has our memory, may be the first to ask */
    errno = saved;
}

static _Thread_local int thread; /* 0: not asked for yet */

void hz3_os_after_fork(void)
{
    bool bound = hz3_sandboxed();
    thread = 0;
    hz3_os.parent = hz3_os.pid;
    hz3_os.pid = getpid();
    hz3_sandbox_set(bound);
}

HZ3_INLINE enum hz3_map_result map(uintptr_t at, size_t bytes, int protection, int how)
{
    int saved = errno;
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *got = mmap((void *)at, bytes, protection, flags | how, -1, 0);
    if (got == MAP_FAILED && how == MAP_FIXED_NOREPLACE && errno != EEXIST && errno != ENOMEM) /* unknown flag */
        got = mmap((void *)at, bytes, protection, flags, -1, 0);
    enum hz3_map_result result = HZ3_MAPPED;
    if (got == MAP_FAILED) {
        result = errno == EEXIST ? HZ3_MAP_TAKEN : HZ3_MAP_NOMEM;
    } else if ((uintptr_t)got != at) { /* a kernel before 4.17 takes NOREPLACE for a mere hint */
        munmap(got, bytes);
        result = HZ3_MAP_TAKEN;
    }
    errno = saved;
    return result;
}

enum hz3_map_result hz3_os_map_at(uintptr_t at, size_t bytes)
{
    return HINTS_WORK ? map(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE) : HZ3_MAP_NOMEM;
}

enum hz3_map_result hz3_os_map_readonly_at(uintptr_t at, size_t bytes)
{
    return HINTS_WORK ? map(at, bytes, PROT_READ, MAP_FIXED_NOREPLACE) : HZ3_MAP_NOMEM;
}

enum hz3_map_result hz3_os_map_reserved(uintptr_t at, size_t bytes)
{
    return hz3_os_writable(at, bytes) ? HZ3_MAPPED : HZ3_MAP_NOMEM;
}

bool hz3_os_reserve_again(uintptr_t at, size_t bytes)
{
    return map(at, bytes, PROT_NONE, MAP_FIXED) == HZ3_MAPPED;
}

bool hz3_os_map_anew(uintptr_t at, size_t bytes)
{
    return map(at, bytes, PROT_READ | PROT_WRITE, MAP_FIXED) == HZ3_MAPPED;
}

uintptr_t hz3_os_reserve(size_t bytes)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    void *got = HZ3_KEEPING_ERRNO(mmap(NULL, bytes, PROT_NONE, flags, -1, 0));
    return got == MAP_FAILED ? 0 : (uintptr_t)got;
}

bool hz3_os_writable(uintptr_t at, size_t bytes)
{
    return HZ3_KEEPING_ERRNO(mprotect((void *)at, bytes, PROT_READ | PROT_WRITE)) == 0;
}

bool hz3_os_inaccessible(uintptr_t at, size_t bytes)
{
    return HZ3_KEEPING_ERRNO(mprotect((void *)at, bytes, PROT_NONE)) == 0;
}

bool hz3_os_unmap(uintptr_t at, size_t bytes)
{
    return HZ3_KEEPING_ERRNO(munmap((void *)at, bytes)) == 0;
}

/* A huge page of which a part was purged is charged whole until the system splits it.  Marking a page of it free splits
 * it at once.  Returns the bytes of the range that lie in such. */
static size_t split_ends(uintptr_t at, uintptr_t end, size_t huge_page)
{
    int saved = errno;
    uintptr_t first = hz3_round_up(at, huge_page), last = end & ~(huge_page - 1);
    if (first > at) madvise((void *)at, hz3_os.page, MADV_FREE);
    if (last >= first && end > last) madvise((void *)last, hz3_os.page, MADV_FREE);
    errno = saved;
    return end - at - (last > first ? last - first : 0);
}

bool hz3_os_purge(uintptr_t at, size_t bytes, size_t huge_page)
{
    size_t broken = huge_page ? split_ends(at, at + bytes, huge_page) : 0;
    bool purged = HZ3_KEEPING_ERRNO(purge_is_true() && madvise((void *)at, bytes, MADV_DONTNEED) == 0);
    if (purged && broken) hz3_add(hz3_os_broken, broken);
    return purged;
}

bool hz3_os_move(uintptr_t to, size_t to_bytes, uintptr_t from, size_t bytes)
{
    int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
    return HZ3_KEEPING_ERRNO(mremap((void *)from, bytes, to_bytes, flags, (void *)to)) != MAP_FAILED;
}

bool hz3_os_huge_pages(uintptr_t at, size_t bytes, bool wanted)
{
    return HZ3_KEEPING_ERRNO(madvise((void *)at, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE)) == 0;
}

void hz3_os_dump(uintptr_t at, size_t bytes, bool wanted)
{
    (void)HZ3_KEEPING_ERRNO(madvise((void *)at, bytes, wanted ? MADV_DODUMP : MADV_DONTDUMP));
}

int hz3_os_thread(void)
{
    if (!thread && !hz3_sandboxed()) thread = (int)call(SYS_gettid, 0, 0, 0, 0);
    return thread;
}

/* membarrier(2); not every C library's headers have its commands.  A filter that the process began with may forbid it,
 * and asking whether it does would be the same call; those of systemd and Docker allow it by default. */
enum { PRIVATE_EXPEDITED = 1 << 3, REGISTER_PRIVATE_EXPEDITED = 1 << 4 };

bool hz3_os_barrier(void)
{
    if (hz3_sandboxed()) return false;
    return HZ3_KEEPING_ERRNO(syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0 ||
                             (syscall(SYS_membarrier, REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0 &&
                              syscall(SYS_membarrier, PRIVATE_EXPEDITED, 0, 0) == 0));
}

static struct timespec now_by(clockid_t clock)
{
    struct timespec now = {0};
    if (vdso_clock)
        vdso_clock(clock, &now);
    else /* what libc's would do where there is no vDSO */
        call(SYS_clock_gettime, clock, (long)&now, 0, 0);
    return now;
}

uint64_t hz3_os_now_ms(void)
{
    struct timespec now = now_by(CLOCK_MONOTONIC_COARSE);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static uint64_t ns_by(clockid_t clock)
{
    struct timespec now = now_by(clock);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

uint64_t hz3_os_now_ns(void)
{
    return ns_by(CLOCK_MONOTONIC);
}

uint64_t hz3_os_used_ns(void)
{
    return ns_by(CLOCK_PROCESS_CPUTIME_ID);
}

void hz3_os_wait(HZ3_ATOMIC(uint32_t) * word, uint32_t value, uint32_t timeout_ms)
{
    struct timespec limit = {timeout_ms / 1000, (long)(timeout_ms % 1000) * 1000000};
    call(SYS_futex, (long)word, FUTEX_WAIT_PRIVATE, value, timeout_ms ? (long)&limit : 0);
}

void hz3_os_sleep(uint32_t ms)
{
    static HZ3_ATOMIC(uint32_t) never; /* a word that nobody wakes */
    hz3_os_wait(&never, 0, ms);
}

void hz3_os_wake(HZ3_ATOMIC(uint32_t) * word)
{
    call(SYS_futex, (long)word, FUTEX_WAKE_PRIVATE, INT32_MAX, 0);
}

int hz3_os_open(const char *path)
{
    return (int)call(SYS_openat, AT_FDCWD, (long)path, O_RDONLY | O_CLOEXEC, 0);
}

long hz3_os_read(int fd, void *buf, size_t size)
{
    return call(SYS_read, fd, (long)buf, (long)size, 0);
}

void hz3_os_close(int fd)
{
    call(SYS_close, fd, 0, 0, 0);
}

long hz3_os_read_file(const char *path, char *buf, size_t size)
{
    int fd = hz3_os_open(path);
    if (fd < 0) return fd;
    long length = hz3_os_read(fd, buf, size - 1);
    hz3_os_close(fd);
    if (length >= 0) buf[length] = 0;
    return length;
}

size_t hz3_os_folder(char *buf, size_t size)
{
    long bytes = call(SYS_getcwd, (long)buf, (long)size, 0, 0);
    return bytes > 1 && *buf == '/' ? (size_t)bytes - 1 : 0; /* else the folder is out of this root's reach */
}

bool hz3_os_may_pass(long error)
{
    return error == -EMFILE || error == -ENFILE || error == -ENOMEM;
}
