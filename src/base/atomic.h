/* The interface that every atomic operation goes through.  This one is C11.  The model checker includes a header of the
 * same name instead (tests/model), and so explores the code that ships.  With HZ3_DELAY a random pause follows each
 * operation; with HZ3_ATOMIC_STATS each thread counts its read-modify-writes. */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "compiler.h"
#include "hz3_flags.h"

#define HZ3_ATOMIC(type) _Atomic(type)

extern HZ3_HIDDEN _Thread_local uint64_t hz3_rmw_count; /* read-modify-writes of this thread */
void hz3_delay(void);

static inline void hz3_after_access(void)
{
    if (HZ3_DELAY) hz3_delay();
}

static inline void hz3_after_rmw(void)
{
    if (HZ3_ATOMIC_STATS) hz3_rmw_count++;
    hz3_after_access();
}

#define HZ3_THEN(after, operation) \
    (__extension__({ \
        __auto_type result_ = (operation); \
        after(); \
        result_; \
    }))

/* a: the atomic itself, not its address.  A failed compare-and-swap leaves what it saw in *expected. */
#define hz3_load(a, order)         HZ3_THEN(hz3_after_access, atomic_load_explicit(&(a), order))
#define hz3_store(a, v, order)     (atomic_store_explicit(&(a), (v), order), hz3_after_access())
#define hz3_exchange(a, v, order)  HZ3_THEN(hz3_after_rmw, atomic_exchange_explicit(&(a), (v), order))
#define hz3_fetch_or(a, v, order)  HZ3_THEN(hz3_after_rmw, atomic_fetch_or_explicit(&(a), (v), order))
#define hz3_fetch_and(a, v, order) HZ3_THEN(hz3_after_rmw, atomic_fetch_and_explicit(&(a), (v), order))
#define hz3_cas(a, expected, v, success, failure) \
    HZ3_THEN(hz3_after_rmw, atomic_compare_exchange_strong_explicit(&(a), (expected), (v), success, failure))
#define hz3_cas_weak(a, expected, v, success, failure) \
    HZ3_THEN(hz3_after_rmw, atomic_compare_exchange_weak_explicit(&(a), (expected), (v), success, failure))
#define hz3_fence(order) atomic_thread_fence(order)
/* Only the compiler keeps the order here; another thread adds the rest (hz3_os_barrier). */
#define hz3_compiler_fence() atomic_signal_fence(memory_order_seq_cst)

/* Puts `first` at the head of a list, and the head before it into `link`.  Only for lists that are emptied by one
 * exchange, never popped one by one: those would meet ABA. */
#define hz3_push(list, first, link) \
    do { \
        __auto_type head_ = hz3_get(list); \
        do (link) = head_; \
        while (!hz3_cas_weak(list, &head_, first, memory_order_release, memory_order_relaxed)); \
    } while (0)

/* Relaxed: for counters, and for words that another atomic operation orders. */
#define hz3_get(a)    hz3_load(a, memory_order_relaxed)
#define hz3_set(a, v) hz3_store(a, v, memory_order_relaxed)
#define hz3_add(a, v) HZ3_THEN(hz3_after_rmw, atomic_fetch_add_explicit(&(a), (v), memory_order_relaxed))
#define hz3_sub(a, v) HZ3_THEN(hz3_after_rmw, atomic_fetch_sub_explicit(&(a), (v), memory_order_relaxed))
