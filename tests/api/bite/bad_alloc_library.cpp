/* A plugin in C++ as interpreters have them: what it cannot have it hears of by bad_alloc, and says so. */
#include <cstddef>
#include <new>
#include <string>

extern "C" {
/* Asks by an operator of its own and by the C++ library's code. */
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

/* The handler makes way for none at its second call. */
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
