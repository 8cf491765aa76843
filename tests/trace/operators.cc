// Calls one operator of each kind.
#include <new>

struct alignas(128) Aligned {
    char room[128 * 17];
};

int main()
{
    delete[] new char[4001];
    delete new Aligned;
    char *p = new (std::nothrow) char[4003];
    operator delete[](p, std::nothrow);
    try {
        p = new char[1UL << 62];
        return 1;
    } catch (const std::bad_alloc &) {
    }
}
