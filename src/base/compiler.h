/* What differs between compilers and processors, and nothing else. */
#pragma once

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#define HZ3_NOINLINE      __attribute__((noinline))
#define HZ3_INLINE        static inline __attribute__((always_inline))
#define HZ3_COLD          __attribute__((cold, noinline))
#define HZ3_NORETURN      __attribute__((noreturn, cold, noinline))
#define HZ3_CACHE_LINE    64 /* bytes */
#define HZ3_CACHE_ALIGNED __attribute__((aligned(HZ3_CACHE_LINE)))
/* For small variables that nearly every process writes: they lie together, since a forked child copies each page that
 * it writes to. */
#define HZ3_TOGETHER __attribute__((section(".data")))
/* For functions that read counters of running threads, where any value that a counter had will do. */
#define HZ3_RACY __attribute__((no_sanitize_thread))
/* For hot data: code reaches it without the GOT. */
#define HZ3_HIDDEN __attribute__((visibility("hidden")))
#define HZ3_EXPORT __attribute__((visibility("default")))

/* Whether other threads see a thread's stores in the order in which it made them. */
#if defined(__x86_64__) || defined(__s390x__)
enum { HZ3_STORES_IN_ORDER = 1 };
#else
enum { HZ3_STORES_IN_ORDER = 0 };
#endif

/* Makes the compiler forget what it read from memory, so that it compiles the next update to one read-modify-write
 * instruction; and makes it hold `result`, which the function returns next, in the register for that. */
#if defined(__x86_64__)
#define HZ3_FORGET_MEMORY(result) __asm__("" : "+a"(result) : : "memory")
#else
#define HZ3_FORGET_MEMORY(result) __asm__("" : "+r"(result) : : "memory")
#endif

/* Makes the compiler forget what it computed from this value and from memory. */
#define HZ3_FORGET_ORIGIN(value) __asm__("" : "+r"(value) : : "memory")

/* Where os/os_linux.c can make every system call itself, and so may stand in for libc's function `syscall`. */
#if defined(__x86_64__) || defined(__aarch64__)
#define HZ3_IF_OWN_SYSCALL(definition) definition
#else
#define HZ3_IF_OWN_SYSCALL(definition)
#endif

static inline void hz3_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}
