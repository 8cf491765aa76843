// hz3's heaps for C++17: a heap that is destroyed with its scope, an allocator for containers, and a resource for
// std::pmr.  include/hz3.h says what a heap is, and which threads may use it.
#ifndef HZ3_HPP
#define HZ3_HPP

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <memory_resource>
#include <new>
#include <utility>

#include "hz3.h"

namespace hz3
{

namespace detail
{
// A program that is compiled without exceptions ends.
template <typename E> [[noreturn]] void fail()
{
#ifdef __cpp_exceptions
    throw E();
#else
    std::abort();
#endif
}
} // namespace detail

// Owns a heap: all that was allocated from it is gone with it, without destructors.
class heap
{
  public:
    heap() : heap_(hz3_heap_new()) // throws std::bad_alloc
    {
        if (!heap_) detail::fail<std::bad_alloc>();
    }
    ~heap()
    {
        hz3_heap_destroy(heap_);
    }
    heap(heap &&other) noexcept : heap_(std::exchange(other.heap_, nullptr)) {} // `other` may only be assigned to
    heap &operator=(heap &&other) noexcept
    {
        std::swap(heap_, other.heap_);
        return *this;
    }
    hz3_heap_t *get() const noexcept
    {
        return heap_;
    }

  private:
    hz3_heap_t *heap_;
};

namespace detail
{
// Throws std::bad_alloc.
inline void *allocate(hz3_heap_t *heap, std::size_t bytes, std::size_t alignment)
{
    void *p = hz3_heap_aligned_alloc(heap, alignment, bytes);
    if (!p) fail<std::bad_alloc>();
    return p;
}
} // namespace detail

// An allocator for containers; the heap has to outlive what it allocates.  A container that is moved from, or swapped
// with, hands on its heap; one that is assigned to keeps its own.
template <typename T> class allocator
{
  public:
    using value_type = T;
    using propagate_on_container_move_assignment = std::true_type;
    using propagate_on_container_swap = std::true_type;

    allocator(const heap &from) noexcept : heap_(from.get()) {}
    explicit allocator(hz3_heap_t *from) noexcept : heap_(from) {}
    template <typename U> allocator(const allocator<U> &other) noexcept : heap_(other.get()) {}

    [[nodiscard]] T *allocate(std::size_t count) // throws std::bad_alloc
    {
        if (count > std::numeric_limits<std::size_t>::max() / sizeof(T)) detail::fail<std::bad_array_new_length>();
        return static_cast<T *>(detail::allocate(heap_, count * sizeof(T), alignof(T)));
    }
    void deallocate(T *p, std::size_t) noexcept
    {
        hz3_heap_free(heap_, p);
    }
    hz3_heap_t *get() const noexcept
    {
        return heap_;
    }

  private:
    hz3_heap_t *heap_;
};

// Also of two types, as the standard asks for.
template <typename T, typename U> bool operator==(const allocator<T> &a, const allocator<U> &b) noexcept
{
    return a.get() == b.get();
}
template <typename T, typename U> bool operator!=(const allocator<T> &a, const allocator<U> &b) noexcept
{
    return a.get() != b.get();
}

// A heap for std::pmr.  Unlike std::pmr::monotonic_buffer_resource it frees, and any thread may use it.
class memory_resource : public std::pmr::memory_resource
{
  public:
    memory_resource(const heap &from) noexcept : heap_(from.get()) {}
    explicit memory_resource(hz3_heap_t *from) noexcept : heap_(from) {}
    hz3_heap_t *get() const noexcept
    {
        return heap_;
    }

  private:
    void *do_allocate(std::size_t bytes, std::size_t alignment) override
    {
        return detail::allocate(heap_, bytes, alignment);
    }
    void do_deallocate(void *p, std::size_t, std::size_t) override
    {
        hz3_heap_free(heap_, p);
    }
    bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override
    {
#ifdef __cpp_rtti
        const auto *same = dynamic_cast<const memory_resource *>(&other);
        return same && same->heap_ == heap_;
#else // two resources of one heap are unequal, and containers copy between them
        return this == &other;
#endif
    }

    hz3_heap_t *heap_;
};

} // namespace hz3
#endif
