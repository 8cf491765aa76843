// The misuse: operator delete[] with another size than operator new[] was asked for.
#include <new>

extern "C" {
#include "misuse.h"
}

int main()
{
    operator delete[](accuse(operator new[](40)), static_cast<std::size_t>(41));
}
