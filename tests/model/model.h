/* The implementation of base/atomic.h, and what all suites share.  One file of a program includes it. */
#ifndef HZ3_MODEL_H
#define HZ3_MODEL_H

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <relacy/relacy.hpp>
#undef new
#undef delete
#undef malloc
#undef calloc
#undef realloc
#undef free
#undef assert
#undef errno
#undef memory_order_relaxed
#undef memory_order_acquire
#undef memory_order_release
#undef memory_order_acq_rel
#undef memory_order_seq_cst

#include "base/atomic.h"
#include "os/os.h"

extern "C" char model_state_begin[], model_state_end[], model_locals_begin[], model_locals_end[]; /* state.ld */

namespace model
{

/* ---- the state at the start of an iteration ---- */

inline unsigned iteration;

class image
{
  public:
    image(char *begin, char *end) : begin_(begin), bytes_(begin, end) {}
    void restore() const
    {
        std::memcpy(begin_, bytes_.data(), bytes_.size());
    }

  private:
    char *begin_;
    std::vector<char> bytes_;
};

inline const image start(model_state_begin, model_state_end), locals_at_start(model_locals_begin, model_locals_end);

/* Saves the running fiber's thread-local variables while Relacy may switch to another fiber. */
class locals
{
  public:
    locals()
    {
        std::memcpy(saved_, model_locals_begin, bytes());
    }
    ~locals()
    {
        std::memcpy(model_locals_begin, saved_, bytes());
    }

  private:
    static size_t bytes()
    {
        size_t n = (size_t)(model_locals_end - model_locals_begin);
        RL_VERIFY(n <= sizeof saved_);
        return n;
    }
    char saved_[1024];
};

/* ---- Relacy's data about an atomic ---- */

template <class T> class cells
{
  public:
    /* A slot of an earlier iteration counts as free. */
    static rl::atomic<T> &at(const void *address, T initial)
    {
        for (size_t i = (uintptr_t)address / sizeof(uint32_t);; i++) {
            slot &s = slots_[i % SLOTS];
            if (s.iteration != iteration) {
                s.address = address;
                s.iteration = iteration;
                (new (s.storage) rl::atomic<T>())->store(initial, rl::mo_relaxed, $);
                used_.push_back(&s);
            }
            if (s.address == address) return *reinterpret_cast<rl::atomic<T> *>(s.storage);
        }
    }
    static void begin()
    {
        used_.clear();
    }
    static void end()
    {
        for (slot *s : used_) reinterpret_cast<rl::atomic<T> *>(s->storage)->~atomic<T>();
    }

  private:
    enum { SLOTS = 4096 };
    struct slot {
        const void *address;
        unsigned iteration;
        alignas(16) char storage[sizeof(rl::atomic<T>)];
    };
    static inline slot slots_[SLOTS];
    /* A plain array, since Relacy must not see an allocation for it. */
    static inline struct list {
        slot *first[SLOTS];
        size_t n;
        void push_back(slot *s)
        {
            first[n++] = s;
        }
        void clear()
        {
            n = 0;
        }
        slot **begin()
        {
            return first;
        }
        slot **end()
        {
            return first + n;
        }
    } used_;
};

inline rl::memory_order relacy(order o)
{
    static const rl::memory_order orders[] = {rl::mo_relaxed, rl::mo_acquire, rl::mo_release, rl::mo_acq_rel,
                                              rl::mo_seq_cst};
    return orders[o];
}

inline rl::debug_info relacy(place p)
{
    return rl::debug_info(p.function, p.file, p.line);
}

template <class T> T load(const void *at, T initial, order o, place p)
{
    locals keep;
    return cells<T>::at(at, initial).load(relacy(o), relacy(p));
}

template <class T> void store(const void *at, T initial, T v, order o, place p)
{
    locals keep;
    cells<T>::at(at, initial).store(v, relacy(o), relacy(p));
}

template <class T> T modify(rmw operation, const void *at, T initial, T v, order o, place p)
{
    locals keep;
    rl::atomic<T> &a = cells<T>::at(at, initial);
    switch (operation) {
    case EXCHANGE: return a.exchange(v, relacy(o), relacy(p));
    case ADD: return a.fetch_add(v, relacy(o), relacy(p));
    case SUB: return a.fetch_sub(v, relacy(o), relacy(p));
    case OR: return a.fetch_or(v, relacy(o), relacy(p));
    case AND: return a.fetch_and(v, relacy(o), relacy(p));
    }
    return 0;
}

template <class T>
bool swap(bool weak, const void *at, T initial, T *expected, T v, order success, order failure, place p)
{
    locals keep;
    rl::atomic<T> &a = cells<T>::at(at, initial);
    return weak ? a.compare_exchange(rl::bool_t<true>(), *expected, v, relacy(success), relacy(failure), relacy(p))
                : a.compare_exchange(rl::bool_t<false>(), *expected, v, relacy(success), relacy(failure), relacy(p));
}

#define MODEL_INSTANCES(T) \
    template T load<T>(const void *, T, order, place); \
    template void store<T>(const void *, T, T, order, place); \
    template T modify<T>(rmw, const void *, T, T, order, place); \
    template bool swap<T>(bool, const void *, T, T *, T, order, order, place);
MODEL_INSTANCES(uint32_t)
MODEL_INSTANCES(uint64_t)
#undef MODEL_INSTANCES

void fence(order o, place p)
{
    locals keep;
    rl::atomic_thread_fence(relacy(o), relacy(p));
}

/* ---- suites ---- */

/* The base of every suite.  Each iteration, and each thread in run(number), begins with the state of the program's
 * start. */
template <class derived, unsigned threads> struct suite : rl::test_suite<derived, threads> {
    static const bool exhaustive = false; /* true: all schedules with at most two preemptions; false: random ones */

    suite()
    {
        start.restore();
        locals_at_start.restore();
        iteration++;
        cells<uint32_t>::begin();
        cells<uint64_t>::begin();
    }
    ~suite()
    {
        cells<uint32_t>::end();
        cells<uint64_t>::end();
    }
    void thread(unsigned number)
    {
        locals_at_start.restore();
        static_cast<derived *>(this)->run(number);
    }
};

/* Something that one thread owns.  If it has two owners, or one before it was published, there is a data race or a
 * failed assertion. */
class property
{
  public:
    property()
    {
        owner_($) = NOBODY;
    }
    void take(unsigned by)
    {
        RL_ASSERT(owner_($) == NOBODY);
        owner_($) = by;
    }
    void drop(unsigned by)
    {
        RL_ASSERT(owner_($) == by);
        owner_($) = NOBODY;
    }

