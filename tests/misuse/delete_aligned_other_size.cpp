// The misuse: aligned operator delete with another size than operator new was asked for.
#include <new>

extern "C" {
#include "misuse.h"
}

int main()
{
    void *p = operator new(64, std::align_val_t(64));
    operator delete(accuse(p), 128, std::align_val_t(64));
}
