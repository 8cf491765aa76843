/* Proves that every form of operator new and delete works: aligned, nothrow, sized, and for arrays.  Without memory
 * they call the new-handler first, and then throw bad_alloc. */
#include <cstdint>
#include <cstdlib>
#include <new>

#include "support.h"

namespace
{
const std::size_t sizes[] = {0, 1, 24, 1000, 5000, 65536, 70000, MIB(2)};
/* volatile, as the compiler would warn of a constant that is too large. */
volatile std::size_t impossible = PTRDIFF_MAX;

void *whole(void *p, std::size_t size, std::size_t alignment)
{
    CHECK(p != nullptr);
    CHECK(reinterpret_cast<std::uintptr_t>(p) % alignment == 0);
    fill(p, size, size);
    CHECK(is_filled(p, size, size));
    return p;
}

void every_plain_form(std::size_t size)
{
    ::operator delete(whole(::operator new(size), size, least_alignment(size)));
    ::operator delete(whole(::operator new(size), size, least_alignment(size)), size);
    ::operator delete(whole(::operator new(size, std::nothrow), size, least_alignment(size)), std::nothrow);
    ::operator delete[](whole(::operator new[](size), size, least_alignment(size)));
    ::operator delete[](whole(::operator new[](size), size, least_alignment(size)), size);
    ::operator delete[](whole(::operator new[](size, std::nothrow), size, least_alignment(size)), std::nothrow);
}

void every_aligned_form(std::size_t size, std::size_t alignment)
{
    const auto to = static_cast<std::align_val_t>(alignment);
    ::operator delete(whole(::operator new(size, to), size, alignment), to);
    ::operator delete(whole(::operator new(size, to), size, alignment), size, to);
    ::operator delete(whole(::operator new(size, to, std::nothrow), size, alignment), to, std::nothrow);
    ::operator delete[](whole(::operator new[](size, to), size, alignment), to);
    ::operator delete[](whole(::operator new[](size, to), size, alignment), size, to);
    ::operator delete[](whole(::operator new[](size, to, std::nothrow), size, alignment), to, std::nothrow);
}

struct alignas(256) Wide {
    char bytes[300];
};

void expressions()
{
    for (int i = 0; i < 1000; i++) {
        auto *one = new Wide;
        auto *many = new Wide[3];
        auto *numbers = new long[static_cast<std::size_t>(i)];
        CHECK(reinterpret_cast<std::uintptr_t>(one) % 256 == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(many) % 256 == 0);
        delete one;
        delete[] many;
        delete[] numbers;
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
}

template <class Ask> bool throws_bad_alloc(Ask ask)
{
    try {
        forget(ask());
    } catch (const std::bad_alloc &) {
        return true;
    }
    return false;
}

void impossible_sizes()
{
    const auto to = static_cast<std::align_val_t>(64);
    CHECK(throws_bad_alloc([] { return ::operator new(impossible); }));
    CHECK(throws_bad_alloc([] { return ::operator new[](impossible); }));
    CHECK(throws_bad_alloc([&] { return ::operator new(impossible, to); }));
    CHECK(throws_bad_alloc([&] { return ::operator new[](impossible, to); }));
    CHECK(::operator new(impossible, std::nothrow) == nullptr);
    CHECK(::operator new[](impossible, std::nothrow) == nullptr);
    CHECK(::operator new(impossible, to, std::nothrow) == nullptr);
    CHECK(::operator new[](impossible, to, std::nothrow) == nullptr);
}

int handler_calls;

/* Removes itself at the third call, as a handler does that has nothing left to free. */
void handler()
{
    if (++handler_calls == 3) std::set_new_handler(nullptr);
}

void throwing_handler()
{
    throw std::bad_alloc();
}

template <class Ask> int calls_of_handler(Ask ask)
{
    handler_calls = 0;
    std::set_new_handler(handler);
    ask();
    CHECK(std::get_new_handler() == nullptr);
    return handler_calls;
}

void new_handlers()
{
    CHECK(calls_of_handler([] { CHECK(throws_bad_alloc([] { return ::operator new(impossible); })); }) == 3);
    CHECK(calls_of_handler([] { CHECK(throws_bad_alloc([] { return ::operator new[](impossible); })); }) == 3);
    CHECK(calls_of_handler([] { CHECK(::operator new(impossible, std::nothrow) == nullptr); }) == 3);
    const auto to = static_cast<std::align_val_t>(4096);
    CHECK(calls_of_handler([&] { CHECK(throws_bad_alloc([&] { return ::operator new(impossible, to); })); }) == 3);
    std::set_new_handler(throwing_handler);
    CHECK(throws_bad_alloc([] { return ::operator new(impossible); }));
    CHECK(::operator new(impossible, std::nothrow) == nullptr);
    std::set_new_handler(nullptr);
}
} // namespace

int main()
{
    for (std::size_t size : sizes) {
        every_plain_form(size);
        for (std::size_t alignment = 1; alignment <= KIB(64); alignment *= 2) every_aligned_form(size, alignment);
    }
    expressions();
    impossible_sizes();
    new_handlers();
}
