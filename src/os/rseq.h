/* Restartable sequences: a few instructions that a thread starts again if it did not run through them undisturbed, on
 * one processor (Linux 5.10, membarrier(2)).  So threads of one processor share a word without an atomic operation.
 * glibc 2.35 registers each thread; there is only one registration, so this uses glibc's and makes none.
 *
 * A table has a row for each processor.  A sequence finds its row, looks whether the table is open, and ends with the
 * one store that counts.  None fails half-way: false, or NULL, means that nothing happened. */
#ifndef HZ3_OS_RSEQ_H
#define HZ3_OS_RSEQ_H

#include "base/types.h"

enum {
    HZ3_RSEQ_ROWS = 256, /* processors of a higher number have no row */
    HZ3_RSEQ_ROW_BYTES = 4096,
};

/* Whether sequences work in this process: its libc has registered its threads, and the kernel knows how to restart
 * them.  Makes a system call, membarrier.  To be called by a thread that libc has started. */
bool hz3_rseq_start(void);
/* Every sequence that is under way in another thread starts again, and sees what this thread wrote before.  False: the
 * system refused, and they may go on. */
bool hz3_rseq_restart_all(void);

/* ThreadSanitizer does not see what a sequence orders.  gcc tells of it by a macro, clang by a feature. */
#if !defined(__x86_64__) || defined(__SANITIZE_THREAD__)
#define HZ3_RSEQ 0
#elif defined(__has_feature)
#define HZ3_RSEQ !__has_feature(thread_sanitizer)
#else
#define HZ3_RSEQ 1
#endif

#if HZ3_RSEQ
/* Both are glibc's.  The offset is from the thread pointer; the size is 0 where glibc registered nothing. */
extern const ptrdiff_t __rseq_offset __attribute__((weak));
extern const unsigned __rseq_size __attribute__((weak));

/* The kernel finds the descriptor of the sequence (3) in the thread's area, at 8, and the processor at 4.  It goes on
 * at 4 if it moves the thread, preempts it or delivers a signal between 1 and 2, and looks for the signature before.
 * Elsewhere it clears the word at 8, so 1 has to follow right after the store there. */
#define HZ3_RSEQ_BEGIN \
    ".pushsection __rseq_cs, \"aw\"\n.balign 32\n3: .long 0, 0\n.quad 1f, 2f - 1f, 4f\n.popsection\n" \
    "0: xorl %k[t], %k[t]\n xorl %k[result], %k[result]\n leaq 3b(%%rip), %[row]\n movq %[row], 8(%[area])\n" \
    "1: cmpb $0, (%[closed])\n jne 2f\n" \
    "movl 4(%[area]), %k[row]\n cmpl %[rows], %k[row]\n jae 2f\n" \
    "imulq %[bytes], %[row], %[row]\n addq %[table], %[row]\n"
#define HZ3_RSEQ_END \
    "2:\n.pushsection __rseq_failure, \"ax\"\n.byte 0x0f, 0xb9, 0x3d\n.long 0x53053053\n4: jmp 0b\n.popsection\n"
#define HZ3_RSEQ_OPERANDS \
    [t] "=&r"(t), [result] "=&r"(result), \
        [row] "=&r"(row) \
        : [area] "r"((char *)__builtin_thread_pointer() + __rseq_offset), [table] "r"(table), [closed] "r"(closed), \
          [rows] "i"(HZ3_RSEQ_ROWS), [bytes] "i"(HZ3_RSEQ_ROW_BYTES)

/* The number of this thread's processor, which may be another one by now. */
HZ3_INLINE unsigned hz3_rseq_processor(void)
{
    return *(volatile unsigned *)((char *)__builtin_thread_pointer() + __rseq_offset + 4);
}

/* Each row begins with the tops of magazines (middle/magazine.h), NULL where there is none; `word` is the number of
 * one.  Takes the object at the top. */
HZ3_INLINE void *hz3_rseq_pop(void *table, const HZ3_ATOMIC(bool) * closed, size_t word)
{
    void *result, *t, *row;
    __asm__ volatile(HZ3_RSEQ_BEGIN "movq (%[row],%[word],8), %[t]\n testq %[t], %[t]\n jz 2f\n"
                                    "movq (%[t]), %[result]\n testq %[result], %[result]\n jz 2f\n"
                                    "subq $8, %[t]\n movq %[t], (%[row],%[word],8)\n" HZ3_RSEQ_END
                     : HZ3_RSEQ_OPERANDS, [word] "r"(word)
                     : "memory", "cc");
    return result;
}

/* Puts an object on top.  False: the magazine is full. */
HZ3_INLINE bool hz3_rseq_push(void *table, const HZ3_ATOMIC(bool) * closed, size_t word, void *object)
{
    void *t, *row;
    uint32_t result;
    __asm__ volatile(HZ3_RSEQ_BEGIN "movq (%[row],%[word],8), %[t]\n testq %[t], %[t]\n jz 2f\n"
                                    "addq $8, %[t]\n testb $0xff, %b[t]\n jz 2f\n movq %[object], (%[t])\n"
                                    "movl $1, %k[result]\n movq %[t], (%[row],%[word],8)\n" HZ3_RSEQ_END
                     : HZ3_RSEQ_OPERANDS, [word] "r"(word), [object] "r"(object)
                     : "memory", "cc");
    return result;
}

/* Writes a top; *before: what was there.  Returns the row, or NULL. */
HZ3_INLINE void *hz3_rseq_exchange(void *table, const HZ3_ATOMIC(bool) * closed, size_t word, void *top, void **before)
{
    void *t, *row;
    uint32_t result;
    __asm__ volatile(HZ3_RSEQ_BEGIN "movq (%[row],%[word],8), %[t]\n movl $1, %k[result]\n"
                                    "movq %[top], (%[row],%[word],8)\n" HZ3_RSEQ_END
                     : HZ3_RSEQ_OPERANDS, [word] "r"(word), [top] "r"(top)
                     : "memory", "cc");
    *before = t;
    return result ? row : NULL;
}

#else
HZ3_INLINE unsigned hz3_rseq_processor(void)
{
    return HZ3_RSEQ_ROWS;
}

HZ3_INLINE void *hz3_rseq_pop(void *table, const HZ3_ATOMIC(bool) * closed, size_t word)
{
    (void)table, (void)closed, (void)word;
    return NULL;
}

HZ3_INLINE bool hz3_rseq_push(void *table, const HZ3_ATOMIC(bool) * closed, size_t word, void *object)
{
    (void)table, (void)closed, (void)word, (void)object;
    return false;
}

HZ3_INLINE void *hz3_rseq_exchange(void *table, const HZ3_ATOMIC(bool) * closed, size_t word, void *top, void **before)
{
    (void)table, (void)closed, (void)word, (void)top;
    *before = NULL;
    return NULL;
}
#endif
#endif
