/* A trace is a head and then chunks.  Each chunk has events of one thread in their order.  Numbers are little-endian.
 *
 * An event has the time since the one before and its kind, in one number, and then the numbers of its kind.  Each
 * number has 7 bits in a byte; the last byte's eighth bit is 0.  Addresses are relative to the thread's previous one.
 * A chunk can be read alone: it has its start time, and its first address is relative to 0.
 *
 * An address and a time identify an object.  malloc's time is taken after the call, and free's before, so the times of
 * two objects at one address do not overlap, whichever threads had them. */
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
    uint64_t check; /* the checksum of all before it */
};

struct trace_chunk {
    uint64_t magic, check; /* the checksum of the fields after it */
    uint64_t events_check;
    uint64_t bytes;  /* of events; 0 where the program ends by exit */
    uint64_t thread; /* numbered from 0, in the order of their first events */
    uint64_t start_ns;
    uint64_t cpu_us, peak_kib; /* of the process so far; the peak is anonymous memory without the recorder's */
};

enum trace_kind {
    TRACE_MALLOC, /* size, address */
    TRACE_CALLOC,
    TRACE_ALIGNED, /* the alignment's logarithm to base 2, size, address */
    TRACE_REALLOC, /* its duration in ns, old address, size, address */
    TRACE_FREE,    /* address */
    TRACE_MMAP,    /* size, address: private, anonymous and writable memory of the program's own */
    TRACE_MUNMAP,
    TRACE_KINDS
};
#define TRACE_KIND_BITS 3
#define TRACE_ALIGN_MAX 40

#define TRACE_CHECKED offsetof(struct trace_chunk, events_check)

/* A checksum by the step of FNV-1a, on words. */
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

/* Most addresses end in three zero bits.  These become the top bits, so that differences are small. */
static inline uint64_t trace_address(uint64_t address)
{
    return address >> 3 | address << 61;
}

struct trace_memory {
    uint64_t peak, anonymous, other; /* KiB: the peak of resident memory, and its two parts now */
};

/* The kernel's figures of the process.  This does not allocate, and is no cancellation point. */
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

/* The peak of anonymous memory alone.  The other part hardly ever shrinks, so its size now is subtracted. */
static inline uint64_t trace_peak(struct trace_memory memory)
{
    return memory.peak > memory.other ? memory.peak - memory.other : 0;
}

#endif
