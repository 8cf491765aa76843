/* Proves that forms of operator new and delete that the program did not replace call those that it did, as the standard
 * says ([new.delete.single], [new.delete.array]) and the C++ library does. */
#include <cstdlib>
#include <new>

#include "support.h"

#ifndef __clang__
#pragma GCC diagnostic ignored "-Wsized-deallocation" /* the sized form is not replaced on purpose */
#endif

namespace
{
enum { HEADER = 64, PLAIN = 1, ALIGNED };

int news, deletes;
volatile std::size_t impossible = PTRDIFF_MAX;

void *with_header(void *block, int kind)
{
    if (block == nullptr) throw std::bad_alloc();
    news++;
    *static_cast<int *>(block) = kind;
    return static_cast<char *>(block) + HEADER;
}

void free_with_header(void *p, int kind)
{
    if (p == nullptr) return;
    deletes++;
    void *block = static_cast<char *>(p) - HEADER;
    CHECK(*static_cast<int *>(block) == kind);
    std::free(block);
}
} // namespace

void *operator new(std::size_t size)
{
    return with_header(size < impossible ? std::malloc(size + HEADER) : nullptr, PLAIN);
}

void *operator new(std::size_t size, std::align_val_t alignment)
{
    CHECK(alignment == std::align_val_t{HEADER});
    return with_header(
        size < impossible ? std::aligned_alloc(HEADER, (size + 2 * HEADER - 1) / HEADER * HEADER) : nullptr, ALIGNED);
}

void operator delete(void *p) noexcept
{
    free_with_header(p, PLAIN);
}

void operator delete(void *p, std::align_val_t) noexcept
{
    free_with_header(p, ALIGNED);
}

int main()
{
    const std::align_val_t to{HEADER};
    ::operator delete(::operator new(100));
    ::operator delete(::operator new(100), 100);
    ::operator delete(::operator new(100, std::nothrow), std::nothrow);
    ::operator delete[](::operator new[](100));
    ::operator delete[](::operator new[](100), 100);
    ::operator delete[](::operator new[](100, std::nothrow), std::nothrow);
    ::operator delete(::operator new(100, to), to);
    ::operator delete(::operator new(100, to), 100, to);
    ::operator delete(::operator new(100, to, std::nothrow), to, std::nothrow);
    ::operator delete[](::operator new[](100, to), to);
    ::operator delete[](::operator new[](100, to), 100, to);
    ::operator delete[](::operator new[](100, to, std::nothrow), to, std::nothrow);
    CHECK(news == 12 && deletes == 12);
    CHECK(::operator new(impossible, std::nothrow) == nullptr);
    CHECK(::operator new[](impossible, std::nothrow) == nullptr);
    CHECK(::operator new(impossible, to, std::nothrow) == nullptr);
    CHECK(::operator new[](impossible, to, std::nothrow) == nullptr);
}
