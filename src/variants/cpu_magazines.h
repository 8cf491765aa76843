/* HZ3_CPU_MAGAZINES: with more threads than processors, caches follow processors.  For each processor and class there
 * are a loaded magazine, which threads reach by restartable sequences (os/rseq), and a previous one, which they
 * exchange. So an object costs neither a lock nor an atomic operation, and a thread that waits holds none. */
#ifndef HZ3_VARIANTS_CPU_MAGAZINES_H
#define HZ3_VARIANTS_CPU_MAGAZINES_H

#include "middle/magazine.h"
#include "os/rseq.h"

struct hz3_cpu_row {
    void **top[HZ3_CLASS_VALUES]; /* of the loaded magazine, or NULL; written by restartable sequences */
    HZ3_ATOMIC(void **) previous[HZ3_CLASS_VALUES]; /* the top of the other, or NULL */
    void **seen[HZ3_CLASS_VALUES]; /* what was loaded at the last hz3_cpus_clear, which alone uses it */
} __attribute__((aligned(HZ3_RSEQ_ROW_BYTES)));

extern HZ3_HIDDEN struct hz3_cpu_row hz3_cpu_rows[HZ3_RSEQ_ROWS];
extern HZ3_HIDDEN HZ3_ATOMIC(bool) hz3_cpu_closed; /* only the thread that set it may change a loaded magazine */
extern HZ3_HIDDEN HZ3_ATOMIC(bool) hz3_cpu_serving;

/* Whether there are more threads than processors, so that these share magazines. */
#define hz3_cpus_shared() unlikely(hz3_get(hz3_cpu_serving))

/* Takes an object from this processor's loaded magazine, or NULL; leaves one there, or false.  In any state of the
 * thread, and in signal handlers. */
HZ3_INLINE void *hz3_cpu_take(unsigned cls)
{
    return hz3_rseq_pop(hz3_cpu_rows, &hz3_cpu_closed, cls);
}

HZ3_INLINE bool hz3_cpu_put(void *p, unsigned cls)
{
    return hz3_rseq_push(hz3_cpu_rows, &hz3_cpu_closed, cls, p);
}

/* For how many objects a processor's magazine has room. */
unsigned hz3_cpu_room(unsigned cls);
/* Takes this processor's previous magazine out: its top, or NULL. */
void **hz3_cpu_take_previous(unsigned cls);
/* Loads a magazine that holds objects; what was loaded becomes the previous one.  Returns the top of the magazine for
 * which there is no place then, which may be empty, or this one; or NULL. */
void **hz3_cpu_load(unsigned cls, void **top);

/* There are so many threads now; under hz3_threads_lock. */
void hz3_cpus_count(unsigned threads);
/* Retires what processors hold in every `step`th class from the `first` on and did not touch since the last call, or
 * all. */
void hz3_cpus_clear(unsigned first, unsigned step, bool all);
void hz3_cpus_after_fork(void);
/* How many objects all processors hold; exact when nobody is inside. */
size_t hz3_cpus_objects(unsigned cls);
#endif
