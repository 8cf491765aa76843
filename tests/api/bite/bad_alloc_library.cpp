/* A plugin in C++, as interpreters have them.  It reports whether it caught bad_alloc. */
#include <cstddef>
#include <new>
#include <string>

extern "C" {
/* Allocates once in its own code, and once in the C++ library's. */
bool refused(std::size_t size)
{
    int caught = 0;
    try {
        char *volatile p = new char[size];
        delete[] p;
    } catch (const std::bad_alloc &) {
        caught++;
    }
    try {
        std::string().reserve(size / 2);
    } catch (const std::bad_alloc &) {
        caught++;
    }
    return caught == 2;
}

/* The handler removes itself at its second call. */
int calls_of_handler(std::size_t size)
{
    static int calls;
    calls = 0;
    std::set_new_handler([] {
        if (++calls == 2) std::set_new_handler(nullptr);
    });
    return refused(size) ? calls : -1;
}
}
