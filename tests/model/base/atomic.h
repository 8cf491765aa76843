/* This header replaces src/base/atomic.h, and passes every operation to Relacy (model.h).  An atomic has the size and
 * layout of its type, so that structures and unions do not change.  Relacy's own data about it is kept elsewhere, and
 * is found by the atomic's address. */
#ifndef HZ3_BASE_ATOMIC_H
#define HZ3_BASE_ATOMIC_H

#include <stdint.h>

#include "base/compiler.h"
#include "hz3_flags.h"

template <class T> struct hz3_model_atomic {
    T initial; /* its value when an iteration first accesses it */
};
#define HZ3_ATOMIC(type) hz3_model_atomic<type>
#define _Static_assert   static_assert
/* Relacy's threads are fibers of one thread, so model.h swaps the content of this section. */
#define _Thread_local __attribute__((section("model_locals")))

namespace model
{

enum order { RELAXED, ACQUIRE, RELEASE, ACQ_REL, SEQ_CST };

struct place {
    const char *function, *file;
    unsigned line;
};

/* One atomic access.  T is uint32_t, also for narrower types, or uint64_t. */
template <class T> T load(const void *at, T initial, order, place);
template <class T> void store(const void *at, T initial, T v, order, place);
enum rmw { EXCHANGE, ADD, SUB, OR, AND };
template <class T> T modify(rmw, const void *at, T initial, T v, order, place);
template <class T>
bool swap(bool weak, const void *at, T initial, T *expected, T v, order success, order failure, place);
void fence(order, place);

template <unsigned bytes> struct cell {
    typedef uint32_t type;
};
template <> struct cell<8> {
    typedef uint64_t type;
};

/* Converts between T and the type of its cell. */
template <class T> struct typed {
    typedef typename cell<sizeof(T)>::type raw;
    static raw in(T v)
    {
        return (raw)v;
    }
    static T load(const hz3_model_atomic<T> &a, order o, place p)
    {
        return (T)model::load<raw>(&a, in(a.initial), o, p);
    }
    static void store(hz3_model_atomic<T> &a, T v, order o, place p)
    {
        model::store<raw>(&a, in(a.initial), in(v), o, p);
    }
    static T modify(rmw operation, hz3_model_atomic<T> &a, T v, order o, place p)
    {
        static_assert(sizeof(T) >= 4 || sizeof(T) == 1, "would not wrap as it does");
        return (T)model::modify<raw>(operation, &a, in(a.initial), in(v), o, p);
    }
    static bool swap(bool weak, hz3_model_atomic<T> &a, T *expected, T v, order success, order failure, place p)
    {
        raw seen = in(*expected);
        bool swapped = model::swap<raw>(weak, &a, in(a.initial), &seen, in(v), success, failure, p);
        *expected = (T)seen;
        return swapped;
    }
};
template <class T> typed<T> of(const hz3_model_atomic<T> &);

} // namespace model

/* The first words of objects. */
void *model_link_get(void *object);
void model_link_set(void *object, void *next);

#define MODEL_HERE                 (model::place{__FUNCTION__, __FILE__, __LINE__})
#define MODEL_TYPED(a)             decltype(model::of(a))
#define hz3_load(a, order)         MODEL_TYPED(a)::load((a), order, MODEL_HERE)
#define hz3_store(a, v, order)     MODEL_TYPED(a)::store((a), (v), order, MODEL_HERE)
#define hz3_exchange(a, v, order)  MODEL_TYPED(a)::modify(model::EXCHANGE, (a), (v), order, MODEL_HERE)
#define hz3_fetch_or(a, v, order)  MODEL_TYPED(a)::modify(model::OR, (a), (v), order, MODEL_HERE)
#define hz3_fetch_and(a, v, order) MODEL_TYPED(a)::modify(model::AND, (a), (v), order, MODEL_HERE)
#define hz3_cas(a, expected, v, success, failure) \
    MODEL_TYPED(a)::swap(false, (a), (expected), (v), success, failure, MODEL_HERE)
#define hz3_cas_weak(a, expected, v, success, failure) \
    MODEL_TYPED(a)::swap(true, (a), (expected), (v), success, failure, MODEL_HERE)
#define hz3_fence(order) model::fence(order, MODEL_HERE)

#define hz3_get(a)    hz3_load(a, memory_order_relaxed)
#define hz3_set(a, v) hz3_store(a, v, memory_order_relaxed)
#define hz3_add(a, v) MODEL_TYPED(a)::modify(model::ADD, (a), (v), memory_order_relaxed, MODEL_HERE)
#define hz3_sub(a, v) MODEL_TYPED(a)::modify(model::SUB, (a), (v), memory_order_relaxed, MODEL_HERE)

#define memory_order_relaxed model::RELAXED
#define memory_order_acquire model::ACQUIRE
#define memory_order_release model::RELEASE
#define memory_order_acq_rel model::ACQ_REL
#define memory_order_seq_cst model::SEQ_CST
#endif
