/* A trace: a head, then chunks, each of one thread's events in their order.  Numbers have their lowest byte first.
 *
 * An event: the time since the one before and its kind, in one number; then what its kind needs, each in 7 bits a byte,
 * the last without the eighth.  Addresses are what they differ by from the thread's last one.  A chunk can be read
 * alone: it says when it begins, and its first address differs from 0.
 *
 * An address says which object it is, since the times do: malloc's is taken after the call, free's before, so that of
 * two objects at one address the times do not overlap, whichever threads had them. */
#ifndef HZ3_TRACE_FORMAT_H
#define HZ3_TRACE_FORMAT_H

#include <endian.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TRACE_MAGIC   "hz3trace"
#define TRACE_VERSION 1
#define CHUNK_MAGIC   UINT64_C(0x6b6e756863337a68) /* hz3chunk */

struct trace_head {
    char magic[8];
    uint64_t version, base_kib; /* anonymous memory when recording began */
    char program[16], allocator[208];
    uint64_t check; /* of all before it */
};

struct trace_chunk {
    uint64_t magic, check; /* of what follows it here */
    uint64_t events_check;
    uint64_t bytes;  /* of events; none where the program ends, through exit */
    uint64_t thread; /* in the order of their first events, from 0 */
    uint64_t start_ns;
    uint64_t cpu_us, peak_kib; /* of the process, so far; the latter anonymous memory, without the recorder's */
};

enum trace_kind {
    TRACE_MALLOC, /* size, address */
    TRACE_CALLOC,
    TRACE_ALIGNED, /* the power of two that it is aligned to, size, address */
    TRACE_REALLOC, /* ns that it took, old address, size, address */
    TRACE_FREE,    /* address */
    TRACE_MMAP,    /* size, address: private, anonymous and writable memory of the program's own */
    TRACE_MUNMAP,
    TRACE_KINDS
};
#define TRACE_KIND_BITS 3
#define TRACE_ALIGN_MAX 40

#define TRACE_CHECKED offsetof(struct trace_chunk, events_check)

/* FNV-1a's step, on words. */
static inline uint64_t trace_check(const void *from, size_t bytes)
{
    uint64_t sum = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = 0;
        memcpy(&word, (const char *)from + i, bytes - i < 8 ? bytes - i : 8);
        sum = (sum ^ le64toh(word)) * UINT64_C(0x100000001b3);
        sum ^= sum >> 29;
    }
    return sum;
}

/* Most addresses end in three zero bits: these become the top ones. */
static inline uint64_t trace_address(uint64_t address)
{
    return address >> 3 | address << 61;
}

struct trace_memory {
    uint64_t peak, anonymous, other; /* KiB: resident at the most, and now */
};

/* What the kernel says of the process.  Neither allocates nor is a point where a thread can be cancelled. */
static inline struct trace_memory trace_memory(void)
{
    char text[4096];
    const char *const names[] = {"VmHWM:", "RssAnon:", "RssFile:", "RssShmem:"};
    uint64_t found[4] = {0};
    long file = syscall(SYS_openat, AT_FDCWD, "/proc/self/status", O_RDONLY | O_CLOEXEC);
    long got = file < 0 ? 0 : syscall(SYS_read, file, text, sizeof text - 1);
    if (file >= 0) syscall(SYS_close, file);
    text[got > 0 ? got : 0] = 0;
    for (int i = 0; i < 4; i++) {
        const char *at = strstr(text, names[i]);
        if (at) found[i] = strtoull(at + strlen(names[i]), NULL, 10);
    }
    return (struct trace_memory){found[0], found[1], found[2] + found[3]};
}

/* User and system time of the process. */
static inline uint64_t trace_cpu_us(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000 +
           (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec);
}

/* Of anonymous memory alone; what is of files and shared only grows, nearly. */
static inline uint64_t trace_peak(struct trace_memory memory)
{
    return memory.peak > memory.other ? memory.peak - memory.other : 0;
}

#endif