  private:
    static const unsigned NOBODY = ~0u;
    rl::var<unsigned> owner_;
};

/* Objects at addresses that are not mapped.  Their first words, which are links, are kept here. */
enum : uintptr_t { ARENA = (uintptr_t)32 << 40 };
enum { OBJECTS = 32, OBJECT_BYTES = 16 << 10 };

struct objects {
    property of[OBJECTS];
    rl::var<void *> link[OBJECTS];

    objects()
    {
        current = this;
    }
    static void *address(unsigned i)
    {
        return (void *)(ARENA + i * OBJECT_BYTES);
    }
    static unsigned number(const void *object)
    {
        uintptr_t i = ((uintptr_t)object - ARENA) / OBJECT_BYTES;
        RL_ASSERT(i < OBJECTS);
        return (unsigned)i;
    }
    static inline objects *current;
};

} // namespace model

/* The futex.  The system compares with the latest value. */
void hz3_os_wait(HZ3_ATOMIC(uint32_t) * word, uint32_t value, uint32_t)
{
    model::locals keep;
    rl::context &c = rl::ctx();
    rl::atomic<uint32_t> &a = model::cells<uint32_t>::at(word, 0);
    c.sched();
    uint32_t seen;
    {
        rl::preemption_disabler none(c);
        seen = a.fetch_add(0, rl::mo_relaxed, $);
    }
    if (seen == value) a.wait(c, false, false, $);
}

void hz3_os_wake(HZ3_ATOMIC(uint32_t) * word)
{
    model::locals keep;
    rl::context &c = rl::ctx();
    c.sched();
    model::cells<uint32_t>::at(word, 0).wake(c, INT32_MAX, $);
}

void model_misuse(const char *misuse, const void *)
{
    model::locals keep;
    rl::ctx().fail_test(misuse, rl::test_result_user_assert_failed, $);
    std::abort();
}

void *model_link_get(void *object)
{
    model::locals keep;
    return model::objects::current->link[model::objects::number(object)]($);
}

void model_link_set(void *object, void *next)
{
    model::locals keep;
    model::objects::current->link[model::objects::number(object)]($) = next;
}

namespace model
{

/* ---- main ---- */

/* rl::simulate would compile each suite for three schedulers. */
template <class s> rl::test_result_e explore(rl::test_params params, bool quiet)
{
    enum { threads = s::params::thread_count };
    typedef std::conditional_t<s::exhaustive, rl::context_bound_scheduler<threads>, rl::random_scheduler<threads>>
        scheduler;
    params.search_type = s::exhaustive ? rl::sched_bound : rl::sched_random;
    params.context_bound = 2;
    rl::ostringstream failed, unused;
    rl::test_result_e result = rl::run_test<s, scheduler>(params, failed, false);
    if (result == rl::test_result_success || quiet) return result;
    params.initial_state = failed.str(); /* runs it once more, with its history */
    params.collect_history = true;
    return rl::run_test<s, scheduler>(params, unused, true);
}

/* PROGRAM ITERATIONS [RESULT...]: explores all suites, in rounds of more and more iterations, until one fails.  Without
 * results it succeeds if none failed; with results, if one failed with one of them. */
template <class... suites> int main(int argc, char **argv)
{
    rl::iteration_t most = argc > 1 ? (rl::iteration_t)std::atoll(argv[1]) : 1000;
    bool quiet = argc > 2;
    std::ostream nowhere(nullptr);
    rl::test_params params;
    params.execution_depth_limit = 20000;
    params.progress_stream = &nowhere;
    rl::test_result_e result = rl::test_result_success;
    for (params.iteration_count = quiet ? 1000 : most;; params.iteration_count *= 4) {
        params.iteration_count = std::min(params.iteration_count, most);
        (void)(((result = explore<suites>(params, quiet)) == rl::test_result_success) && ...);
        if (result != rl::test_result_success || params.iteration_count == most) break;
    }
    std::string text = rl::test_result_str(result);
    std::cout << "result: " << text << std::endl;
    if (!quiet) return result != rl::test_result_success;
    return std::find(argv + 2, argv + argc, text) == argv + argc;
}

} // namespace model
#endif
