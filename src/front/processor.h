/* More threads than processors (HZ3_CPU_MAGAZINES): calls that a thread's own magazines cannot serve use those of its
 * processor, and no thread gets a new magazine. */
#ifndef HZ3_FRONT_PROCESSOR_H
#define HZ3_FRONT_PROCESSOR_H

#include "front/thread.h"

/* malloc, where the thread's own magazines of the class are empty; NULL: there is no memory.  free, where they are
 * full; p's state byte is cleared already.  Both inside the gate, in a thread that has joined. */
void *hz3_processor_malloc(struct hz3_thread *self, unsigned cls);
void hz3_processor_free(struct hz3_thread *self, void *p, unsigned cls);
#endif
